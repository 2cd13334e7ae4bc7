/** An account's keys. The secret is in the answer to the creation and the rotation only. */
import { z } from 'zod'
import { call } from './call.ts'
import { caps, capsIn, done, limits, limitsIn, money, time, timeIn } from '../../api/json-schemas.ts'

const names = z.array(z.string().max(300)).max(100)

export const key = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  last_four: z.string(),
  status: z.enum(['active', 'disabled', 'expired']),
  expires_at: time.nullable(),
  /** null is every model, every address. */
  models: z.array(z.string()).nullable(),
  ips: z.array(z.string()).nullable(),
  caps: caps.extend({ total: money.nullable() }),
  /** Its own, beside the account's; null is none. */
  limits,
  spent: z.object({ today: money, month: money, total: money }),
  created_at: time,
  last_used_at: time.nullable(),
  /** Unused for so long that the rule counts it as stale. */
  stale: z.boolean(),
  /** The last hour that was far above this key's usual. */
  unusual: z.object({ hour: time, cost: money, usual: money }).nullable(),
})
const created = key.extend({ secret: z.string() })

const fields = {
  expires_at: timeIn.nullish(),
  models: names.nullish(),
  ips: names.nullish(),
  caps: capsIn.extend({ total: money.nullish() }).optional(),
  limits: limitsIn.optional(),
}

export const keyCalls = {
  list: call(['GET', '/keys', 'customer'], {
    answer: z.object({
      data: z.array(key),
      /** How many keys the account may hold. */
      most: z.int(),
      /** A key is stale after so many days without use. */
      stale_after_days: z.int(),
      /** Stale keys are deleted by themselves after so many days without use; null: never. */
      deleted_after_days: z.int().nullable(),
    }),
  }),
  read: call(['GET', '/keys/:id', 'customer'], { answer: key }),
  create: call(['POST', '/keys', 'customer'], {
    body: z.strictObject({ name: z.string(), ...fields }),
    answer: created,
  }),
  change: call(['PATCH', '/keys/:id', 'customer'], {
    body: z.strictObject({
      name: z.string().optional(),
      status: z.enum(['active', 'disabled']).optional(),
      ...fields,
    }),
    answer: key,
  }),
  /** A new key with the same settings; the old one goes on for so long. */
  rotate: call(['POST', '/keys/:id/rotate', 'customer'], {
    body: z.strictObject({ grace_hours: z.int().min(0).max(720).default(24) }),
    answer: z.object({ key: created, old: key }),
  }),
  remove: call(['DELETE', '/keys/:id', 'customer'], { answer: done }),
  /** Deletes the keys that are marked stale. */
  clean: call(['POST', '/keys/clean', 'customer'], { answer: z.object({ deleted: z.array(z.string()) }) }),
} as const

export type Key = z.infer<typeof key>
export type NewKey = z.infer<typeof created>
