/** An account's own keys: made, changed, exchanged, ended, and pointed out when nobody or somebody else uses them. */
import {
  createKey,
  deleteKey,
  keyById,
  listKeys,
  updateKey,
  type Key,
  type KeyPatch,
} from '../../accounts/keys.ts'
import { rotateKey } from '../../accounts/rotate-key.ts'
import type { Changed } from '../../db/change.ts'
import { refuse } from '../../errors.ts'
import { decimalOf } from '../../lib/money.ts'
import { spentByKeys, type Spent } from '../../usage/key-spend.ts'
import type { UnusualHour } from '../../usage/spend-anomalies.ts'
import { capOf, capText, limitsView, msOf, spentView, timeOf } from '../admin/schemas.ts'
import { keyCalls, type Key as KeyView } from './contract/keys.ts'
import { isStale, unusualUse } from './key-marks.ts'
import { hourMs } from '../api/time-buckets.ts'
import { bound, type Bound, type Visit } from './visit.ts'

interface Marks {
  readonly spent: ReadonlyMap<string, Spent>
  readonly unusual: ReadonlyMap<string, UnusualHour>
  readonly now: number
  readonly staleMs: number
}

function wholeLimits(key: Key): KeyView['limits'] {
  const { rpm, tpm, rpd, concurrency } = limitsView(key.limits)
  const numberOf = (limit: number | 'unlimited' | null): number | null =>
    limit === 'unlimited' ? null : limit
  return { rpm: numberOf(rpm), tpm: numberOf(tpm), rpd: numberOf(rpd), concurrency: numberOf(concurrency) }
}

function keyView(key: Key, { spent, unusual, now, staleMs }: Marks): KeyView {
  const found = unusual.get(key.id)
  const isOver = key.expiresAt !== null && key.expiresAt <= now
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    last_four: key.lastFour,
    status: isOver ? 'expired' : key.status,
    expires_at: timeOf(key.expiresAt),
    models: key.models === null ? null : [...key.models],
    ips: key.ips === null ? null : [...key.ips],
    caps: {
      daily: capText(key.caps.dailyNanos),
      monthly: capText(key.caps.monthlyNanos),
      total: capText(key.caps.totalNanos),
    },
    limits: wholeLimits(key),
    spent: spentView(spent.get(key.id)),
    created_at: timeOf(key.createdAt),
    last_used_at: timeOf(key.lastUsedAt),
    stale: isStale(key, staleMs, now),
    unusual:
      found === undefined
        ? null
        : { hour: timeOf(found.hour), cost: decimalOf(found.costNanos), usual: decimalOf(found.usualNanos) },
  }
}

async function views({ house: { db, config } }: Visit, keys: readonly Key[]): Promise<KeyView[]> {
  const now = Date.now()
  const ids = keys.map(({ id }) => id)
  const [spent, unusual] = await Promise.all([spentByKeys(db, ids, now), unusualUse(db, keys, now)])
  return keys.map((key) => keyView(key, { spent, unusual, now, staleMs: config.staleKeysMs }))
}

async function view(visit: Visit, key: Key): Promise<KeyView> {
  const [only] = await views(visit, [key])
  if (only === undefined) throw new Error('A key has no view.')
  return only
}

/** The key of this account that the path names; another's is not there. */
async function own(visit: Visit): Promise<Key> {
  const key = await keyById(visit.house.db, visit.param('id'))
  if (key?.accountId === visit.accountId) return key
  throw refuse('not_found', { message: 'There is no such key.' })
}

type Given = Visit<typeof keyCalls.change>['body']

function patchOf({ name, status, expires_at: expires, models, ips, caps, limits }: Given): KeyPatch {
  return {
    name,
    status,
    expiresAt: msOf(expires),
    models,
    ips,
    caps: {
      dailyNanos: capOf(caps?.daily, 'caps.daily'),
      monthlyNanos: capOf(caps?.monthly, 'caps.monthly'),
      totalNanos: capOf(caps?.total, 'caps.total'),
    },
    limits,
  }
}

/** Resolves when every thread honours the change. */
async function announced<Value>({ house }: Visit, written: Promise<Changed<Value>>): Promise<Value> {
  const { value, changes } = await written
  await house.announce(changes)
  return value
}

async function list(visit: Visit) {
  const { house, accountId } = visit
  const { keysPerAccount, staleKeysMs, keysDeletedMs } = house.config
  const dayMs = 24 * hourMs
  return {
    data: await views(visit, await listKeys(house.db, accountId)),
    most: keysPerAccount,
    stale_after_days: Math.round(staleKeysMs / dayMs),
    deleted_after_days: keysDeletedMs === 0 ? null : Math.round(keysDeletedMs / dayMs),
  }
}

async function create(visit: Visit<typeof keyCalls.create>) {
  const { house, accountId, by, body } = visit
  const rules = { by, keysMax: house.config.keysPerAccount }
  const input = { ...patchOf(body), accountId, name: body.name }
  const { secret, ...key } = await announced(visit, createKey(house.db, input, rules))
  return { ...(await view(visit, key)), secret }
}

async function rotate(visit: Visit<typeof keyCalls.rotate>) {
  const { house, accountId, by, body } = visit
  const given = { id: visit.param('id'), accountId, graceMs: body.grace_hours * hourMs }
  const { key, old } = await announced(visit, rotateKey(house.db, given, by))
  const { secret, ...shown } = key
  return { key: { ...(await view(visit, shown)), secret }, old: await view(visit, old) }
}

async function clean(visit: Visit) {
  const { house, accountId, by } = visit
  const { db, config } = house
  const now = Date.now()
  const stale = (await listKeys(db, accountId)).filter((key) => isStale(key, config.staleKeysMs, now))
  for (const key of stale) await announced(visit, deleteKey(db, key.id, by))
  return { deleted: stale.map(({ id }) => id) }
}

export const ownKeyCalls: readonly Bound[] = [
  bound(keyCalls.list, list),
  bound(keyCalls.clean, clean),
  bound(keyCalls.read, async (visit) => view(visit, await own(visit))),
  bound(keyCalls.create, create),
  bound(keyCalls.change, async (visit) => {
    const { id } = await own(visit)
    return view(visit, await announced(visit, updateKey(visit.house.db, id, patchOf(visit.body), visit.by)))
  }),
  bound(keyCalls.rotate, rotate),
  bound(keyCalls.remove, async (visit) => {
    const { id } = await own(visit)
    await announced(visit, deleteKey(visit.house.db, id, visit.by))
    return { done: true as const }
  }),
]
