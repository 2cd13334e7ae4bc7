/**
 * Verifies the whole ledger quickly, for the common case that it is consistent. One thread reads and checks the chain; this
 * one computes what must follow, and compares it as text with the rows on disk. It does not find out what differs; that is
 * the task of verify-ledger.ts.
 */
import { LedgerReader, type LedgerPage } from '../../db/sqlite/ledger-reader.ts'
import {
  matchBill,
  matchEntry,
  type BillFields,
  type CommittedEntry,
} from '../../db/sqlite/ledger-row-text.ts'
import { LedgerInvariantError } from '../../ledger/apply.ts'
import { JournalFormatError } from '../../ledger/journal.ts'
import { emptyState } from '../../ledger/state.ts'
import { LedgerVerifier, sumDroppedBills, type LedgerReport } from '../../ledger/verify.ts'
import { storedOwner } from '../ledger/recovery.ts'

/** Compares the rows of one table that the journal implies with those on disk. */
class RowComparison<Row> {
  readonly #after: (text: string, at: number, row: Row) => number
  #expected: Row[] = []
  #requested: readonly Row[] = []

  /** `after`: the position in the text after a row, or -1 if the row differs. */
  constructor(after: (text: string, at: number, row: Row) => number) {
    this.#after = after
  }

  expect(row: Row): void {
    this.#expected.push(row)
  }

  /** Returns how many rows must be read: those that were added since the last call. */
  startPage(): number {
    this.#requested = this.#expected
    this.#expected = []
    return this.#requested.length
  }

  /** Whether the rows on disk equal those of the page. */
  matches(found: string): boolean {
    let at = 0
    for (const row of this.#requested) {
      at = this.#after(found, at, row)
      if (at === -1) return false
    }
    return at === found.length
  }
}

/** The report if the ledger at `path` is consistent; null if anything is wrong. */
export async function verifyFast(path: string): Promise<LedgerReport | null> {
  const reader = new LedgerReader(path)
  try {
    const { checkpoints, owners, droppedBills } = await reader.readSummary()
    const verifier = new LedgerVerifier(emptyState(), sumDroppedBills(droppedBills))
    const holdsAt = new Map(checkpoints.map(({ seq, holds }) => [seq, holds]))
    if (!(await compare(reader, verifier, holdsAt))) return null
    const report = verifier.report(owners.map((row) => [row.id, storedOwner(row)] as const))
    return report.ok ? report : null
  } catch (error) {
    if (error instanceof LedgerInvariantError || error instanceof JournalFormatError) return null
    throw error
  } finally {
    await reader.close()
  }
}

/** Reads to the end; false if the chain is broken, or if an entry or a bill differs from the journal. */
async function compare(
  reader: LedgerReader,
  verifier: LedgerVerifier,
  holdsAt: ReadonlyMap<number, string>,
): Promise<boolean> {
  const entries = new RowComparison<CommittedEntry>(matchEntry)
  const bills = new RowComparison<BillFields>(matchBill)
  const isSame = (page: LedgerPage): boolean =>
    page.isChained && entries.matches(page.entries) && bills.matches(page.bills)
  let reading = reader.readPage({ entries: 0, bills: 0 })
  for (;;) {
    const page = await reading
    if (!isSame(page)) return false
    if (page.bodies.length === 0) break
    // Read the next page while this one is processed.
    reading = reader.readPage({ entries: entries.startPage(), bills: bills.startPage() })
    for (const [index, body] of page.bodies.entries()) {
      const seq = page.seq + index
      const given = verifier.replay({ seq, body, holds: holdsAt.get(seq) })
      for (const transfer of given.transfers) {
        entries.expect({ seq, entry: transfer })
        verifier.acceptEntry(transfer)
      }
      for (const bill of given.bills) bills.expect(bill)
    }
  }
  // Read one more of each than expected, to find rows that the journal does not contain.
  const rest = await reader.readPage({ entries: entries.startPage() + 1, bills: bills.startPage() + 1 })
  return isSame(rest)
}
