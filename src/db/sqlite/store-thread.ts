/**
 * The store thread, the only writer. It commits all requests that arrive in one turn of its event loop as one group.
 * Once a second, between groups, it updates roll-ups, deletes expired rows and checkpoints the WAL.
 */

import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import type {
  StoreRequest,
  StoreThreadData,
  StoreThreadEvent,
  StoreThreadRequest,
  ThreadResponse,
} from './thread-protocol.ts'
import type { StatementResult } from '../statement.ts'
import { migrateSqlite } from './migrate.ts'
import { RequestRetention } from '../retention/request-retention.ts'
import { openWriter, type Connection } from './connection.ts'
import { StoreWriter, type MaintenanceSteps } from './store-writer.ts'
import { errorMessage } from '../../lib/error-message.ts'

/** Bounds how long the first request of a group waits for the last. */
const maxGroupSize = 256
const maintenanceMs = 1000
/** The pause between two steps of deleting request rows, of which there may be millions. */
const deletePauseMs = 10
/** The pause after the tokens of an hour were summed, a few milliseconds of work that is not urgent. */
const tokenPauseMs = 100

interface QueuedRequest {
  readonly port: MessagePort
  readonly request: StoreRequest
}

/** Queues requests from all ports until the turn of the event loop ends, then commits them and responds. */
class WriteQueue {
  readonly #writer: StoreWriter
  readonly #emit: (event: StoreThreadEvent) => void
  readonly #ports = new Set<MessagePort>()
  #queue: QueuedRequest[] = []
  #isScheduled = false
  #isFailureReported = false

  constructor(writer: StoreWriter, emit: (event: StoreThreadEvent) => void) {
    this.#writer = writer
    this.#emit = emit
  }

  connect(port: MessagePort): void {
    this.#ports.add(port)
    port.on('message', (request: StoreRequest) => {
      this.#queue.push({ port, request })
      this.#schedule()
    })
    port.on('close', () => this.#ports.delete(port))
  }

  /** Responds to everything that was sent, then closes the ports. */
  close(): void {
    for (const port of this.#ports) {
      let message = receiveMessageOnPort(port)
      while (message !== undefined) {
        this.#queue.push({ port, request: message.message as StoreRequest })
        message = receiveMessageOnPort(port)
      }
    }
    while (this.#queue.length > 0) this.#runGroup()
    for (const port of this.#ports) port.close()
  }

  /** Reports a failed disk to the main thread, once. */
  reportFailure(): void {
    if (this.#writer.failure === undefined || this.#isFailureReported) return
    this.#isFailureReported = true
    this.#emit({ kind: 'failed', message: this.#writer.failure.message })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#runGroup()
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  #runGroup(): void {
    const group = this.#queue.slice(0, maxGroupSize)
    this.#queue = this.#queue.slice(maxGroupSize)
    const outcomes = this.#writer.runGroup(group.map((waiting) => waiting.request))
    const responses = new Map<MessagePort, ThreadResponse<StatementResult[]>[]>()
    for (const [index, { port, request }] of group.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined) continue
      const list = responses.get(port) ?? []
      list.push({ id: request.id, ...outcome })
      responses.set(port, list)
    }
    for (const [port, list] of responses) port.postMessage(list)
    this.reportFailure()
  }
}

function serve(
  connection: Connection,
  writer: StoreWriter,
  emit: (event: StoreThreadEvent) => void,
): (request: StoreThreadRequest) => void {
  const queue = new WriteQueue(writer, emit)
  let retention = new RequestRetention(0, () => {})
  let isMaintaining = false
  let maintenanceTimer: NodeJS.Timeout | undefined

  function deleteOldRequests(): boolean {
    const { cutoff } = retention
    if (cutoff === null) return false
    const rows = writer.deleteRequests(cutoff)
    retention.recordDeleted(rows)
    return rows > 0
  }

  function maintain(): void {
    // One step at a time; waiting requests run between two steps.
    isMaintaining = true
    if (writer.rollUp() || writer.deleteExpiredResponses(Date.now())) setImmediate(maintain)
    else if (deleteOldRequests()) maintenanceTimer = setTimeout(maintain, deletePauseMs)
    else if (writer.backfillTokens()) maintenanceTimer = setTimeout(maintain, tokenPauseMs)
    else {
      isMaintaining = false
      queue.reportFailure()
    }
  }

  const maintenanceInterval = setInterval(() => {
    writer.checkpoint()
    if (!isMaintaining) maintain()
  }, maintenanceMs)

  return (request) => {
    if (request.kind === 'connect') {
      queue.connect(request.port)
      return
    }
    if (request.kind === 'retain') {
      retention = new RequestRetention(request.requestsMs, (requests) =>
        emit({ kind: 'requestsDeleted', requests }),
      )
      return
    }
    clearInterval(maintenanceInterval)
    clearTimeout(maintenanceTimer)
    queue.close()
    isMaintaining = false
    writer.checkpoint()
    connection.close()
    parentPort?.close()
  }
}

async function loadMaintenance(url: string | null): Promise<MaintenanceSteps | undefined> {
  if (url === null) return undefined
  const { maintenanceSteps } = (await import(url)) as { readonly maintenanceSteps?: MaintenanceSteps }
  if (maintenanceSteps === undefined) throw new Error(`${url} does not export maintenanceSteps.`)
  return maintenanceSteps
}

async function start(parent: MessagePort, { path, maintenanceModule }: StoreThreadData): Promise<void> {
  const emit = (event: StoreThreadEvent): void => parent.postMessage(event)
  try {
    const maintenance = await loadMaintenance(maintenanceModule)
    const connection = openWriter(path)
    migrateSqlite(connection.database)
    parent.on('message', serve(connection, new StoreWriter(connection, maintenance), emit))
    emit({ kind: 'ready' })
  } catch (error) {
    emit({ kind: 'startFailed', message: errorMessage(error) })
    parent.close()
  }
}

if (parentPort !== null) await start(parentPort, workerData as StoreThreadData)
