/**
 * API keys. The secret is shown once, and only its hash is stored. A deleted key keeps its row, so that its
 * spending keeps its name. Every change is one batch with its line in the audit log.
 */

import type { RowFields } from '../db/row-fields.ts'
import { sql as fragment } from 'kysely'
import { apiError, invalidField, notFound } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges } from '../db/audit-changes.ts'
import type { Changed } from '../db/change.ts'
import { expectChanges, requireAtMost, writeIfFound, type Db, type Query } from '../db/db.ts'
import { sql, type KeysTable } from '../db/schema/schema.ts'
import { isExpectationFailureOf } from '../db/store-error.ts'
import { cleanModels, cleanNetworks } from './allowlists.ts'
import { cleanCap, cleanRequiredName } from './fields.ts'
import { limitsOf, limitsPatchJson, ownLimits, patchLimits } from './limits.ts'
import type { LimitsPatch, OwnLimits } from './limits.ts'
import { hashKey, generateSecret, visiblePrefixLength } from './key-secret.ts'

export interface KeyCaps {
  readonly dailyNanos: bigint | null
  readonly monthlyNanos: bigint | null
  /** Over the key's lifetime. */
  readonly totalNanos: bigint | null
}

export interface Key extends Omit<
  RowFields<KeysTable>,
  'hash' | 'models' | 'ips' | 'capDailyNanos' | 'capMonthlyNanos' | 'capTotalNanos' | 'limits' | 'deletedAt'
> {
  /** null: every model, every address. */
  readonly models: readonly string[] | null
  readonly ips: readonly string[] | null
  readonly caps: KeyCaps
  readonly limits: OwnLimits
}

/** Omitted fields stay unchanged; on creation they are unset. null removes a value. */
export interface KeyPatch extends Partial<Pick<Key, 'name' | 'status' | 'expiresAt' | 'models' | 'ips'>> {
  readonly caps?: Partial<KeyCaps>
  readonly limits?: LimitsPatch
}

export interface KeyInput extends KeyPatch {
  readonly accountId: string
  readonly name: string
}

export interface NewKey extends Key {
  /** Returned only on creation. */
  readonly secret: string
}

export interface CreateKeyOptions {
  readonly by: string
  /** The maximum number of keys per account (specification §8: 5 to 10, set by the platform). */
  readonly maxKeys?: number
}

const defaultMaxKeys = 10

export function keyOf(row: KeysTable): Key {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    prefix: row.prefix,
    lastFour: row.last_four,
    status: row.status,
    expiresAt: row.expires_at,
    models: parseNames(row.models),
    ips: parseNames(row.ips),
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

/** The list stored in a key's column. null: no list. */
export function parseNames(json: string | null): string[] | null {
  return json === null ? null : (JSON.parse(json) as string[])
}

function listJson(
  list: readonly string[] | null,
  clean: (list: readonly string[]) => string[] | null,
): string | null {
  const cleaned = list === null ? null : clean(list)
  return cleaned === null ? null : JSON.stringify(cleaned)
}

function toColumns(patch: KeyPatch): Partial<KeysTable> {
  const set: Partial<KeysTable> = {}
  if (patch.name !== undefined) set.name = cleanRequiredName(patch.name)
  if (patch.status !== undefined) set.status = patch.status
  if (patch.expiresAt !== undefined) {
    if (patch.expiresAt !== null && patch.expiresAt <= Date.now())
      throw invalidField('expires_at', 'must be in the future')
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

/** The row of a new key without restrictions. */
export function newKeyRow(fields: Pick<KeysTable, 'id' | 'account_id' | 'name'>, secret: string): KeysTable {
  return {
    ...fields,
    hash: hashKey(secret),
    prefix: secret.slice(0, visiblePrefixLength),
    last_four: secret.slice(-4),
    status: 'active',
    expires_at: null,
    models: null,
    ips: null,
    cap_daily_nanos: null,
    cap_monthly_nanos: null,
    cap_total_nanos: null,
    limits: '{}',
    created_at: Date.now(),
    last_used_at: null,
    deleted_at: null,
  }
}

function buildRow(input: KeyInput, secret: string): KeysTable {
  const limits = JSON.stringify(ownLimits(input.limits ?? {}))
  const fields = { id: newId('key'), account_id: input.accountId, name: input.name }
  return { ...newKeyRow(fields, secret), limits, ...toColumns(input) }
}

/** Fails the batch that inserts a key if its account then has more than allowed. */
function requireKeysAtMost(maxKeys: number, accountId: string): Query {
  const held = sql
    .selectFrom('keys')
    .select((build) => build.fn.countAll().as('held'))
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('id', 'like', 'key%')
  return requireAtMost(held, maxKeys)
}

/**
 * Throws 404 for an unknown account, 409 if it already has the maximum number of keys, 400 naming the field.
 */
export async function createKey(
  db: Db,
  input: KeyInput,
  options: CreateKeyOptions,
): Promise<Changed<NewKey>> {
  const maxKeys = options.maxKeys ?? defaultMaxKeys
  const secret = generateSecret()
  const row = buildRow(input, secret)
  const audit = auditStatement(options.by, 'key.create', row.id, { account: row.account_id, name: row.name })
  try {
    const account = sql.selectFrom('accounts').select('id').where('id', '=', row.account_id)
    await db.write(
      expectChanges(account, 1),
      sql.insertInto('keys').values(row),
      requireKeysAtMost(maxKeys, row.account_id),
      audit,
    )
  } catch (error) {
    if (isExpectationFailureOf(error, 0)) throw notFound('Account')
    if (!isExpectationFailureOf(error, 2)) throw error
    throw apiError('conflict', { message: `An account may hold at most ${maxKeys} keys. Delete one first.` })
  }
  return { value: { ...keyOf(row), secret }, changes: [{ kind: 'key', id: row.id }] }
}

/** The keys that people hold. The console's own keys are excluded (console-key.ts). */
function liveKeys(): ReturnType<typeof allKeys> {
  return allKeys().where('deleted_at', 'is', null).where('id', 'like', 'key%')
}

function allKeys() {
  return sql.selectFrom('keys').selectAll()
}

/** Deleted keys are not found. */
export async function keyById(db: Db, id: string): Promise<Key | undefined> {
  const row = await db.first(liveKeys().where('id', '=', id))
  return row === undefined ? undefined : keyOf(row)
}

/** An account's keys, oldest first. */
export async function listKeys(db: Db, accountId: string): Promise<Key[]> {
  const rows = await db.all(liveKeys().where('account_id', '=', accountId).orderBy('id'))
  return rows.map(keyOf)
}

/** The names of keys by id, including deleted ones. */
export async function namesOfKeys(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.all(sql.selectFrom('keys').select(['id', 'name']).where('id', 'in', ids))
  return new Map(rows.map((row) => [row.id, row.name]))
}

/** Throws 404 for an unknown or deleted key, 400 naming the field. A patch that changes nothing writes nothing. */
export async function updateKey(db: Db, id: string, patch: KeyPatch, by: string): Promise<Changed<Key>> {
  const set = toColumns(patch)
  const before = await db.first(liveKeys().where('id', '=', id))
  if (before === undefined) throw notFound('Key')
  const after = { ...before, ...set, limits: patchLimits(before.limits, patch.limits) }
  const changes = auditChanges(keyOf(before), keyOf(after))
  if (changes === null) return { value: keyOf(before), changes: [] }
  const limits =
    patch.limits === undefined
      ? fragment<string>`limits`
      : fragment<string>`json_patch(limits, ${limitsPatchJson(patch.limits)})`
  const update = sql
    .updateTable('keys')
    .set({ ...set, limits })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  if (!(await writeIfFound(db, update, auditStatement(by, 'key.update', id, changes)))) throw notFound('Key')
  const key = await keyById(db, id)
  if (key === undefined) throw notFound('Key')
  return { value: key, changes: [{ kind: 'key', id }] }
}

/** Deletes a key permanently. Throws 404 for an unknown or deleted one. */
export async function deleteKey(db: Db, id: string, by: string): Promise<Changed<undefined>> {
  const now = Date.now()
  const update = sql
    .updateTable('keys')
    .set({ deleted_at: now })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  if (!(await writeIfFound(db, update, auditStatement(by, 'key.delete', id)))) throw notFound('Key')
  return { value: undefined, changes: [{ kind: 'key', id }] }
}

/** Deletes at most 500 keys that have not been used since this time (specification §5.3). The value is their number. */
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
  const detail = { unused_since: new Date(unusedSince).toISOString() }
  await db.write(update, ...ids.map((id) => auditStatement(by, 'key.delete', id, detail)))
  return { value: ids.length, changes: ids.map((id) => ({ kind: 'key', id })) }
}

const usesPerStatement = 500

/**
 * Records when keys were last used. The caller batches these a few times a minute. No thread caches them, so
 * nothing is published.
 */
export async function recordKeyUse(db: Db, uses: ReadonlyMap<string, number>): Promise<void> {
  if (uses.size === 0) return
  const all = [...uses]
  for (let first = 0; first < all.length; first += usesPerStatement) {
    const batch = all.slice(first, first + usesPerStatement)
    await db.write({
      sql: `update keys set last_used_at = used.column2
        from (values ${batch.map(() => '(?, cast(? as bigint))').join(', ')}) as used
        where keys.id = used.column1 and coalesce(keys.last_used_at, 0) < used.column2`,
      parameters: batch.flat(),
    })
  }
}
