/** `/price-lists`: what providers charge by the lists bundled with this release, for who sets prices after a look. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { listedProviders, priceListOf } from '../../../catalog/price-lists.ts'
import { refuse } from '../../../errors.ts'
import { factorPpmOf } from '../../../lib/money.ts'
import { listAnswer, priceInputView, pricesOut } from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

export const listedModelOut = z
  .object({
    id: z.string().meta({ description: 'The provider’s name for it, as `routes[].model` takes it.' }),
    title: z.string(),
    context_tokens: z.int().nullable().meta({ description: 'null: the list does not say.' }),
    prices: pricesOut,
    remarks: z.array(z.enum(['more_for_long_prompts', 'changes_by_the_hour', 'charges_beside_tokens'])).meta({
      description:
        'What these prices cannot say; the lowest for long prompts and the dearest hour are taken.',
    }),
  })
  .openapi('ListedModel')

const read = createRoute({
  method: 'get',
  path: '/price-lists/{provider}',
  summary: 'Read a provider’s price list; nothing is offered by it',
  request: {
    params: z.object({ provider: z.string() }),
    query: z.strictObject({
      ...shortListFields,
      rate: z.string().optional().meta({
        description: 'What a dollar is to be in the platform’s currency, a margin included; default "1".',
        example: '7.2',
      }),
    }),
  },
  responses: listAnswer(listedModelOut, 'Models that are priced by the token.'),
})

export function priceListRoutes(): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(read, (c) => {
    const { provider } = c.req.valid('param')
    const ratePpm = factorPpmOf(c.req.valid('query').rate ?? '1', 'rate')
    const models = priceListOf(provider, ratePpm, new Date().toISOString().slice(0, 10))
    if (models === null) {
      const message = `There is a price list for ${listedProviders.join(', ')}.`
      throw refuse('not_found', { param: 'provider', message })
    }
    const data = models.map(({ id, title, contextTokens, prices, remarks }) => ({
      id,
      title,
      context_tokens: contextTokens,
      prices: priceInputView(prices),
      remarks: [...remarks],
    }))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  return app
}
