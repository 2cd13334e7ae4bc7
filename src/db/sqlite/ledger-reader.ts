/**
 * Reads the whole ledger at one moment, on a thread of its own: the next part of the journal, its chain checked, while
 * whoever asked still works on the last one; and as many entries and bills as it has found there.
 */

import { isMainThread, parentPort, workerData, Worker, type MessagePort } from 'node:worker_threads'
import { chainHash, chainStart } from '../journal.ts'
import { RowsAsText } from './ledger-row-text.ts'
import type { Row } from '../messages.ts'
import type { CheckpointsTable, DroppedBillsTable, OwnersTable } from '../schema/schema.ts'
import { cacheKiB, openReader, type Connection } from './connection.ts'

const pageRows = 500

/** What is read is soon forgotten, so little room is enough; with four times as much it is no faster, and the process keeps it. */
export const resourceLimits = { maxYoungGenerationSizeMb: 16 }

/** How many entries and bills to read with the next part of the journal. */
export interface PageAsk {
  readonly entries: number
  readonly bills: number
}

export interface LedgerPage {
  /** The number of the first commit. */
  readonly seq: number
  /** The bodies of commits that follow one another; empty at the end. */
  readonly bodies: readonly string[]
  readonly entries: string
  readonly bills: string
  /** False: the chain is broken in this part. */
  readonly isChained: boolean
}

/** What is small, and compared last. */
export interface LedgerFrame {
  readonly checkpoints: readonly CheckpointsTable[]
  readonly owners: readonly OwnersTable[]
  readonly dropped: readonly DroppedBillsTable[]
}

type Ask = PageAsk | 'frame'

/** The other side of the thread. */
export class LedgerReader {
  readonly #worker: Worker
  #answer: PromiseWithResolvers<unknown> | null = null

  constructor(path: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { ledger: path }, resourceLimits })
    this.#worker.on('message', (answer: unknown) => this.#answer?.resolve(answer))
    this.#worker.on('error', (error) => this.#answer?.reject(error))
  }

  /** One question at a time. */
  async page(ask: PageAsk): Promise<LedgerPage> {
    return (await this.#ask(ask)) as LedgerPage
  }

  async frame(): Promise<LedgerFrame> {
    return (await this.#ask('frame')) as LedgerFrame
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #ask(ask: Ask): Promise<unknown> {
    this.#answer = Promise.withResolvers<unknown>()
    this.#worker.postMessage(ask)
    // Who has seen enough no longer waits for what was read ahead.
    this.#answer.promise.catch(() => {})
    return this.#answer.promise
  }
}

class Pages {
  readonly #connection: Connection
  readonly #entries: RowsAsText
  readonly #bills: RowsAsText
  #seq = 0
  #hash = chainStart

  constructor(connection: Connection) {
    this.#connection = connection
    this.#entries = new RowsAsText(connection, 'entries')
    this.#bills = new RowsAsText(connection, 'bills')
  }

  read(ask: PageAsk): LedgerPage {
    const sql = 'select seq, body, prev, hash from journal where seq > ? order by seq limit ?'
    const { rows } = this.#connection.run({ sql, parameters: [this.#seq, pageRows] })
    const seq = this.#seq + 1
    const bodies: string[] = []
    const isChained = rows.every((row) => this.#follows(row, bodies))
    return {
      seq,
      bodies,
      isChained,
      entries: this.#entries.next(ask.entries),
      bills: this.#bills.next(ask.bills),
    }
  }

  #follows({ seq, body, prev, hash }: Row, bodies: string[]): boolean {
    if (seq !== this.#seq + 1 || typeof body !== 'string') return false
    if (!(prev instanceof Uint8Array) || !(hash instanceof Uint8Array)) return false
    if (Buffer.compare(prev, this.#hash) !== 0) return false
    if (Buffer.compare(hash, chainHash(this.#hash, body)) !== 0) return false
    this.#seq = seq
    this.#hash = hash
    bodies.push(body)
    return true
  }

  frame(): LedgerFrame {
    // STRICT tables make it true.
    const rowsOf = <Table>(table: string): Table[] =>
      this.#connection.run({ sql: `select * from ${table}`, parameters: [] }).rows as Table[]
    return {
      checkpoints: rowsOf('checkpoints'),
      owners: rowsOf('owners'),
      dropped: rowsOf('dropped_bills'),
    }
  }
}

function serve(path: string, port: MessagePort): void {
  const connection = openReader(path, cacheKiB.readOnce)
  connection.database.exec('begin')
  const pages = new Pages(connection)
  port.on('message', (ask: Ask) => port.postMessage(ask === 'frame' ? pages.frame() : pages.read(ask)))
}

/** As `LedgerReader` started it; other threads may have imported this file. */
function isBirth(value: unknown): value is { ledger: string } {
  return typeof value === 'object' && value !== null && 'ledger' in value
}

if (!isMainThread && parentPort && isBirth(workerData)) serve(workerData.ledger, parentPort)
