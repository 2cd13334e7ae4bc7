/**
 * Recomputes the ledger from its journal, as it is on disk, and compares the tables with it: the whole of it, or what
 * has come since the last look.
 */
import type { Selectable } from 'kysely'
import { chainStart } from '../../db/journal.ts'
import type { Db } from '../../db/db.ts'
import { journalAfter, ChainError } from '../../db/read-ledger.ts'
import { sql, type EntriesTable } from '../../db/schema/schema.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { LedgerBroken } from '../../ledger/apply.ts'
import type { Transfer } from '../../ledger/entries.ts'
import { JournalUnreadable } from '../../ledger/journal.ts'
import { emptyState } from '../../ledger/state.ts'
import { Recomputation, sumOfDropped, type BillOnDisk, type DroppedBills } from '../../ledger/verify.ts'
import { storedOwner } from '../ledger/recovery.ts'

const pageRows = 2000

interface Page<Row> {
  readonly rows: Row[]
  readonly last: number
}

/** Rows of one table in the order of their number, read ahead in pages. */
class Cursor<Row> {
  readonly #read: (db: Db, after: number) => Promise<Page<Row>>
  #rows: Row[] = []
  #next = 0
  #after: number

  constructor(read: (db: Db, after: number) => Promise<Page<Row>>, after: number) {
    this.#read = read
    this.#after = after
  }

  /** The number of the last row that was read. */
  get after(): number {
    return this.#after
  }

  /** The next row, without taking it; undefined at the end. */
  async peek(db: Db): Promise<Row | undefined> {
    if (this.#next === this.#rows.length) {
      const { rows, last } = await this.#read(db, this.#after)
      this.#rows = rows
      this.#next = 0
      this.#after = last
    }
    return this.#rows[this.#next]
  }

  take(): void {
    this.#next += 1
  }
}

interface NumberedTransfer {
  readonly seq: number
  readonly transfer: Transfer
}

/** Column by column: there are a million, and a spread costs as much as reading the row. */
export function transferOf(row: Selectable<EntriesTable>): Transfer {
  return {
    at: row.at,
    debit: row.debit,
    credit: row.credit,
    amount: row.amount_nanos,
    kind: row.kind as Transfer['kind'],
    account: row.account_id ?? '',
    ref: row.ref ?? '',
    reason: row.reason,
    source: row.source as Transfer['source'],
  }
}

async function entriesAfter(db: Db, after: number): Promise<Page<NumberedTransfer>> {
  const query = sql.selectFrom('entries').selectAll().where('id', '>', after)
  const found = await db.report(query.orderBy('id').limit(pageRows))
  const rows = found.map((row) => ({ seq: row.seq, transfer: transferOf(row) }))
  return { rows, last: found.at(-1)?.id ?? after }
}

/** A request row as a bill, and its number. */
export interface BillRow extends BillOnDisk {
  readonly rowId: number
}

/** Asks for request rows as `billOf` reads them. */
export const selectBills = () =>
  sql
    .selectFrom('requests')
    .select(['row_id', 'request_id', 'cost_nanos', 'prompt_tokens', 'cached_tokens'])
    .select(['completion_tokens', 'reasoning_tokens'])

type SelectedBill = Awaited<ReturnType<ReturnType<typeof selectBills>['execute']>>[number]

export function billOf(row: SelectedBill): BillRow {
  return {
    rowId: row.row_id,
    id: row.request_id,
    cost: row.cost_nanos,
    input: row.prompt_tokens,
    cachedInput: row.cached_tokens,
    output: row.completion_tokens,
    reasoning: row.reasoning_tokens,
  }
}

async function billsAfter(db: Db, after: number): Promise<Page<BillOnDisk>> {
  const query = selectBills().where('row_id', '>', after).where('cost_nanos', '<>', 0n)
  const rows = (await db.report(query.orderBy('row_id').limit(pageRows))).map(billOf)
  return { rows, last: rows.at(-1)?.rowId ?? after }
}

/** Where a reading begins: after this commit, in the state that it left, after these rows. */
export interface Beginning {
  readonly recomputation: Recomputation
  readonly seq: number
  readonly hash: Uint8Array
  readonly entryId: number
  readonly rowId: number
}

const veryBeginning = (dropped: DroppedBills): Beginning => ({
  recomputation: new Recomputation(emptyState(), dropped),
  seq: 0,
  hash: chainStart,
  entryId: 0,
  rowId: 0,
})

/** What of the journal has been read and compared, from a beginning on. */
export class Reading {
  readonly #recomputation: Recomputation
  readonly #entries: Cursor<NumberedTransfer>
  readonly #bills: Cursor<BillOnDisk>
  #seq: number
  #hash: Uint8Array
  #broken = false

  constructor(begin: Beginning) {
    this.#recomputation = begin.recomputation
    this.#entries = new Cursor(entriesAfter, begin.entryId)
    this.#bills = new Cursor(billsAfter, begin.rowId)
    this.#seq = begin.seq
    this.#hash = begin.hash
  }

  /** The number of the last request row that cost something and was read. */
  get rowId(): number {
    return this.#bills.after
  }

  /** Reads to the end of the journal and compares. `db` has to see a single moment. Once broken, always broken. */
  async follow(db: Db): Promise<LedgerVerdict> {
    try {
      if (!this.#broken) await this.#read(db)
    } catch (error) {
      const isFinding =
        error instanceof ChainError || error instanceof LedgerBroken || error instanceof JournalUnreadable
      if (!isFinding) throw error
      this.#broken = true
      this.#recomputation.find(error.message)
    }
    const owners = await db.report(sql.selectFrom('owners').selectAll())
    return this.#recomputation.verdict(owners.map((row) => [row.id, storedOwner(row)] as const))
  }

  async #read(db: Db): Promise<void> {
    const checkpoints = await db.report(sql.selectFrom('checkpoints').select(['seq', 'holds']))
    const holdsAt = new Map(checkpoints.map(({ seq, holds }) => [seq, holds]))
    for await (const { seq, body, prev, hash } of journalAfter(db, this.#seq)) {
      if (Buffer.compare(prev, this.#hash) !== 0) throw new ChainError(seq)
      const entries = await this.#entriesOf(db, seq)
      this.#recomputation.take({ seq, body, entries, holds: holdsAt.get(seq) })
      this.#seq = seq
      this.#hash = hash
      if (this.#recomputation.awaited > 0) await this.#readBills(db, () => this.#recomputation.awaited === 0)
    }
    await this.#entriesOf(db, Infinity)
    await this.#readBills(db, () => false)
  }

  /** The entries of a commit; those of commits before it that the journal does not have are noted. */
  async #entriesOf(db: Db, seq: number): Promise<Transfer[]> {
    const entries: Transfer[] = []
    for (;;) {
      const next = await this.#entries.peek(db)
      if (!next || next.seq > seq) return entries
      if (next.seq === seq) entries.push(next.transfer)
      else
        this.#recomputation.find(
          `an entry of ${next.transfer.ref} belongs to no commit`,
          next.transfer.amount,
        )
      this.#entries.take()
    }
  }

  async #readBills(db: Db, isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const row = await this.#bills.peek(db)
      if (!row) return
      this.#recomputation.takeBill(row)
      this.#bills.take()
    }
  }
}

/** The whole ledger. `db`: one that sees a single moment, or the journal and the tables would be of two. */
export async function verifyLedger(db: Db): Promise<LedgerVerdict> {
  const dropped = sumOfDropped(await db.report(sql.selectFrom('dropped_bills').selectAll()))
  return new Reading(veryBeginning(dropped)).follow(db)
}
