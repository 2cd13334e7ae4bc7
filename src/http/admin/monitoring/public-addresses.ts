/** `/addresses`: the public addresses of this deployment, as they look from the relay itself. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { publicAddresses } from '../../../health/public-addresses.ts'
import type { Desk } from '../desk.ts'
import { listAnswer, time, timeOf } from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

const addressOut = z
  .object({
    url: z.string(),
    primary: z.boolean(),
    state: z.enum(['up', 'down', 'unknown']),
    since: time.nullable(),
    checked_at: time.nullable(),
    duration_ms: z.int().nullable(),
    problem: z.string().nullable().meta({ description: 'A status, or the name of an error.' }),
  })
  .openapi('PublicAddress')

const list = createRoute({
  method: 'get',
  path: '/addresses',
  summary: 'List the public addresses (PUBLIC_URLS), and how they were when they were looked at last',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(addressOut, 'All of them, the primary one first.'),
})

function stateOf(isWell: boolean | null): 'up' | 'down' | 'unknown' {
  if (isWell === null) return 'unknown'
  return isWell ? 'up' : 'down'
}

export function addressRoutes({ house: { db, config } }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const addresses = await publicAddresses(db, config.publicUrls)
    const data = addresses.map((address, index) => ({
      url: address.url,
      primary: index === 0,
      state: stateOf(address.isWell),
      since: timeOf(address.since),
      checked_at: timeOf(address.checkedAt),
      duration_ms: address.durationMs,
      problem: address.problem,
    }))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ url }) => url),
      200,
    )
  })
  return app
}
