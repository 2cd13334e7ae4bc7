/**
 * Keys: what callers present. The secret is shown once and only its hash is kept; a deleted key stays as a row
 * without use, so that what it spent keeps its name. Every change is one batch with its line in the audit log.
 */

import { sql as fragment } from 'kysely'
import { refuse, type Refusal } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditRow } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql, type KeysTable } from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'
import { cleanModels, cleanNetworks } from './allowlists.ts'
import { cleanCap, cleanRequiredName, invalid } from './fields.ts'
import { limitsOf, limitsPatchJson, ownLimits, type LimitsPatch, type OwnLimits } from './limits.ts'
import { hashOfKey, newSecret, shownLength } from './key-secret.ts'

export interface KeyCaps {
  readonly dailyNanos: bigint | null
  readonly monthlyNanos: bigint | null
  /** For the key's life. */
  readonly totalNanos: bigint | null
}

export interface Key {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** The first characters and the last four of the secret, to recognise it by. */
  readonly prefix: string
  readonly lastFour: string
  readonly status: 'active' | 'disabled'
  readonly expiresAt: number | null
  /** null is every model, every address. */
  readonly models: readonly string[] | null
  readonly ips: readonly string[] | null
  readonly caps: KeyCaps
  readonly limits: OwnLimits
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** Not named stays (on creation: none); null removes. */
export interface KeyPatch {
  readonly name?: string
  readonly status?: 'active' | 'disabled'
  readonly expiresAt?: number | null
  readonly models?: readonly string[] | null
  readonly ips?: readonly string[] | null
  readonly caps?: Partial<KeyCaps>
  readonly limits?: LimitsPatch
}

export interface KeyInput extends KeyPatch {
  readonly accountId: string
  readonly name: string
}

export interface NewKey extends Key {
  /** Only here, only now. */
  readonly secret: string
}

export interface KeyRules {
  readonly by: string
  /** How many keys an account may hold (specification §8: 5 to 10, set by the platform). */
  readonly keysMax?: number
}

const defaultKeysMax = 10

export function keyOf(row: KeysTable): Key {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    prefix: row.prefix,
    lastFour: row.last_four,
    status: row.status,
    expiresAt: row.expires_at,
    models: namesOf(row.models),
    ips: namesOf(row.ips),
    caps: {
      dailyNanos: row.cap_daily_nanos,
      monthlyNanos: row.cap_monthly_nanos,
      totalNanos: row.cap_total_nanos,
    },
    limits: limitsOf(row.limits),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}

/** The stored list of a key, null when there is none. */
export function namesOf(json: string | null): string[] | null {
  return json === null ? null : (JSON.parse(json) as string[])
}

function noSuchKey(): Refusal {
  return refuse('not_found', { message: 'There is no such key.' })
}

function listJson(
  list: readonly string[] | null,
  clean: (list: readonly string[]) => string[] | null,
): string | null {
  const cleaned = list === null ? null : clean(list)
  return cleaned === null ? null : JSON.stringify(cleaned)
}

function changesOf(patch: KeyPatch): Partial<KeysTable> {
  const set: Partial<KeysTable> = {}
  if (patch.name !== undefined) set.name = cleanRequiredName(patch.name)
  if (patch.status !== undefined) set.status = patch.status
  if (patch.expiresAt !== undefined) {
    if (patch.expiresAt !== null && patch.expiresAt <= Date.now())
      throw invalid('expires_at', 'lies in the past')
    set.expires_at = patch.expiresAt
  }
  if (patch.models !== undefined) set.models = listJson(patch.models, cleanModels)
  if (patch.ips !== undefined) set.ips = listJson(patch.ips, cleanNetworks)
  const { dailyNanos, monthlyNanos, totalNanos } = patch.caps ?? {}
  if (dailyNanos !== undefined) set.cap_daily_nanos = cleanCap(dailyNanos, 'caps.daily')
  if (monthlyNanos !== undefined) set.cap_monthly_nanos = cleanCap(monthlyNanos, 'caps.monthly')
  if (totalNanos !== undefined) set.cap_total_nanos = cleanCap(totalNanos, 'caps.total')
  return set
}

function newRow(input: KeyInput, secret: string): KeysTable {
  return {
    id: newId('key'),
    account_id: input.accountId,
    name: cleanRequiredName(input.name),
    hash: hashOfKey(secret),
    prefix: secret.slice(0, shownLength),
    last_four: secret.slice(-4),
    status: 'active',
    expires_at: null,
    models: null,
    ips: null,
    cap_daily_nanos: null,
    cap_monthly_nanos: null,
    cap_total_nanos: null,
    limits: JSON.stringify(ownLimits(input.limits ?? {})),
    created_at: Date.now(),
    last_used_at: null,
    deleted_at: null,
    ...changesOf(input),
  }
}

/** Two guards that make the batch fail: the account exists; it holds fewer keys than it may. */
function guards(accountId: string, keysMax: number): Parameters<Db['write']> {
  const account = sql.selectFrom('accounts').select('id').where('id', '=', accountId)
  const held = sql
    .selectFrom('keys')
    .select((build) => build.fn.countAll<number>().as('held'))
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('id', 'like', 'key%')
    .having((build) => build.fn.countAll(), '<', keysMax)
  return [expecting(account, 1), expecting(held, 1)]
}

/** Refuses with 404 for an unknown account, 409 when it holds as many keys as it may, 400 naming the field. */
export async function createKey(db: Db, input: KeyInput, rules: KeyRules): Promise<Changed<NewKey>> {
  const keysMax = rules.keysMax ?? defaultKeysMax
  const secret = newSecret()
  const row = newRow(input, secret)
  const audit = auditRow(rules.by, 'key.create', row.id, { account: row.account_id, name: row.name })
  try {
    await db.write(...guards(row.account_id, keysMax), sql.insertInto('keys').values(row), audit)
  } catch (error) {
    if (isUnmet(error, 0)) throw refuse('not_found', { message: 'There is no such account.' })
    if (!isUnmet(error, 1)) throw error
    throw refuse('conflict', { message: `An account may hold at most ${keysMax} keys. Delete one first.` })
  }
  return { value: { ...keyOf(row), secret }, changes: [{ kind: 'key', id: row.id }] }
}

/** What people hold; the key that the console itself calls with is none of them (console-key.ts). */
function living(): ReturnType<typeof allKeys> {
  return allKeys().where('deleted_at', 'is', null).where('id', 'like', 'key%')
}

function allKeys() {
  return sql.selectFrom('keys').selectAll()
}

/** Deleted keys are not found. */
export async function keyById(db: Db, id: string): Promise<Key | undefined> {
  const row = await db.first(living().where('id', '=', id))
  return row === undefined ? undefined : keyOf(row)
}

/** An account's keys, oldest first. */
export async function listKeys(db: Db, accountId: string): Promise<Key[]> {
  const rows = await db.all(living().where('account_id', '=', accountId).orderBy('id'))
  return rows.map(keyOf)
}

/** The names of keys by their ids, also of deleted ones. */
export async function namesOfKeys(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.all(sql.selectFrom('keys').select(['id', 'name']).where('id', 'in', ids))
  return new Map(rows.map((row) => [row.id, row.name]))
}

/** Disables, renames, restricts. Refuses with 404 for an unknown or deleted key, 400 naming the field. */
export async function updateKey(db: Db, id: string, patch: KeyPatch, by: string): Promise<Changed<Key>> {
  const set = changesOf(patch)
  const limits =
    patch.limits === undefined
      ? fragment<string>`limits`
      : fragment<string>`json_patch(limits, ${limitsPatchJson(patch.limits)})`
  const update = sql
    .updateTable('keys')
    .set({ ...set, limits })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  try {
    await db.write(expecting(update, 1), auditRow(by, 'key.update', id, { ...set, limits: patch.limits }))
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchKey() : error
  }
  const key = await keyById(db, id)
  if (key === undefined) throw noSuchKey()
  return { value: key, changes: [{ kind: 'key', id }] }
}

/** Ends a key for good. Refuses with 404 for an unknown or deleted one. */
export async function deleteKey(db: Db, id: string, by: string): Promise<Changed<undefined>> {
  const now = Date.now()
  const update = sql
    .updateTable('keys')
    .set({ deleted_at: now })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  try {
    await db.write(expecting(update, 1), auditRow(by, 'key.delete', id))
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchKey() : error
  }
  return { value: undefined, changes: [{ kind: 'key', id }] }
}

/** Deletes keys that nobody used since a moment, at most 500 in a call (specification §5.3). The value tells how many. */
export async function deleteStaleKeys(db: Db, unusedSince: number, by: string): Promise<Changed<number>> {
  const stale = await db.all(
    sql
      .selectFrom('keys')
      .select('id')
      .where('deleted_at', 'is', null)
      .where('id', 'like', 'key%')
      .where((build) => build(build.fn.coalesce('last_used_at', 'created_at'), '<', unusedSince))
      .limit(500),
  )
  const ids = stale.map((row) => row.id)
  if (ids.length === 0) return { value: 0, changes: [] }
  const update = sql.updateTable('keys').set({ deleted_at: Date.now() }).where('id', 'in', ids)
  await db.write(update, ...ids.map((id) => auditRow(by, 'key.delete', id, { unusedSince })))
  return { value: ids.length, changes: ids.map((id) => ({ kind: 'key', id })) }
}

const usesPerStatement = 500

/** Notes when keys were last used; gathered by the caller, a few times a minute. Nobody keeps a copy of it. */
export async function noteKeyUse(db: Db, uses: ReadonlyMap<string, number>): Promise<void> {
  if (uses.size === 0) return
  const all = [...uses]
  for (let first = 0; first < all.length; first += usesPerStatement) {
    const some = all.slice(first, first + usesPerStatement)
    await db.write({
      sql: `update keys set last_used_at = used.column2
        from (values ${some.map(() => '(?, cast(? as bigint))').join(', ')}) as used
        where keys.id = used.column1 and coalesce(keys.last_used_at, 0) < used.column2`,
      parameters: some.flat(),
    })
  }
}
