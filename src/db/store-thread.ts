/**
 * The store thread: the only writer. It gathers what arrives from every port in one turn of its loop and commits it
 * as one group; once a second, and between groups, it makes roll-ups, drops what is over and checkpoints the WAL.
 */

import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import type { Reply, StatementResult, StoreRequest, ThreadNotice, ThreadOrder } from './messages.ts'
import { migrate } from './sqlite/migrate.ts'
import { RequestRetention } from './request-retention.ts'
import { openWriter, type Connection } from './sqlite/connection.ts'
import { StoreWriter } from './sqlite/store-writer.ts'
import { errorWords } from '../lib/error-message.ts'

/** Bounds the time that the first of a group waits for the last. */
const groupMax = 256
const maintenanceMs = 1000
/** Between two steps of deleting request rows, of which there may be millions. */
const restMs = 10
/** After an hour whose tokens were summed: some milliseconds of work, of which nobody waits for the last. */
const longRestMs = 100

interface Waiting {
  readonly port: MessagePort
  readonly request: StoreRequest
}

/** Gathers requests from all ports until the loop's turn ends, then commits them and answers. */
class CommitQueue {
  readonly #writer: StoreWriter
  readonly #tell: (notice: ThreadNotice) => void
  readonly #ports = new Set<MessagePort>()
  #waiting: Waiting[] = []
  #scheduled = false
  #told = false

  constructor(writer: StoreWriter, tell: (notice: ThreadNotice) => void) {
    this.#writer = writer
    this.#tell = tell
  }

  connect(port: MessagePort): void {
    this.#ports.add(port)
    port.on('message', (request: StoreRequest) => {
      this.#waiting.push({ port, request })
      this.#schedule()
    })
    port.on('close', () => this.#ports.delete(port))
  }

  /** Answers everything that was sent, then closes the ports. */
  close(): void {
    for (const port of this.#ports) {
      let left = receiveMessageOnPort(port)
      while (left !== undefined) {
        this.#waiting.push({ port, request: left.message as StoreRequest })
        left = receiveMessageOnPort(port)
      }
    }
    while (this.#waiting.length > 0) this.#runGroup()
    for (const port of this.#ports) port.close()
  }

  /** Tells the main thread, once, that the disk failed. */
  tellWhenBroken(): void {
    if (this.#writer.broken === undefined || this.#told) return
    this.#told = true
    this.#tell({ kind: 'failed', message: this.#writer.broken.message })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#runGroup()
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  #runGroup(): void {
    const group = this.#waiting.slice(0, groupMax)
    this.#waiting = this.#waiting.slice(groupMax)
    const outcomes = this.#writer.runGroup(group.map((waiting) => waiting.request))
    const replies = new Map<MessagePort, Reply<StatementResult[]>[]>()
    for (const [index, { port, request }] of group.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined) continue
      const list = replies.get(port) ?? []
      list.push({ id: request.id, ...outcome })
      replies.set(port, list)
    }
    for (const [port, list] of replies) port.postMessage(list)
    this.tellWhenBroken()
  }
}

function serve(connection: Connection, tell: (notice: ThreadNotice) => void): (order: ThreadOrder) => void {
  const writer = new StoreWriter(connection)
  const queue = new CommitQueue(writer, tell)
  let retention = new RequestRetention(0, () => {})
  let isTidying = false
  let resting: NodeJS.Timeout | undefined

  function dropRequests(): boolean {
    const { before } = retention
    if (before === null) return false
    const rows = writer.dropRequests(before)
    retention.note(rows)
    return rows > 0
  }

  function tidy(): void {
    // One step, then whoever waits, then the next step.
    isTidying = true
    if (writer.rollUp() || writer.dropExpired(Date.now())) setImmediate(tidy)
    else if (dropRequests()) resting = setTimeout(tidy, restMs)
    else if (writer.fillTokens()) resting = setTimeout(tidy, longRestMs)
    else {
      isTidying = false
      queue.tellWhenBroken()
    }
  }

  const clock = setInterval(() => {
    writer.checkpoint()
    if (!isTidying) tidy()
  }, maintenanceMs)

  return (order) => {
    if (order.kind === 'connect') {
      queue.connect(order.port)
      return
    }
    if (order.kind === 'keep') {
      retention = new RequestRetention(order.requestsMs, (requests) => tell({ kind: 'dropped', requests }))
      return
    }
    clearInterval(clock)
    clearTimeout(resting)
    queue.close()
    isTidying = false
    writer.checkpoint()
    connection.close()
    parentPort?.close()
  }
}

function start(parent: MessagePort, path: string): void {
  const tell = (notice: ThreadNotice): void => parent.postMessage(notice)
  try {
    const connection = openWriter(path)
    migrate(connection.database)
    parent.on('message', serve(connection, tell))
    tell({ kind: 'ready' })
  } catch (error) {
    tell({ kind: 'refused', message: errorWords(error) })
    parent.close()
  }
}

if (parentPort !== null) start(parentPort, String(workerData))
