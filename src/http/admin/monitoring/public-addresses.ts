/** `/addresses`: the public URLs of this deployment, as the relay itself reaches them. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { listPublicAddresses } from '../../../health/public-addresses.ts'
import type { AdminContext } from '../admin-context.ts'
import { listResponse, time } from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

const addressSchema = z
  .object({
    url: z.string(),
    primary: z.boolean(),
    state: z.enum(['up', 'down', 'unknown']),
    since: time.nullable(),
    checked_at: time.nullable(),
    duration_ms: z.int().nullable(),
    problem: z.string().nullable().meta({ description: 'An HTTP status or the name of an error.' }),
  })
  .openapi('PublicAddress')

const list = createRoute({
  method: 'get',
  path: '/addresses',
  summary: 'List the public URLs (PUBLIC_URLS) with the result of their last check',
  request: { query: z.strictObject(optionalPageFields) },
  responses: listResponse(addressSchema, 'All URLs, the primary one first.'),
})

function toAddressState(isHealthy: boolean | null): 'up' | 'down' | 'unknown' {
  if (isHealthy === null) return 'unknown'
  return isHealthy ? 'up' : 'down'
}

export function publicAddressRoutes({ ctx: { db, config } }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const addresses = await listPublicAddresses(db, config.publicUrls)
    const data = addresses.map((address, index) => ({
      url: address.url,
      primary: index === 0,
      state: toAddressState(address.isHealthy),
      since: formatTime(address.since),
      checked_at: formatTime(address.checkedAt),
      duration_ms: address.durationMs,
      problem: address.problem,
    }))
    return c.json(
      paginate(data, c.req.valid('query'), ({ url }) => url),
      200,
    )
  })
  return app
}
