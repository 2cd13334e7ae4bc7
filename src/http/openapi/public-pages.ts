/** The description of the public pages for `/openapi.json`. */
import { content, jsonResponse, object, text, type Json } from './schemas.ts'
import { language, publicOperation, statusPaths } from './status.ts'

const pricing: Json = {
  ...object({ currency: text, unit: text, input: text, output: text }, [
    'currency',
    'unit',
    'input',
    'output',
  ]),
  description: 'All prices of the model, under the names of `prices` in the admin API.',
  additionalProperties: true,
}

const prices = object({
  object: { const: 'list' },
  data: {
    type: 'array',
    items: object({
      id: text,
      object: { const: 'model' },
      created: { type: 'integer' },
      owned_by: text,
      context_length: { type: 'integer' },
      max_output_tokens: { type: ['integer', 'null'] },
      operations: { type: 'array', items: text },
      pricing,
    }),
  },
})

function page(summary: string, off: string): Json {
  const ok = { description: 'An HTML page.', content: content(text, 'text/html') }
  return publicOperation(summary, ok, { off, tag: 'Public pages', parameters: [language] })
}

const off = 'The price list is disabled (`PUBLIC_PRICES=0`).'
const hash = {
  name: 'v',
  in: 'query',
  required: false,
  schema: text,
  description: 'The hash of the content: the response may then be cached for a year.',
}

function asset(summary: string, types: readonly string[]): Json {
  const media = Object.assign(
    {},
    ...types.map((type) => content({ type: 'string', format: 'binary' }, type)),
  ) as Json
  const ok = { description: 'The content.', content: media }
  return publicOperation(summary, ok, { off: 'Not set.', tag: 'Public pages', parameters: [hash] })
}

export const publicPagePaths: Json = {
  ...statusPaths,
  '/pricing': page('Price list', off),
  '/pricing.json': publicOperation(
    'Price list as JSON: the listed models and their current prices',
    jsonResponse('The models.', prices),
    { off, tag: 'Public pages', parameters: [] },
  ),
  '/terms': page('Terms of service', 'Not set, or a page of another site.'),
  '/privacy': page('Privacy policy', 'Not set, or a page of another site.'),
  '/branding/logo': asset('Logo', ['image/png', 'image/jpeg', 'image/webp']),
  '/branding/colors.css': asset('Accent colours as a style sheet', ['text/css']),
}
