/** `/providers`: the dialects that an upstream may speak, for forms that offer them. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { providers } from '../../../providers/registry.ts'
import { listAnswer } from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

export const providerOut = z
  .object({
    name: z.string().meta({ description: 'What an upstream’s `provider` says.' }),
    title: z.string(),
    base_url: z.string().nullable().meta({ description: 'Its documented address; null: each has its own.' }),
    lists_models: z.boolean().meta({ description: 'Whether it can be asked which models it has.' }),
  })
  .openapi('Provider')

const list = createRoute({
  method: 'get',
  path: '/providers',
  summary: 'List the providers that an upstream may have',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(providerOut, 'All of them.'),
})

export function providerRoutes(): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, (c) => {
    const data = providers.map((provider) => ({
      name: provider.name,
      title: provider.title,
      base_url: provider.baseUrl,
      lists_models: 'models' in provider,
    }))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ name }) => name),
      200,
    )
  })
  return app
}
