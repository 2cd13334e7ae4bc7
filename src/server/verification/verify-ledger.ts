/**
 * Recomputes the ledger from the journal on disk, and compares the tables with it: the whole ledger, or what is new since
 * the last check.
 */
import type { Selectable } from 'kysely'
import { chainGenesis } from '../../db/journal.ts'
import type { Db } from '../../db/db.ts'
import { readJournalAfter, JournalChainError } from '../../db/read-ledger.ts'
import { sql, type EntriesTable } from '../../db/schema/schema.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { LedgerInvariantError } from '../../ledger/apply.ts'
import type { Transfer } from '../../ledger/entries.ts'
import { JournalFormatError } from '../../ledger/journal.ts'
import { emptyState } from '../../ledger/state.ts'
import { LedgerVerifier, sumDroppedBills, type StoredBill, type DroppedBills } from '../../ledger/verify.ts'
import { storedOwner } from '../ledger/recovery.ts'

const pageRows = 2000

interface Page<Row> {
  readonly rows: Row[]
  readonly last: number
}

/** The rows of one table in the order of their numbers, read ahead in pages. */
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

  /** The next row, without advancing; undefined at the end. */
  async peek(db: Db): Promise<Row | undefined> {
    if (this.#next === this.#rows.length) {
      const { rows, last } = await this.#read(db, this.#after)
      this.#rows = rows
      this.#next = 0
      this.#after = last
    }
    return this.#rows[this.#next]
  }

  advance(): void {
    this.#next += 1
  }
}

interface NumberedTransfer {
  readonly seq: number
  readonly transfer: Transfer
}

/** Column by column: there may be a million rows, and a spread costs as much as reading the row. */
export function toTransfer(row: Selectable<EntriesTable>): Transfer {
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
  const rows = found.map((row) => ({ seq: row.seq, transfer: toTransfer(row) }))
  return { rows, last: found.at(-1)?.id ?? after }
}

/** A request row as a bill, with its number. */
export interface BillRow extends StoredBill {
  readonly rowId: number
}

/** Selects the columns of request rows that `toBill` reads. */
export const selectBillRows = () =>
  sql
    .selectFrom('requests')
    .select(['row_id', 'request_id', 'cost_nanos', 'prompt_tokens', 'cached_tokens'])
    .select(['completion_tokens', 'reasoning_tokens'])

type SelectedBill = Awaited<ReturnType<ReturnType<typeof selectBillRows>['execute']>>[number]

export function toBill(row: SelectedBill): BillRow {
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

async function billsAfter(db: Db, after: number): Promise<Page<StoredBill>> {
  const query = selectBillRows().where('row_id', '>', after).where('cost_nanos', '<>', 0n)
  const rows = (await db.report(query.orderBy('row_id').limit(pageRows))).map(toBill)
  return { rows, last: rows.at(-1)?.rowId ?? after }
}

/** Where a run starts: after this commit, in the state at that time, after these rows. */
export interface StartingPoint {
  readonly verifier: LedgerVerifier
  readonly seq: number
  readonly hash: Uint8Array
  readonly entryId: number
  readonly rowId: number
}

const beforeFirstCommit = (dropped: DroppedBills): StartingPoint => ({
  verifier: new LedgerVerifier(emptyState(), dropped),
  seq: 0,
  hash: chainGenesis,
  entryId: 0,
  rowId: 0,
})

/** A verification that has read and compared the journal from a starting point, and can continue. */
export class VerificationRun {
  readonly #verifier: LedgerVerifier
  readonly #entries: Cursor<NumberedTransfer>
  readonly #bills: Cursor<StoredBill>
  #seq: number
  #hash: Uint8Array
  #isBroken = false

  constructor(start: StartingPoint) {
    this.#verifier = start.verifier
    this.#entries = new Cursor(entriesAfter, start.entryId)
    this.#bills = new Cursor(billsAfter, start.rowId)
    this.#seq = start.seq
    this.#hash = start.hash
  }

  /** The number of the last request row with a cost that was read. */
  get rowId(): number {
    return this.#bills.after
  }

  /** Reads to the end of the journal and compares. `db` must see a single snapshot. A broken journal stays broken. */
  async verifyNew(db: Db): Promise<LedgerReport> {
    try {
      if (!this.#isBroken) await this.#read(db)
    } catch (error) {
      const isFinding =
        error instanceof JournalChainError ||
        error instanceof LedgerInvariantError ||
        error instanceof JournalFormatError
      if (!isFinding) throw error
      this.#isBroken = true
      this.#verifier.addFinding(error.message)
    }
    const owners = await db.report(sql.selectFrom('owners').selectAll())
    return this.#verifier.report(owners.map((row) => [row.id, storedOwner(row)] as const))
  }

  async #read(db: Db): Promise<void> {
    const checkpoints = await db.report(sql.selectFrom('checkpoints').select(['seq', 'holds']))
    const holdsAt = new Map(checkpoints.map(({ seq, holds }) => [seq, holds]))
    for await (const { seq, body, prev, hash } of readJournalAfter(db, this.#seq)) {
      if (Buffer.compare(prev, this.#hash) !== 0) throw new JournalChainError(seq)
      const entries = await this.#entriesOf(db, seq)
      this.#verifier.applyCommit({ seq, body, entries, holds: holdsAt.get(seq) })
      this.#seq = seq
      this.#hash = hash
      if (this.#verifier.pendingBills > 0) await this.#readBills(db, () => this.#verifier.pendingBills === 0)
    }
    await this.#entriesOf(db, Infinity)
    await this.#readBills(db, () => false)
  }

  /** The entries of a commit. Adds a finding for entries of earlier commits that the journal does not contain. */
  async #entriesOf(db: Db, seq: number): Promise<Transfer[]> {
    const entries: Transfer[] = []
    for (;;) {
      const next = await this.#entries.peek(db)
      if (!next || next.seq > seq) return entries
      if (next.seq === seq) entries.push(next.transfer)
      else
        this.#verifier.addFinding(
          `an entry of ${next.transfer.ref} belongs to no commit`,
          next.transfer.amount,
        )
      this.#entries.advance()
    }
  }

  async #readBills(db: Db, isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const row = await this.#bills.peek(db)
      if (!row) return
      this.#verifier.addBillRow(row)
      this.#bills.advance()
    }
  }
}

/** Verifies the whole ledger. `db` must see a single snapshot, so that journal and tables match. */
export async function verifyLedger(db: Db): Promise<LedgerReport> {
  const dropped = sumDroppedBills(await db.report(sql.selectFrom('dropped_bills').selectAll()))
  return new VerificationRun(beforeFirstCommit(dropped)).verifyNew(db)
}
