/** `/providers`: the supported providers and their API formats, for forms. */
import { z } from '@hono/zod-openapi'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { providers } from '../../../providers/registry.ts'

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

const providerView = view('provider', providerSchema, (provider: (typeof providers)[number]) => ({
  name: provider.name,
  title: provider.title,
  base_url: provider.baseUrl,
  lists_models: 'models' in provider,
}))

export const providerEndpoints = [
  admin.list('/providers', {
    summary: 'List the supported providers',
    item: providerView,
    idOf: ({ name }) => name,
    handle: () => providers,
  }),
]
