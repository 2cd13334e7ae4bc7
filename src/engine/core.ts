/**
 * The core of a node, on the main thread: the store and what was loaded from it, the ledger, the limits, and the authority
 * over both. Workers, the control socket and the command line all use it. One node alone: embedded-core.ts; a node of a
 * cluster: cluster/cluster-core.ts.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Histogram } from '@prometheus-io/client'
import type { Directory } from '../accounts/directory.ts'
import type { CurrentBranding } from '../branding/branding.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Changes } from '../db/change.ts'
import type { DbAccess } from '../db/open-db.ts'
import type { Db } from '../db/db.ts'
import type { NodeRecord } from '../db/postgres/nodes.ts'
import type { RequestRow } from '../db/ledger-commit.ts'
import type { LedgerState } from '../ledger/state.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { UpstreamHealth } from '../relay/upstreams/upstream-health.ts'
import type { Authority } from './authority.ts'
import type { ConfigDelta } from './config-cache.ts'
import type { Credits } from './credits.ts'
import type { ChargeListener } from './spend-notifications.ts'
import type { LedgerReport } from './verification/replay.ts'
import type { MonitorListener } from './verification/verify-thread.ts'
import type { WorkerLedger, WorkerLedgerDeps } from './worker-ledger.ts'

export interface Core {
  /** The id of this node; null for a single relay. */
  readonly nodeId: string | null
  readonly store: { readonly db: Db }
  /** The platform's currency, ISO 4217. */
  readonly currency: string
  readonly directory: Directory
  readonly catalog: Catalog
  readonly branding: CurrentBranding
  readonly sealer: Sealer
  /** The open holds of this node, and what could not be charged. */
  readonly state: Pick<LedgerState, 'holds' | 'overrun'>
  readonly commits: { readonly durable: number; readonly isAdmitting: boolean; readonly latency: Histogram }
  readonly authority: Authority
  readonly credits: Pick<Credits, 'enter' | 'enterWithId' | 'endTrial' | 'takeBack'>
  /** The health of upstreams as this node sees it. */
  readonly health: UpstreamHealth
  /** Writes, with the next commit, the row of a call that had no hold: a rejected one, or one that no caller requested. */
  recordRequest(row: RequestRow): void
  /** `listener`: the only one. It learns of the charges that this node settles. */
  listenToCharges(listener: ChargeListener): void
  /** How many holds an earlier process left open; this start has ended them. */
  readonly recoveredHolds: number
  /** A worker's access to the database; `ports` must be transferred to it. */
  workerDbAccess(): { readonly db: DbAccess; readonly ports: readonly MessagePort[] }
  /** The main thread's channel to a worker. */
  openWorkerLedger(deps: WorkerLedgerDeps): WorkerLedger
  /** Whether this node has applied all changes up to a second ago; waits for them a short time. */
  isCurrent(): Promise<boolean>
  /** Reads changes of the configuration that were written to the database; resolves when every thread has applied them. */
  publishChanges(changes: Changes): Promise<void>
  /** Metrics beyond those of every node. */
  gauges(): readonly { readonly name: string; readonly help: string; readonly value: number }[]
  /** Whether this node runs the jobs of the leader. */
  isLeader(): boolean
  nodes(): Promise<readonly NodeRecord[]>
  /** Retires a node. Returns how many of its holds were settled. Throws an ApiError if it is not found. */
  retireNode(id: string): Promise<number>
  /** Recomputes the whole ledger on a thread of its own. */
  verifyLedger(): Promise<LedgerReport>
  /** Recomputes new commits of the ledger periodically. The returned function stops it. */
  monitorLedger(everyMs: number, listener: MonitorListener): () => Promise<void>
  /** Waits for what is in flight, and closes the store. */
  close(): Promise<void>
}

export interface CoreListener {
  onDurable(commit: number): void
  onAdmissionChange(isOpen: boolean, why: string): void
  /** The disk cannot be trusted any more: the process must exit. */
  onFailure(why: string): void
  /** The configuration has changed. Resolves when every worker has applied the delta. */
  onConfigDelta(delta: ConfigDelta): Promise<void>
  /** Request rows older than `REQUEST_RETENTION` were deleted. */
  onRequestsDeleted(requests: number): void
  /** An event that operators should know of. */
  onWarning(what: string, about: object): void
}

/** For a command that opens a core for a short time: it ignores events, and a failed store ends it. */
export const noopCoreListener: CoreListener = {
  onDurable: () => undefined,
  onAdmissionChange: () => undefined,
  onConfigDelta: () => Promise.resolve(),
  onRequestsDeleted: () => undefined,
  onWarning: () => undefined,
  onFailure(why) {
    throw new Error(`Store failed: ${why}`)
  },
}

/** If the system clock steps back by at most this, time stands still until it catches up; a larger step is followed. */
const maxClockStepBackMs = 60_000
/** Milliseconds since the epoch, which small corrections of the system clock do not turn back. */
export function wallClock(systemNow: () => number = Date.now): () => number {
  let last = 0
  return () => {
    const now = systemNow()
    if (now > last || last - now > maxClockStepBackMs) last = now
    return last
  }
}

/** Milliseconds since the epoch at the start of the process, continued by a monotonic clock. */
export function monotonicClock(): () => number {
  const startedAt = Date.now() - performance.now()
  return () => Math.floor(startedAt + performance.now())
}
