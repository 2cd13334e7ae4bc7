/**
 * Every key, account and tier in memory. Workers and the authority use it so that admission needs no SQL. It
 * is loaded once and then updated by deltas; a Caller is built on first use.
 */

import { changedIds, type Change } from '../db/change.ts'
import type { Db, Query } from '../db/db.ts'
import { sql, type AccountsTable, type KeysTable, type TiersTable } from '../db/schema/schema.ts'
import { accountOf, type Account } from './accounts.ts'
import { compileModels, compileNetworks, type ModelList, type NetworkList } from './allowlists.ts'
import { keyOf, type KeyCaps } from './keys.ts'
import { accountLimits, keyLimits, type Limits } from './limits.ts'
import { tierOf, type Tier } from './tiers.ts'

/**
 * What admission needs to know about the holder of a key. Every change creates a new object, so identity can
 * be cached.
 */
export interface Caller {
  readonly keyId: string
  readonly keyStatus: 'active' | 'disabled'
  /** Milliseconds since the epoch. null: never. */
  readonly expiresAt: number | null
  /** null: every model and every address. See allowsModel and allowsAddress. */
  readonly models: ModelList | null
  readonly networks: NetworkList | null
  readonly keyCaps: KeyCaps
  readonly keyLimits: Limits
  readonly accountId: string
  readonly accountStatus: 'active' | 'suspended'
  readonly accountCaps: { readonly dailyNanos: bigint | null; readonly monthlyNanos: bigint | null }
  readonly accountLimits: Limits
  /** Multiplies prices: 1_000_000 is a factor of one. */
  readonly priceFactorPpm: number
  readonly timezone: string
}

/** Rows to insert or replace, as plain objects so that they can be sent to another thread. */
export interface DirectoryDelta {
  readonly tiers: readonly TiersTable[]
  readonly accounts: readonly AccountsTable[]
  /** A row with `deleted_at` removes the key. */
  readonly keys: readonly KeysTable[]
}

export class Directory {
  #tiers = new Map<string, Tier>()
  #accounts = new Map<string, Account>()
  #keysByHash = new Map<string, KeysTable>()
  #hashById = new Map<string, string>()
  #callers = new Map<string, Caller>()

  callerByKeyHash(hash: string): Caller | undefined {
    const cached = this.#callers.get(hash)
    if (cached !== undefined) return cached
    const caller = this.#callerOf(hash)
    if (caller !== undefined) this.#callers.set(hash, caller)
    return caller
  }

  /** The caller with a key id, for journal events and administrators, which do not have the secret. */
  callerByKeyId(id: string): Caller | undefined {
    const hash = this.#hashById.get(id)
    return hash === undefined ? undefined : this.callerByKeyHash(hash)
  }

  /** The display name of a key. */
  keyName(id: string): string | undefined {
    return this.#keysByHash.get(this.#hashById.get(id) ?? '')?.name
  }

  account(id: string): Account | undefined {
    return this.#accounts.get(id)
  }

  tier(name: string): Tier | undefined {
    return this.#tiers.get(name)
  }

  /** An account's effective limits: its own where set, otherwise its tier's. */
  limitsOfAccount(id: string): Limits | undefined {
    const account = this.#accounts.get(id)
    const tier = account === undefined ? undefined : this.#tiers.get(account.tier)
    return account === undefined || tier === undefined
      ? undefined
      : accountLimits(account.limits, tier.limits)
  }

  /** Takes over the contents of another directory, which must not be used afterwards. */
  replaceWith(other: Directory): void {
    this.#tiers = other.#tiers
    this.#accounts = other.#accounts
    this.#keysByHash = other.#keysByHash
    this.#hashById = other.#hashById
    this.#callers = other.#callers
  }

  apply({ tiers, accounts, keys }: DirectoryDelta): void {
    if (tiers.length + accounts.length + keys.length === 0) return
    for (const row of tiers) this.#tiers.set(row.name, tierOf(row))
    for (const row of accounts) this.#accounts.set(row.id, accountOf(row))
    for (const row of keys) {
      if (row.deleted_at === null) {
        this.#keysByHash.set(row.hash, row)
        this.#hashById.set(row.id, row.hash)
      } else {
        this.#keysByHash.delete(row.hash)
        this.#hashById.delete(row.id)
      }
    }
    // All of them, because changes are rare: a caller is built again with its next request.
    this.#callers.clear()
  }

  #callerOf(hash: string): Caller | undefined {
    const row = this.#keysByHash.get(hash)
    const account = row === undefined ? undefined : this.#accounts.get(row.account_id)
    const tier = account === undefined ? undefined : this.#tiers.get(account.tier)
    if (row === undefined || account === undefined || tier === undefined) return undefined
    const key = keyOf(row)
    return {
      keyId: key.id,
      keyStatus: key.status,
      expiresAt: key.expiresAt,
      models: compileModels(key.models),
      networks: compileNetworks(key.ips),
      keyCaps: key.caps,
      keyLimits: keyLimits(key.limits),
      accountId: account.id,
      accountStatus: account.status,
      accountCaps: account.caps,
      accountLimits: accountLimits(account.limits, tier.limits),
      priceFactorPpm: account.priceFactorPpm ?? tier.priceFactorPpm,
      timezone: account.timezone,
    }
  }
}

const pageRows = 5000

async function loadPages<Result extends { id: string }>(
  load: (after: string) => Promise<Result[]>,
  onPage: (rows: Result[]) => void,
): Promise<void> {
  let after = ''
  for (;;) {
    const rows = await load(after)
    onPage(rows)
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageRows) return
    after = last.id
  }
}

/** Loads everything, page by page. */
export async function loadDirectory(db: Db): Promise<Directory> {
  const directory = new Directory()
  const accounts = sql.selectFrom('accounts').selectAll().orderBy('id').limit(pageRows)
  const keys = sql
    .selectFrom('keys')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(pageRows)
  directory.apply({ tiers: await db.all(sql.selectFrom('tiers').selectAll()), accounts: [], keys: [] })
  await loadPages(
    (after) => db.all(accounts.where('id', '>', after)),
    (rows) => directory.apply({ tiers: [], accounts: rows, keys: [] }),
  )
  await loadPages(
    (after) => db.all(keys.where('id', '>', after)),
    (rows) => directory.apply({ tiers: [], accounts: [], keys: rows }),
  )
  return directory
}

/** Loads the rows named by the changes. Ignores changes of other kinds. */
export async function loadDirectoryDelta(db: Db, changes: readonly Change[]): Promise<DirectoryDelta> {
  const tiers = changedIds(changes, 'tier')
  const accounts = changedIds(changes, 'account')
  const keys = changedIds(changes, 'key')
  const all = <Row>(ids: readonly string[], query: Query<Row>) => (ids.length === 0 ? [] : db.all(query))
  return {
    tiers: await all(tiers, sql.selectFrom('tiers').selectAll().where('name', 'in', tiers)),
    accounts: await all(accounts, sql.selectFrom('accounts').selectAll().where('id', 'in', accounts)),
    keys: await all(keys, sql.selectFrom('keys').selectAll().where('id', 'in', keys)),
  }
}
