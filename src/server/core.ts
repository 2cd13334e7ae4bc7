/**
 * The heart of a node, on the main thread: the store and what was read from it, the ledger, the limits, the authority
 * over both. Workers, the control socket and the command line all stand on one of these.
 */
import { loadDelta, loadDirectory, type Directory } from '../accounts/directory.ts'
import { loadCatalog, loadCatalogDelta, type Catalog } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import { refuse } from '../errors.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql, type OwnersTable } from '../db/schema.ts'
import { openDataKey } from '../db/settings.ts'
import { openStore, type Store } from '../db/store.ts'
import { restoreState, type StoredOwner } from '../ledger/checkpoint.ts'
import { books } from '../ledger/entries.ts'
import { decodeEvents } from '../ledger/journal.ts'
import type { LedgerState } from '../ledger/state.ts'
import { Rates } from '../limits/rates.ts'
import { sealerOf, type Sealer } from '../lib/seal.ts'
import { Authority } from './authority.ts'
import { CommitWaiters } from './commit-waiters.ts'
import { CommitQueue } from './commit-queue.ts'
import { Credits } from './credits.ts'

export interface Core {
  readonly store: Store
  readonly directory: Directory
  readonly catalog: Catalog
  readonly sealer: Sealer
  readonly dataKey: Uint8Array
  readonly state: LedgerState
  readonly commits: CommitQueue
  readonly authority: Authority
  readonly credits: Credits
  readonly rates: Rates
  /** Holds that an earlier end of the process had left open, ended at this start. */
  readonly expired: number
  /** Takes in what a write has changed. */
  refresh(changes: readonly Change[]): Promise<void>
  /** Resolves when the commit is on disk; rejects when the store takes none. */
  durable(commit: number): Promise<void>
  /** Waits for what is under way, and closes the store. */
  close(): Promise<void>
}

export interface CoreListener {
  durable(commit: number): void
  admitting(isOpen: boolean, why: string): void
  /** The disk cannot be trusted any more: the process has to end. */
  failed(why: string): void
}

function storedOwner(row: OwnersTable): StoredOwner {
  return {
    balance: row.balance_nanos,
    dayEnd: row.day_end,
    daySpent: row.day_spent_nanos,
    dayRequests: row.day_requests,
    monthEnd: row.month_end,
    monthSpent: row.month_spent_nanos,
    totalSpent: row.total_spent_nanos,
    overran: row.flags === 1,
  }
}

async function overrunOnDisk(db: Db): Promise<bigint> {
  const sum = sql
    .selectFrom('entries')
    .select((build) => build.fn.sum<bigint>('amount_nanos').as('sum_nanos'))
  const row = await db.first(sum.where('kind', '=', 'overrun'))
  return row?.sum_nanos ?? 0n
}

async function creditOnDisk(db: Db, id: string): Promise<bigint | null> {
  const query = sql.selectFrom('entries').select(['amount_nanos', 'debit']).where('ref', '=', id)
  const row = await db.first(query.where('reason', 'is not', null))
  if (!row) return null
  return row.debit === books.funding ? row.amount_nanos : -row.amount_nanos
}

/** Milliseconds since the epoch that never go back, whatever the system's clock does. */
function steadyClock(): () => number {
  let last = 0
  return () => (last = Math.max(last, Date.now()))
}

/** The windows of the last minute, from the requests that were admitted in it. */
function rememberRates(rates: Rates, journal: readonly { at: number; body: string }[], now: number): void {
  for (const { at, body } of journal) {
    if (at < now - 62_000) continue
    for (const event of decodeEvents(body)) {
      if (event.kind !== 'held') continue
      const tokens = event.inputTokens
      rates.remember([`account:${event.account}`, `key:${event.key}`], event.at, tokens)
    }
  }
}

interface RestoredLedger {
  readonly state: LedgerState
  readonly rates: Rates
  readonly now: () => number
  readonly lastCommit: number
}

/** The state as of the last commit on disk, and the rates of the last minute. */
async function restoreLedger(store: Store): Promise<RestoredLedger> {
  const [read, overrun] = await Promise.all([store.readLedger(), overrunOnDisk(store.db)])
  const state = restoreState({
    holds: read.checkpoint?.holds ?? null,
    journal: read.journal.map((row) => row.body),
    owners: read.owners.map((row) => [row.id, storedOwner(row)] as const),
    overrun,
  })
  const now = steadyClock()
  const rates = new Rates()
  rememberRates(rates, read.journal, now())
  return { state, rates, now, lastCommit: read.lastSeq }
}

/** Opens a data directory, whose lock the caller holds. Ends the holds that were left open. */
export async function openCore(config: Config, listener: CoreListener): Promise<Core> {
  const store = await openStore({ dataDir: config.dataDir, onFailed: (why) => listener.failed(why) })
  const { db } = store
  const dataKey = await openDataKey(db, {
    dataDir: config.dataDir,
    encryptionKey: config.encryptionKey ?? undefined,
  })
  const sealer = sealerOf(dataKey)
  const [ledger, directory, catalog] = await Promise.all([
    restoreLedger(store),
    loadDirectory(db),
    loadCatalog(db, sealer),
  ])
  const { state, rates, now, lastCommit } = ledger
  const waiters = new CommitWaiters()
  const commits = new CommitQueue(
    state,
    {
      sink: store,
      now,
      listener: {
        durable(commit) {
          waiters.durable(commit)
          listener.durable(commit)
        },
        admitting(isOpen, why) {
          if (!isOpen) waiters.fail()
          listener.admitting(isOpen, why)
        },
        failed: (why) => listener.failed(why),
      },
    },
    lastCommit,
  )
  const durable = (commit: number): Promise<void> => {
    if (commit <= commits.durable) return Promise.resolve()
    if (!commits.admitting) return Promise.reject(refuse('service_unavailable'))
    commits.need(commit)
    return waiters.wait(commit)
  }
  const authority = new Authority({ state, commits, rates, directory, catalog, now })
  const credits = new Credits({ state, commits, now, durable, onDisk: (id) => creditOnDisk(db, id) })
  const leftOpen = [...state.holds.keys()]
  for (const id of leftOpen) authority.expire(id)
  await commits.drained()
  return {
    store,
    directory,
    catalog,
    sealer,
    dataKey,
    state,
    commits,
    authority,
    credits,
    rates,
    expired: leftOpen.length,
    async refresh(changes) {
      directory.apply(await loadDelta(db, changes))
      catalog.apply(await loadCatalogDelta(db, changes))
    },
    durable,
    async close() {
      await commits.drained()
      await store.close()
    },
  }
}
