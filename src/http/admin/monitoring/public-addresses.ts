/** `/addresses`: the public URLs of this deployment, as the relay itself reaches them. */
import { z } from '@hono/zod-openapi'
import { formatTime } from '../../api/json-values.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
import { listPublicAddresses } from '../../../health/public-addresses.ts'
import { time } from '../schemas.ts'

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

function toAddressState(isHealthy: boolean | null): 'up' | 'down' | 'unknown' {
  if (isHealthy === null) return 'unknown'
  return isHealthy ? 'up' : 'down'
}

export const publicAddressEndpoints = [
  admin.list('/addresses', {
    summary: 'List the public URLs (PUBLIC_URLS) with the result of their last check',
    item: addressSchema,
    returns: 'All URLs, the primary one first.',
    idOf: ({ url }) => url,
    handle: async ({ ctx: { db, config } }) =>
      (await listPublicAddresses(db, config.publicUrls)).map((address, index) => ({
        ...jsonFields(address),
        primary: index === 0,
        since: formatTime(address.since),
        state: toAddressState(address.isHealthy),
      })),
  }),
]
