/**
 * Reads the whole ledger in one snapshot on its own thread, so that the next page is read while the caller processes the
 * current one: journal rows with their hash chain verified, and as many entries and bills as the caller asks for.
 */

import { isMainThread, parentPort, workerData, Worker, type MessagePort } from 'node:worker_threads'
import { chainHash, chainGenesis } from '../journal.ts'
import { RowTextReader } from './ledger-row-text.ts'
import type { Row } from '../statement.ts'
import type { CheckpointsTable, DroppedBillsTable, OwnersTable } from '../schema/schema.ts'
import { cacheKiB, openReader, type Connection } from './connection.ts'

const pageRows = 500

/** Pages are short-lived, so a small young generation suffices; four times as much is no faster and stays allocated. */
export const resourceLimits = { maxYoungGenerationSizeMb: 16 }

/** How many entries and bills to read with the next page of the journal. */
export interface LedgerPageRequest {
  readonly entries: number
  readonly bills: number
}

export interface LedgerPage {
  /** The number of the first commit. */
  readonly seq: number
  /** The bodies of consecutive commits; empty at the end. */
  readonly bodies: readonly string[]
  readonly entries: string
  readonly bills: string
  /** False if the chain is broken in this page. */
  readonly isChained: boolean
}

/** Small tables, which are compared last. */
export interface LedgerSummary {
  readonly checkpoints: readonly CheckpointsTable[]
  readonly owners: readonly OwnersTable[]
  readonly droppedBills: readonly DroppedBillsTable[]
}

type LedgerReaderRequest = LedgerPageRequest | 'frame'

/** The client of the reading thread. */
export class LedgerReader {
  readonly #worker: Worker
  #response: PromiseWithResolvers<unknown> | null = null

  constructor(path: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { ledger: path }, resourceLimits })
    this.#worker.on('message', (response: unknown) => this.#response?.resolve(response))
    this.#worker.on('error', (error) => this.#response?.reject(error))
  }

  /** Only one request at a time. */
  async readPage(request: LedgerPageRequest): Promise<LedgerPage> {
    return (await this.#send(request)) as LedgerPage
  }

  async readSummary(): Promise<LedgerSummary> {
    return (await this.#send('frame')) as LedgerSummary
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #send(request: LedgerReaderRequest): Promise<unknown> {
    this.#response = Promise.withResolvers<unknown>()
    this.#worker.postMessage(request)
    // A caller that stops early does not wait for the page read ahead.
    this.#response.promise.catch(() => {})
    return this.#response.promise
  }
}

class LedgerPages {
  readonly #connection: Connection
  readonly #entries: RowTextReader
  readonly #bills: RowTextReader
  #seq = 0
  #hash = chainGenesis

  constructor(connection: Connection) {
    this.#connection = connection
    this.#entries = new RowTextReader(connection, 'entries')
    this.#bills = new RowTextReader(connection, 'bills')
  }

  readPage(request: LedgerPageRequest): LedgerPage {
    const sql = 'select seq, body, prev, hash from journal where seq > ? order by seq limit ?'
    const { rows } = this.#connection.run({ sql, parameters: [this.#seq, pageRows] })
    const seq = this.#seq + 1
    const bodies: string[] = []
    const isChained = rows.every((row) => this.#follows(row, bodies))
    return {
      seq,
      bodies,
      isChained,
      entries: this.#entries.next(request.entries),
      bills: this.#bills.next(request.bills),
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

  readSummary(): LedgerSummary {
    // STRICT tables guarantee the type.
    const rowsOf = <Table>(table: string): Table[] =>
      this.#connection.run({ sql: `select * from ${table}`, parameters: [] }).rows as Table[]
    return {
      checkpoints: rowsOf('checkpoints'),
      owners: rowsOf('owners'),
      droppedBills: rowsOf('dropped_bills'),
    }
  }
}

function serve(path: string, port: MessagePort): void {
  const connection = openReader(path, cacheKiB.readOnce)
  connection.database.exec('begin')
  const pages = new LedgerPages(connection)
  port.on('message', (request: LedgerReaderRequest) =>
    port.postMessage(request === 'frame' ? pages.readSummary() : pages.readPage(request)),
  )
}

/** Whether `LedgerReader` started this thread; other threads may import this file, too. */
function isLedgerReaderData(value: unknown): value is { ledger: string } {
  return typeof value === 'object' && value !== null && 'ledger' in value
}

if (!isMainThread && parentPort && isLedgerReaderData(workerData)) serve(workerData.ledger, parentPort)
