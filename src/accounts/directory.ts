/**
 * The directory: every key, account and tier in memory, as the workers and the authority hold it, so that admission
 * reads no SQL. It is loaded once and then follows by deltas; a Caller is put together when first asked for.
 */

import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql, type AccountsTable, type KeysTable, type TiersTable } from '../db/schema/schema.ts'
import { accountOf, type Account } from './accounts.ts'
import { preparedModels, preparedNetworks, type ModelList, type NetworkList } from './allowlists.ts'
import { keyOf, type KeyCaps } from './keys.ts'
import { accountLimits, keyLimits, type Limits } from './limits.ts'
import { tierOf, type Tier } from './tiers.ts'

/** What admission needs to know of whoever presents a key. A change makes a new object, so identity can be cached. */
export interface Caller {
  readonly keyId: string
  readonly keyStatus: 'active' | 'disabled'
  /** Milliseconds since the epoch; null never ends. */
  readonly expiresAt: number | null
  /** null is every model and every address; see allowsModel and allowsAddress. */
  readonly models: ModelList | null
  readonly networks: NetworkList | null
  readonly keyCaps: KeyCaps
  readonly keyLimits: Limits
  readonly accountId: string
  readonly accountStatus: 'active' | 'suspended'
  readonly accountCaps: { readonly dailyNanos: bigint | null; readonly monthlyNanos: bigint | null }
  readonly accountLimits: Limits
  /** Multiplies prices: 1_000_000 is one. */
  readonly priceFactorPpm: number
  readonly timezone: string
}

/** Rows to put in place, plain so that they can be sent to another thread. */
export interface DirectoryDelta {
  readonly tiers: readonly TiersTable[]
  readonly accounts: readonly AccountsTable[]
  /** A row with `deleted_at` takes the key out. */
  readonly keys: readonly KeysTable[]
}

export class Directory {
  #tiers = new Map<string, Tier>()
  #accounts = new Map<string, Account>()
  #keysByHash = new Map<string, KeysTable>()
  #hashById = new Map<string, string>()
  #callers = new Map<string, Caller>()
  #hashesByAccount = new Map<string, Set<string>>()

  keyByHash(hash: string): Caller | undefined {
    const known = this.#callers.get(hash)
    if (known !== undefined) return known
    const caller = this.#callerOf(hash)
    if (caller !== undefined) this.#callers.set(hash, caller)
    return caller
  }

  /** The caller behind a key's id, for what arrives without the secret: a journal, an administrator. */
  keyById(id: string): Caller | undefined {
    const hash = this.#hashById.get(id)
    return hash === undefined ? undefined : this.keyByHash(hash)
  }

  /** What people call a key. */
  nameOfKey(id: string): string | undefined {
    return this.#keysByHash.get(this.#hashById.get(id) ?? '')?.name
  }

  account(id: string): Account | undefined {
    return this.#accounts.get(id)
  }

  tier(name: string): Tier | undefined {
    return this.#tiers.get(name)
  }

  /** An account's effective limits: its own, else its tier's. */
  limitsOfAccount(id: string): Limits | undefined {
    const account = this.#accounts.get(id)
    const tier = account === undefined ? undefined : this.#tiers.get(account.tier)
    return account === undefined || tier === undefined
      ? undefined
      : accountLimits(account.limits, tier.limits)
  }

  /** Takes over everything of another, which nobody else uses. */
  become(other: Directory): void {
    this.#tiers = other.#tiers
    this.#accounts = other.#accounts
    this.#keysByHash = other.#keysByHash
    this.#hashById = other.#hashById
    this.#callers = other.#callers
    this.#hashesByAccount = other.#hashesByAccount
  }

  apply(delta: DirectoryDelta): void {
    for (const row of delta.tiers) this.#tiers.set(row.name, tierOf(row))
    if (delta.tiers.length > 0) this.#callers.clear()
    for (const row of delta.accounts) {
      this.#accounts.set(row.id, accountOf(row))
      for (const hash of this.#hashesByAccount.get(row.id) ?? []) this.#callers.delete(hash)
    }
    for (const row of delta.keys) this.#putKey(row)
  }

  #putKey(row: KeysTable): void {
    this.#callers.delete(row.hash)
    const siblings = this.#hashesByAccount.get(row.account_id) ?? new Set()
    this.#hashesByAccount.set(row.account_id, siblings)
    if (row.deleted_at !== null) {
      this.#keysByHash.delete(row.hash)
      this.#hashById.delete(row.id)
      siblings.delete(row.hash)
      return
    }
    this.#keysByHash.set(row.hash, row)
    this.#hashById.set(row.id, row.hash)
    siblings.add(row.hash)
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
      models: preparedModels(key.models),
      networks: preparedNetworks(key.ips),
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

async function pages<Result extends { id: string }>(
  load: (after: string) => Promise<Result[]>,
  take: (rows: Result[]) => void,
): Promise<void> {
  let after = ''
  for (;;) {
    const rows = await load(after)
    take(rows)
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
  await pages(
    (after) => db.all(accounts.where('id', '>', after)),
    (rows) => directory.apply({ tiers: [], accounts: rows, keys: [] }),
  )
  await pages(
    (after) => db.all(keys.where('id', '>', after)),
    (rows) => directory.apply({ tiers: [], accounts: [], keys: rows }),
  )
  return directory
}

/** Reads the rows that changes name; changes of other rooms are passed over. */
export async function loadDelta(db: Db, changes: readonly Change[]): Promise<DirectoryDelta> {
  const named = (kind: Change['kind']): string[] =>
    changes.filter((change) => change.kind === kind).map((change) => change.id)
  const [tiers, accounts, keys] = [named('tier'), named('account'), named('key')]
  return {
    tiers:
      tiers.length === 0 ? [] : await db.all(sql.selectFrom('tiers').selectAll().where('name', 'in', tiers)),
    accounts:
      accounts.length === 0
        ? []
        : await db.all(sql.selectFrom('accounts').selectAll().where('id', 'in', accounts)),
    keys: keys.length === 0 ? [] : await db.all(sql.selectFrom('keys').selectAll().where('id', 'in', keys)),
  }
}
