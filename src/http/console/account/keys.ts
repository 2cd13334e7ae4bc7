/** An account's keys: create, update, rotate and delete them, and flag those with no use or unusual use. */
import {
  createKey,
  deleteKey,
  keyById,
  listKeys,
  updateKey,
  type Key,
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
  formatOptionalAmount,
  serializeLimits,
  parseTime,
  serializeSpent,
  formatTime,
} from '../../api/json-values.ts'
import { writeAndPublish } from '../../api/publish.ts'
import { keyContract, type Key as KeyView } from '../contract/keys.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { endpoint, type Endpoint, type ConsoleContext } from '../context.ts'

/** Whether a key has not been used for `staleMs` since its last use or its creation. */
export function isStale(key: Key, staleMs: number, now: number): boolean {
  return (key.lastUsedAt ?? key.createdAt) < now - staleMs
}

/** Finds, by key, an hour of the last day with spend far above the key's usual. */
export function findUnusualUse(
  db: Db,
  keys: readonly Key[],
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

function serializeKeyLimits(key: Key): KeyView['limits'] {
  const { rpm, tpm, rpd, concurrency } = serializeLimits(key.limits)
  const toNumber = (limit: number | 'unlimited' | null): number | null =>
    limit === 'unlimited' ? null : limit
  return { rpm: toNumber(rpm), tpm: toNumber(tpm), rpd: toNumber(rpd), concurrency: toNumber(concurrency) }
}

function serializeKey(key: Key, { spent, unusual, now, staleMs }: KeyStatistics): KeyView {
  const anomaly = unusual.get(key.id)
  const isExpired = key.expiresAt !== null && key.expiresAt <= now
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    last_four: key.lastFour,
    status: isExpired ? 'expired' : key.status,
    expires_at: formatTime(key.expiresAt),
    models: key.models === null ? null : [...key.models],
    ips: key.ips === null ? null : [...key.ips],
    caps: {
      daily: formatOptionalAmount(key.caps.dailyNanos),
      monthly: formatOptionalAmount(key.caps.monthlyNanos),
      total: formatOptionalAmount(key.caps.totalNanos),
    },
    limits: serializeKeyLimits(key),
    spent: serializeSpent(spent.get(key.id)),
    created_at: formatTime(key.createdAt),
    last_used_at: formatTime(key.lastUsedAt),
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
  keys: readonly Key[],
): Promise<KeyView[]> {
  const now = Date.now()
  const ids = keys.map(({ id }) => id)
  const [spent, unusual] = await Promise.all([spendByKeys(db, ids, now), findUnusualUse(db, keys, now)])
  return keys.map((key) => serializeKey(key, { spent, unusual, now, staleMs: config.staleKeysMs }))
}

async function serializeOneKey(context: ConsoleContext, key: Key): Promise<KeyView> {
  const [serialized] = await serializeKeys(context, [key])
  if (serialized === undefined) throw new Error('The serialized key is missing.')
  return serialized
}

/** Finds the key in the path. Throws 404 for keys of other accounts, too. */
async function findOwnKey(context: ConsoleContext): Promise<Key> {
  const key = await keyById(context.ctx.db, context.param('id'))
  if (key?.accountId === context.accountId) return key
  throw notFound('Key')
}

type UpdateBody = ConsoleContext<typeof keyContract.update>['body']

function toKeyPatch({ name, status, expires_at: expires, models, ips, caps, limits }: UpdateBody): KeyPatch {
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

async function listOwnKeys(context: ConsoleContext) {
  const { ctx, accountId } = context
  const { keysPerAccount, staleKeysMs, keysDeletedMs } = ctx.config
  const dayMs = 24 * hourMs
  return {
    data: await serializeKeys(context, await listKeys(ctx.db, accountId)),
    most: keysPerAccount,
    stale_after_days: Math.round(staleKeysMs / dayMs),
    deleted_after_days: keysDeletedMs === 0 ? null : Math.round(keysDeletedMs / dayMs),
  }
}

async function createOwnKey(context: ConsoleContext<typeof keyContract.create>) {
  const { ctx, accountId, by, body } = context
  const rules = { by, maxKeys: ctx.config.keysPerAccount }
  const input = { ...toKeyPatch(body), accountId, name: body.name }
  const { secret, ...key } = await writeAndPublish(context, createKey(ctx.db, input, rules))
  return { ...(await serializeOneKey(context, key)), secret }
}

async function rotateOwnKey(context: ConsoleContext<typeof keyContract.rotate>) {
  const { ctx, accountId, by, body } = context
  const rotation = { id: context.param('id'), accountId, graceMs: body.grace_hours * hourMs }
  const { key, old } = await writeAndPublish(context, rotateKey(ctx.db, rotation, by))
  const { secret, ...newKey } = key
  return {
    key: { ...(await serializeOneKey(context, newKey)), secret },
    old: await serializeOneKey(context, old),
  }
}

async function deleteStaleKeys(context: ConsoleContext) {
  const { ctx, accountId, by } = context
  const { db, config } = ctx
  const now = Date.now()
  const staleKeys = (await listKeys(db, accountId)).filter((key) => isStale(key, config.staleKeysMs, now))
  for (const key of staleKeys) await writeAndPublish(context, deleteKey(db, key.id, by))
  return { deleted: staleKeys.map(({ id }) => id) }
}

export const keyEndpoints: readonly Endpoint[] = [
  endpoint(keyContract.list, listOwnKeys),
  endpoint(keyContract.deleteStale, deleteStaleKeys),
  endpoint(keyContract.read, async (context) => serializeOneKey(context, await findOwnKey(context))),
  endpoint(keyContract.create, createOwnKey),
  endpoint(keyContract.update, async (context) => {
    const { id } = await findOwnKey(context)
    return serializeOneKey(
      context,
      await writeAndPublish(context, updateKey(context.ctx.db, id, toKeyPatch(context.body), context.by)),
    )
  }),
  endpoint(keyContract.rotate, rotateOwnKey),
  endpoint(keyContract.delete, async (context) => {
    const { id } = await findOwnKey(context)
    await writeAndPublish(context, deleteKey(context.ctx.db, id, context.by))
    return { done: true as const }
  }),
]
