/** `/providers`: the supported providers and their API formats, for forms. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { providers } from '../../../providers/registry.ts'
import { listResponse } from '../schemas.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

export const providerSchema = z
  .object({
    name: z.string().meta({ description: 'The value for the field `provider` of an upstream.' }),
    title: z.string(),
    base_url: z
      .string()
      .nullable()
      .meta({ description: 'The documented base URL; null: each deployment has its own.' }),
    lists_models: z.boolean().meta({ description: 'Whether the provider can list its models.' }),
  })
  .openapi('Provider')

const list = createRoute({
  method: 'get',
  path: '/providers',
  summary: 'List the supported providers',
  request: { query: z.strictObject(optionalPageFields) },
  responses: listResponse(providerSchema, 'All providers.'),
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
      paginate(data, c.req.valid('query'), ({ name }) => name),
      200,
    )
  })
  return app
}
