/**
 * The store thread, the only writer. It commits all requests that arrive in one turn of its event loop as one group.
 * Once a second, between groups, it updates roll-ups, deletes expired rows and checkpoints the WAL.
 */

import type { Statement, StatementResult } from '../statement.ts'
import { StoreError } from '../store-error.ts'
import { RequestRetention } from '../retention/request-retention.ts'
import { openWriter } from './connection.ts'
import { migrateSqlite } from './migrate.ts'
import type { PackedCommit } from './packed-commit.ts'
import type { WriterService } from './port-db.ts'
import { serveStoreThread, type OpenedService } from './serve-store-thread.ts'
import { StoreWriter, type MaintenanceSteps, type StoreRequest } from './store-writer.ts'

export interface StoreThreadOptions {
  /** The path of the database. */
  readonly path: string
  /** The URL of a module that exports `maintenanceSteps`; null: none. */
  readonly maintenanceModule: string | null
  /** Request rows older than this are deleted; 0: none. */
  readonly requestRetentionMs: number
}

/** What the main thread offers to the store thread. */
export interface StoreEvents {
  readonly events: {
    /** Old request rows were deleted. */
    requestsDeleted(requests: number): void
    failed(reason: string): void
  }
}

/** Bounds how long the first request of a group waits for the last. */
const maxGroupSize = 256
const maintenanceMs = 1000
/** The pause between two steps of deleting request rows, of which there may be millions. */
const deletePauseMs = 10
/** The pause after the tokens of an hour were summed, a few milliseconds of work that is not urgent. */
const tokenPauseMs = 100

interface QueuedRequest extends PromiseWithResolvers<StatementResult[]> {
  readonly request: StoreRequest
}

/** Queues requests until the turn of the event loop ends, then commits them. */
class WriteQueue implements WriterService {
  readonly #writer: StoreWriter
  readonly #onFailed: (reason: string) => void
  #queue: QueuedRequest[] = []
  #isFailureReported = false

  constructor(writer: StoreWriter, onFailed: (reason: string) => void) {
    this.#writer = writer
    this.#onFailed = onFailed
  }

  write(statements: readonly Statement[]): Promise<StatementResult[]> {
    return this.#add({ kind: 'write', statements })
  }

  commit(commit: PackedCommit): Promise<StatementResult[]> {
    return this.#add({ kind: 'commit', commit })
  }

  /** Reports a failed disk to the main thread, once. */
  reportFailure(): void {
    if (this.#writer.failure === undefined || this.#isFailureReported) return
    this.#isFailureReported = true
    this.#onFailed(this.#writer.failure.message)
  }

  #add(request: StoreRequest): Promise<StatementResult[]> {
    const outcome = Promise.withResolvers<StatementResult[]>()
    this.#queue.push({ request, ...outcome })
    if (this.#queue.length === 1) setImmediate(() => this.#runGroup())
    return outcome.promise
  }

  #runGroup(): void {
    const group = this.#queue.slice(0, maxGroupSize)
    this.#queue = this.#queue.slice(maxGroupSize)
    const outcomes = this.#writer.runGroup(group.map(({ request }) => request))
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined) continue
      if ('failure' in outcome) reject(new StoreError(outcome.failure))
      else resolve(outcome.result)
    }
    this.reportFailure()
    if (this.#queue.length > 0) setImmediate(() => this.#runGroup())
  }
}

async function loadMaintenance(url: string | null): Promise<MaintenanceSteps | undefined> {
  if (url === null) return undefined
  const { maintenanceSteps } = (await import(url)) as { readonly maintenanceSteps?: MaintenanceSteps }
  if (maintenanceSteps === undefined) throw new Error(`${url} does not export maintenanceSteps.`)
  return maintenanceSteps
}

/** Returns the function that stops it. */
function startMaintenance(writer: StoreWriter, retention: RequestRetention, onIdle: () => void): () => void {
  let isMaintaining = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined

  function deleteOldRequests(): boolean {
    const { cutoff } = retention
    if (cutoff === null) return false
    const rows = writer.deleteRequests(cutoff)
    retention.recordDeleted(rows)
    return rows > 0
  }

  function maintain(): void {
    if (isStopped) return
    // One step at a time; waiting requests run between two steps.
    isMaintaining = true
    if (writer.rollUp() || writer.deleteExpiredResponses(Date.now())) setImmediate(maintain)
    else if (deleteOldRequests()) timer = setTimeout(maintain, deletePauseMs)
    else if (writer.backfillTokens()) timer = setTimeout(maintain, tokenPauseMs)
    else {
      isMaintaining = false
      onIdle()
    }
  }

  const interval = setInterval(() => {
    writer.checkpoint()
    if (!isMaintaining) maintain()
  }, maintenanceMs)
  return () => {
    isStopped = true
    clearInterval(interval)
    clearTimeout(timer)
  }
}

/** Opens and migrates the database of this thread. */
export async function openWriterService(
  { path, maintenanceModule, requestRetentionMs }: StoreThreadOptions,
  events: StoreEvents['events'],
): Promise<OpenedService> {
  const steps = await loadMaintenance(maintenanceModule)
  const connection = openWriter(path)
  migrateSqlite(connection.database)
  const writer = new StoreWriter(connection, steps)
  const store = new WriteQueue(writer, (reason) => events.failed(reason))
  const retention = new RequestRetention(requestRetentionMs, (requests) => events.requestsDeleted(requests))
  const stopMaintenance = startMaintenance(writer, retention, () => store.reportFailure())
  return {
    store,
    close() {
      stopMaintenance()
      writer.checkpoint()
      connection.close()
    },
  }
}

serveStoreThread<StoreThreadOptions, StoreEvents>((options, main) =>
  openWriterService(options, {
    failed: (reason) => main.send('events', 'failed', reason),
    requestsDeleted: (requests) => main.send('events', 'requestsDeleted', requests),
  }),
)
