/** Contract of an account's keys. Only the responses to creation and rotation contain the secret. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'
import { caps, capsInput, done, limits, limitsInput, money, time, timeInput } from '../../api/json-schemas.ts'

const names = z.array(z.string().max(300)).max(100)

export const key = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  last_four: z.string(),
  status: z.enum(['active', 'disabled', 'expired']),
  expires_at: time.nullable(),
  /** null: every model, every address. */
  models: z.array(z.string()).nullable(),
  ips: z.array(z.string()).nullable(),
  caps: caps.extend({ total: money.nullable() }),
  /** Limits of this key, in addition to the account's; null: none. */
  limits,
  spent: z.object({ today: money, month: money, total: money }),
  created_at: time,
  last_used_at: time.nullable(),
  /** Unused for longer than `stale_after_days`. */
  stale: z.boolean(),
  /** The last hour with spend far above this key's usual. */
  unusual: z.object({ hour: time, cost: money, usual: money }).nullable(),
})
const newKey = key.extend({ secret: z.string() })

const fields = {
  expires_at: timeInput.nullish(),
  models: names.nullish(),
  ips: names.nullish(),
  caps: capsInput.extend({ total: money.nullish() }).optional(),
  limits: limitsInput.optional(),
}

export const keyContract = {
  list: defineEndpoint(['GET', '/keys', 'customer'], {
    response: z.object({
      data: z.array(key),
      /** The maximum number of keys per account. */
      most: z.int(),
      /** Days without use after which a key is stale. */
      stale_after_days: z.int(),
      /** Days without use after which a key is deleted automatically; null: never. */
      deleted_after_days: z.int().nullable(),
    }),
  }),
  read: defineEndpoint(['GET', '/keys/:id', 'customer'], { response: key }),
  create: defineEndpoint(['POST', '/keys', 'customer'], {
    body: z.strictObject({ name: z.string(), ...fields }),
    response: newKey,
  }),
  update: defineEndpoint(['PATCH', '/keys/:id', 'customer'], {
    body: z.strictObject({
      name: z.string().optional(),
      status: z.enum(['active', 'disabled']).optional(),
      ...fields,
    }),
    response: key,
  }),
  /** Creates a key with the same settings. The old key stays valid for `grace_hours`. */
  rotate: defineEndpoint(['POST', '/keys/:id/rotate', 'customer'], {
    body: z.strictObject({ grace_hours: z.int().min(0).max(720).default(24) }),
    response: z.object({ key: newKey, old: key }),
  }),
  delete: defineEndpoint(['DELETE', '/keys/:id', 'customer'], { response: done }),
  /** Deletes all stale keys. */
  deleteStale: defineEndpoint(['POST', '/keys/clean', 'customer'], {
    response: z.object({ deleted: z.array(z.string()) }),
  }),
} as const

export type Key = z.infer<typeof key>
export type NewKey = z.infer<typeof newKey>
