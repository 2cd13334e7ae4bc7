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
import { sql } from '../db/schema.ts'
import { openDataKey } from '../db/settings.ts'
import { openStore, type Store } from '../db/store.ts'
import { books } from '../ledger/entries.ts'
import type { LedgerState } from '../ledger/state.ts'
import type { Rates } from '../limits/rates.ts'
import { sealerOf, type Sealer } from '../lib/seal.ts'
import { Authority } from './authority.ts'
import { CommitWaiters } from './commit-waiters.ts'
import { CommitQueue } from './commit-queue.ts'
import { NodeHealth } from './node-health.ts'
import { Credits } from './credits.ts'
import { SpendNotices } from './spend-notices.ts'
import { restoreLedger, type RestoredLedger } from './restore-ledger.ts'

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
  readonly health: NodeHealth
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

async function creditOnDisk(db: Db, id: string): Promise<bigint | null> {
  const query = sql.selectFrom('entries').select(['amount_nanos', 'debit']).where('ref', '=', id)
  const row = await db.first(query.where('reason', 'is not', null))
  if (!row) return null
  return row.debit === books.funding ? row.amount_nanos : -row.amount_nanos
}

/** A clock that was set back by less is waited for; one that was set back further had been wrong, and is believed now. */
const setBackMostMs = 60_000
/** Subjects that have been quiet are forgotten so often. */
const sweepEveryMs = 60_000

/** Milliseconds since the epoch, which small corrections of the system's clock do not turn back. */
function wallClock(): () => number {
  let last = 0
  return () => {
    const now = Date.now()
    if (now > last || last - now > setBackMostMs) last = now
    return last
  }
}

/** Milliseconds since the epoch as of the start, and from then on by a clock that nobody sets. */
function steadyClock(): () => number {
  const startedAt = Date.now() - performance.now()
  return () => Math.floor(startedAt + performance.now())
}

/** The queue of commits, and the promise that one of them is on disk. */
function openCommits(
  { state, lastCommit }: RestoredLedger,
  { store, now, listener }: { store: Store; now: () => number; listener: CoreListener },
): Pick<Core, 'commits' | 'durable'> {
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
  return { commits, durable }
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
    restoreLedger(store, Date.now()),
    loadDirectory(db),
    loadCatalog(db, sealer),
  ])
  const { state, rates } = ledger
  const now = wallClock()
  const steady = steadyClock()
  const { commits, durable } = openCommits(ledger, { store, now, listener })
  const spending = new SpendNotices({ state, directory, db })
  const authority = new Authority({ state, commits, rates, directory, catalog, spending, now, steady })
  const onDisk = (id: string): Promise<bigint | null> => creditOnDisk(db, id)
  const credits = new Credits({ state, commits, now, durable, spending, onDisk })
  const health = new NodeHealth(catalog, Date.now)
  const leftOpen = [...state.holds.keys()]
  for (const id of leftOpen) authority.expire(id)
  await commits.drained()
  const sweeping = setInterval(() => rates.sweep(steady()), sweepEveryMs)
  sweeping.unref()
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
    health,
    expired: leftOpen.length,
    async refresh(changes) {
      directory.apply(await loadDelta(db, changes))
      catalog.apply(await loadCatalogDelta(db, changes))
    },
    durable,
    async close() {
      clearInterval(sweeping)
      health.close()
      await commits.drained()
      await spending.close()
      await store.close()
    },
  }
}
