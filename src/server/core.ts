/**
 * The heart of a node, on the main thread: the store and what was read from it, the ledger, the limits, the authority
 * over both. Workers, the control socket and the command line all stand on one of these.
 */
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { loadDirectory, type Directory } from '../accounts/directory.ts'
import { loadCatalog, type Catalog } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import { refuse } from '../errors.ts'
import type { Changes } from '../db/change.ts'
import type { DbAccess } from '../db/open-db.ts'
import type { Db } from '../db/db.ts'
import type { LedgerVerdict, NodeRecord, Wallet } from '../http/house.ts'
import type { RequestRow } from '../db/messages.ts'
import { sql } from '../db/schema/schema.ts'
import { openDataKey } from '../db/settings.ts'
import { databaseFileName, openStore, type Store } from '../db/store.ts'
import { checkNotMoved } from '../db/transfer/move-marker.ts'
import { books } from '../ledger/entries.ts'
import type { LedgerState } from '../ledger/state.ts'
import type { RateStatus } from '../limits/rate-limiter.ts'
import { sealerOf, type Sealer } from '../lib/encryption.ts'
import { Authority } from './ledger/authority.ts'
import { AuthorityPort } from './authority-port.ts'
import { CommitWaiters } from './commit-waiters.ts'
import { CommitQueue } from './ledger/commit-queue.ts'
import { NodeHealth } from './upstreams/upstream-health.ts'
import { Credits } from './ledger/credits.ts'
import { takeIn } from './copies.ts'
import { SpendNotices } from './ledger/spend-notifications.ts'
import { restoreLedger, type RestoredLedger } from './ledger/recovery.ts'
import { verifyInThread, watchInThread, type WatchListener } from './verify-thread.ts'
import type { LineDuties, WorkerLine } from './worker-line.ts'

/** Decides what workers ask beside requests. */
export interface Deciding {
  /** What an account, and within it a key, has now. */
  wallet(account: string, key: string | null): Wallet | Promise<Wallet>
  /** Takes a place in the rates for a request that costs nothing and is over at once. Throws the refusal. */
  takeRate(id: string, key: string): RateStatus | Promise<RateStatus>
  /** The ledger does not add up: nothing new is admitted until somebody has looked at it and started again. */
  distrust(): void
}

export interface Core {
  readonly store: { readonly db: Db }
  readonly directory: Directory
  readonly catalog: Catalog
  readonly sealer: Sealer
  readonly dataKey: Uint8Array
  /** The open holds of this node, and what could not be charged. */
  readonly state: Pick<LedgerState, 'holds' | 'overrun'>
  readonly commits: { readonly durable: number; readonly admitting: boolean }
  readonly authority: Deciding
  readonly credits: Pick<Credits, 'enter' | 'enterAs' | 'endTrial'>
  /** What this node has seen of its upstreams, and makes of it. */
  readonly health: NodeHealth
  /** Writes down, with the next commit, a call that no caller asked for. */
  record(row: RequestRow): void
  /** Holds that an earlier end of the process had left open, ended at this start. */
  readonly expired: number
  /** How a worker comes to the database; `ports` have to be transferred to it. */
  accessForWorker(): { readonly db: DbAccess; readonly ports: readonly MessagePort[] }
  /** The end of the line to a worker, with whoever decides behind it. */
  lineTo(port: MessagePort, duties: LineDuties): WorkerLine
  /** Whether everything is known here that was changed anywhere a second ago; waits for it a while. */
  isCurrent(): Promise<boolean>
  /** Takes in what a write has changed. */
  refresh(changes: Changes): Promise<void>
  /** What there is to measure beside what every node measures. */
  gauges(): readonly { readonly name: string; readonly help: string; readonly value: number }[]
  /** Whether this node does what one does for all. */
  leads(): boolean
  nodes(): Promise<readonly NodeRecord[]>
  /** Gives up a node; tells how many of its requests were settled. Throws a refusal where there is no such node. */
  retireNode(id: string): Promise<number>
  /** Recomputes the whole ledger, beside everything else. */
  verify(): Promise<LedgerVerdict>
  /** Recomputes what has come to the ledger, again and again, until what is returned is called. */
  watch(everyMs: number, listener: WatchListener): () => Promise<void>
  /** Waits for what is under way, and closes the store. */
  close(): Promise<void>
}

export interface CoreListener {
  durable(commit: number): void
  admitting(isOpen: boolean, why: string): void
  /** The disk cannot be trusted any more: the process has to end. */
  failed(why: string): void
  /** Another node has changed this; resolves when every thread works with it. */
  changed(changes: Changes): Promise<void>
  /** Request rows were deleted that were older than `REQUEST_RETENTION`. */
  dropped(requests: number): void
  /** What an operator may want to know. */
  noted(what: string, about: object): void
}

/** For a command that opens a core and closes it again: nobody is there to be told, and a store that fails ends it. */
export const nobody: CoreListener = {
  durable: () => undefined,
  admitting: () => undefined,
  changed: () => Promise.resolve(),
  dropped: () => undefined,
  noted: () => undefined,
  failed(why) {
    throw new Error(`The store has failed: ${why}`)
  },
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
export function wallClock(): () => number {
  let last = 0
  return () => {
    const now = Date.now()
    if (now > last || last - now > setBackMostMs) last = now
    return last
  }
}

/** Milliseconds since the epoch as of the start, and from then on by a clock that nobody sets. */
export function steadyClock(): () => number {
  const startedAt = Date.now() - performance.now()
  return () => Math.floor(startedAt + performance.now())
}

/** The queue of commits, and the promise that one of them is on disk. */
function openCommits(
  { state, lastCommit }: RestoredLedger,
  { store, now, listener }: { store: Store; now: () => number; listener: CoreListener },
): { commits: CommitQueue; durable: (commit: number) => Promise<void> } {
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

/** What there is to say of other nodes where there are none. */
const byItself: Pick<Core, 'gauges' | 'isCurrent' | 'leads' | 'nodes' | 'retireNode'> = {
  gauges: () => [],
  isCurrent: () => Promise.resolve(true),
  leads: () => true,
  nodes: () => Promise.resolve([]),
  retireNode: () =>
    Promise.reject(refuse('not_found', { message: 'This relay is not a node of a cluster.' })),
}

/** Throws where everything in the directory lives elsewhere now. */
async function openStoreOf(config: Config, listener: CoreListener): Promise<Store> {
  const store = await openStore({
    dataDir: config.dataDir,
    requestsKeptMs: config.requestsKeptMs,
    onDropped: (requests) => listener.dropped(requests),
    onFailed: (why) => listener.failed(why),
  })
  try {
    await checkNotMoved(store.db)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Opens a data directory, whose lock the caller holds. Ends the holds that were left open. */
export async function openEmbeddedCore(config: Config, listener: CoreListener): Promise<Core> {
  const store = await openStoreOf(config, listener)
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
  const path = join(config.dataDir, databaseFileName)
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
    health,
    expired: leftOpen.length,
    accessForWorker() {
      const access = store.portsForWorker()
      return { db: access, ports: [access.writer, access.reader, access.reporter] }
    },
    ...byItself,
    record: (row) => void commits.addRequest(row),
    lineTo: (port, duties) => new AuthorityPort(port, { authority, commits }, duties),
    verify: () => verifyInThread(path),
    watch: (everyMs, watcher) => watchInThread(path, everyMs, watcher),
    refresh: (changes) => takeIn({ db, sealer, directory, catalog }, changes),
    async close() {
      clearInterval(sweeping)
      health.close()
      await commits.drained()
      await spending.close()
      await store.close()
    },
  }
}
