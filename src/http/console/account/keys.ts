/** An account's keys: create, update, rotate and delete them, and flag those with no use or unusual use. */
import { z } from 'zod'
import {
  createKey,
  deleteKey,
  keyById,
  listKeys,
  updateKey,
  type Key as StoredKey,
  type KeyPatch,
} from '../../../accounts/keys.ts'
import { rotateKey } from '../../../accounts/rotate-key.ts'
import type { Db } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { formatAmount } from '../../../lib/money.ts'
import { spendByKeys, type KeySpend } from '../../../usage/key-spend.ts'
import { findSpendAnomalies, type SpendAnomaly } from '../../../usage/spend-anomalies.ts'
import {
  parseOptionalAmount,
  serializeLimits,
  parseTime,
  serializeSpent,
  formatTime,
} from '../../api/json-values.ts'
import { caps, capsInput, done, limits, limitsInput, money, time, timeInput } from '../../api/json-schemas.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { keyScopeColumns } from '../../csv-export.ts'
import { customer, type ConsoleContext } from '../context.ts'

const names = z.array(z.string().max(300)).max(100)

export const keySchema = z.object({
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
/** Only the responses to creation and rotation contain the secret. */
const newKeySchema = keySchema.extend({ secret: z.string() })
export type Key = z.infer<typeof keySchema>
export type NewKey = z.infer<typeof newKeySchema>

const fields = {
  expires_at: timeInput.nullish(),
  models: names.nullish(),
  ips: names.nullish(),
  caps: capsInput.extend({ total: money.nullish() }).optional(),
  limits: limitsInput.optional(),
}

const keyPatch = z.strictObject({
  name: z.string().optional(),
  status: z.enum(['active', 'disabled']).optional(),
  ...fields,
})

/** Whether a key has not been used for `staleMs` since its last use or its creation. */
export function isStale(key: StoredKey, staleMs: number, now: number): boolean {
  return (key.lastUsedAt ?? key.createdAt) < now - staleMs
}

/** Finds, by key, an hour of the last day with spend far above the key's usual. */
export function findUnusualUse(
  db: Db,
  keys: readonly StoredKey[],
  now: number,
): Promise<Map<string, SpendAnomaly>> {
  const ids = keys.map(({ id }) => id)
  return findSpendAnomalies(db, ids, Math.floor(now / hourMs) * hourMs - 24 * hourMs)
}

interface KeyStatistics {
  readonly spent: ReadonlyMap<string, KeySpend>
  readonly unusual: ReadonlyMap<string, SpendAnomaly>
  readonly now: number
  readonly staleMs: number
}

function serializeKeyLimits(key: StoredKey): Key['limits'] {
  const { rpm, tpm, rpd, concurrency } = serializeLimits(key.limits)
  const toNumber = (limit: number | 'unlimited' | null): number | null =>
    limit === 'unlimited' ? null : limit
  return { rpm: toNumber(rpm), tpm: toNumber(tpm), rpd: toNumber(rpd), concurrency: toNumber(concurrency) }
}

function serializeKey(key: StoredKey, { spent, unusual, now, staleMs }: KeyStatistics): Key {
  const anomaly = unusual.get(key.id)
  const isExpired = key.expiresAt !== null && key.expiresAt <= now
  return {
    ...jsonFields(key),
    status: isExpired ? 'expired' : key.status,
    models: key.models && [...key.models],
    ips: key.ips && [...key.ips],
    limits: serializeKeyLimits(key),
    spent: serializeSpent(spent.get(key.id)),
    stale: isStale(key, staleMs, now),
    unusual:
      anomaly === undefined
        ? null
        : {
            hour: formatTime(anomaly.hour),
            cost: formatAmount(anomaly.costNanos),
            usual: formatAmount(anomaly.baselineNanos),
          },
  }
}

async function serializeKeys(
  { ctx: { db, config } }: ConsoleContext,
  keys: readonly StoredKey[],
): Promise<Key[]> {
  const now = Date.now()
  const ids = keys.map(({ id }) => id)
  const [spent, unusual] = await Promise.all([spendByKeys(db, ids, now), findUnusualUse(db, keys, now)])
  return keys.map((key) => serializeKey(key, { spent, unusual, now, staleMs: config.staleKeysMs }))
}

async function serializeOneKey(context: ConsoleContext, key: StoredKey): Promise<Key> {
  const [serialized] = await serializeKeys(context, [key])
  if (serialized === undefined) throw new Error('The serialized key is missing.')
  return serialized
}

/** Finds the key in the path. Throws 404 for keys of other accounts, too. */
async function findOwnKey({
  ctx,
  accountId,
  params,
}: ConsoleContext & { readonly params: { readonly id: string } }): Promise<StoredKey> {
  const key = await keyById(ctx.db, params.id)
  if (key?.accountId === accountId) return key
  throw notFound('Key')
}

function toKeyPatch({
  name,
  status,
  expires_at: expires,
  models,
  ips,
  caps,
  limits,
}: z.infer<typeof keyPatch>): KeyPatch {
  return {
    name,
    status,
    expiresAt: parseTime(expires),
    models,
    ips,
    caps: {
      dailyNanos: parseOptionalAmount(caps?.daily, 'caps.daily'),
      monthlyNanos: parseOptionalAmount(caps?.monthly, 'caps.monthly'),
      totalNanos: parseOptionalAmount(caps?.total, 'caps.total'),
    },
    limits,
  }
}

export const keyEndpoints = {
  list: customer.get('/keys', {
    response: z.object({
      data: z.array(keySchema),
      /** The maximum number of keys per account. */
      most: z.int(),
      /** Days without use after which a key is stale. */
      stale_after_days: z.int(),
      /** Days without use after which a key is deleted automatically; null: never. */
      deleted_after_days: z.int().nullable(),
    }),
    csv: [
      'id',
      'name',
      'prefix',
      'last_four',
      'status',
      'expires_at',
      ...keyScopeColumns,
      'created_at',
      'last_used_at',
    ],
    handle: async (context) => {
      const { ctx, accountId } = context
      const { keysPerAccount, staleKeysMs, keysDeletedMs } = ctx.config
      const dayMs = 24 * hourMs
      return {
        data: await serializeKeys(context, await listKeys(ctx.db, accountId)),
        most: keysPerAccount,
        stale_after_days: Math.round(staleKeysMs / dayMs),
        deleted_after_days: keysDeletedMs === 0 ? null : Math.round(keysDeletedMs / dayMs),
      }
    },
  }),
  read: customer.get('/keys/{id}', {
    response: keySchema,
    handle: async (context) => serializeOneKey(context, await findOwnKey(context)),
  }),
  create: customer.post('/keys', {
    body: z.strictObject({ name: z.string(), ...fields }),
    response: newKeySchema,
    handle: async (context) => {
      const { ctx, accountId, by, body, publish } = context
      const rules = { by, maxKeys: ctx.config.keysPerAccount }
      const input = { ...toKeyPatch(body), accountId, name: body.name }
      const { secret, ...key } = await publish(createKey(ctx.db, input, rules))
      return { ...(await serializeOneKey(context, key)), secret }
    },
  }),
  update: customer.patch('/keys/{id}', {
    body: keyPatch,
    response: keySchema,
    handle: async (context) => {
      const { ctx, body, by, publish } = context
      const { id } = await findOwnKey(context)
      const key = await publish(updateKey(ctx.db, id, toKeyPatch(body), by))
      return serializeOneKey(context, key)
    },
  }),
  /** Creates a key with the same settings. The old key stays valid for `grace_hours`. */
  rotate: customer.post('/keys/{id}/rotate', {
    body: z.strictObject({ grace_hours: z.int().min(0).max(720).default(24) }),
    response: z.object({ key: newKeySchema, old: keySchema }),
    handle: async (context) => {
      const { ctx, accountId, by, body, params, publish } = context
      const rotation = { id: params.id, accountId, graceMs: body.grace_hours * hourMs }
      const { key, old } = await publish(rotateKey(ctx.db, rotation, by))
      const { secret, ...newKey } = key
      return {
        key: { ...(await serializeOneKey(context, newKey)), secret },
        old: await serializeOneKey(context, old),
      }
    },
  }),
  delete: customer.remove('/keys/{id}', {
    response: done,
    handle: async (context) => {
      const { id } = await findOwnKey(context)
      await context.publish(deleteKey(context.ctx.db, id, context.by))
      return { done: true as const }
    },
  }),
  /** Deletes all stale keys. */
  deleteStale: customer.post('/keys/clean', {
    response: z.object({ deleted: z.array(z.string()) }),
    handle: async (context) => {
      const { ctx, accountId, by, publish } = context
      const { db, config } = ctx
      const now = Date.now()
      const keys = await listKeys(db, accountId)
      const staleKeys = keys.filter((key) => isStale(key, config.staleKeysMs, now))
      for (const key of staleKeys) await publish(deleteKey(db, key.id, by))
      return { deleted: staleKeys.map(({ id }) => id) }
    },
  }),
}
