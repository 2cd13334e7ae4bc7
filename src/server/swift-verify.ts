/**
 * The whole ledger recomputed from its journal, for the answer that it nearly always has: everything is exactly so. One
 * thread reads and checks the chain, this one decides what has to follow, and compares it as text with what is on disk.
 * Who differs is not told; that is for verify-ledger.ts.
 */
import { LedgerReader, type LedgerPage } from '../db/sqlite/ledger-reader.ts'
import { afterBill, afterEntry, type BillFields, type EntryOfCommit } from '../db/sqlite/ledger-row-text.ts'
import { LedgerBroken } from '../ledger/apply.ts'
import { JournalUnreadable } from '../ledger/journal.ts'
import { emptyState } from '../ledger/state.ts'
import { Recomputation, sumOfDropped, type Verdict } from '../ledger/verify.ts'
import { storedOwner } from './ledger/recovery.ts'

/** Rows of one table as the journal gives them, against what is on disk. */
class Comparison<Row> {
  readonly #after: (text: string, at: number, row: Row) => number
  #expected: Row[] = []
  #asked: readonly Row[] = []

  /** `after`: where a text goes on behind a row, or -1. */
  constructor(after: (text: string, at: number, row: Row) => number) {
    this.#after = after
  }

  expect(row: Row): void {
    this.#expected.push(row)
  }

  /** How many rows are to be read: those that have been expected since the last time. */
  ask(): number {
    this.#asked = this.#expected
    this.#expected = []
    return this.#asked.length
  }

  /** Whether what was found is what was asked for. */
  isIn(found: string): boolean {
    let at = 0
    for (const row of this.#asked) {
      at = this.#after(found, at, row)
      if (at === -1) return false
    }
    return at === found.length
  }
}

/** The verdict when nothing is wrong with the ledger at `path`; null when anything is. */
export async function verifySwiftly(path: string): Promise<Verdict | null> {
  const reader = new LedgerReader(path)
  try {
    const { checkpoints, owners, dropped } = await reader.frame()
    const recomputation = new Recomputation(emptyState(), sumOfDropped(dropped))
    const holdsAt = new Map(checkpoints.map(({ seq, holds }) => [seq, holds]))
    if (!(await compare(reader, recomputation, holdsAt))) return null
    const verdict = recomputation.verdict(owners.map((row) => [row.id, storedOwner(row)] as const))
    return verdict.ok ? verdict : null
  } catch (error) {
    if (error instanceof LedgerBroken || error instanceof JournalUnreadable) return null
    throw error
  } finally {
    await reader.close()
  }
}

/** Reads to the end; false when the chain is broken, or an entry or a bill is not as the journal gives it. */
async function compare(
  reader: LedgerReader,
  recomputation: Recomputation,
  holdsAt: ReadonlyMap<number, string>,
): Promise<boolean> {
  const entries = new Comparison<EntryOfCommit>(afterEntry)
  const bills = new Comparison<BillFields>(afterBill)
  const isSame = (page: LedgerPage): boolean =>
    page.isChained && entries.isIn(page.entries) && bills.isIn(page.bills)
  let reading = reader.page({ entries: 0, bills: 0 })
  for (;;) {
    const page = await reading
    if (!isSame(page)) return false
    if (page.bodies.length === 0) break
    // Read while this part is worked on.
    reading = reader.page({ entries: entries.ask(), bills: bills.ask() })
    for (const [index, body] of page.bodies.entries()) {
      const seq = page.seq + index
      const given = recomputation.follow({ seq, body, holds: holdsAt.get(seq) })
      for (const transfer of given.transfers) {
        entries.expect({ seq, entry: transfer })
        recomputation.accept(transfer)
      }
      for (const bill of given.bills) bills.expect(bill)
    }
  }
  // One more of each than is expected, for what the journal does not give.
  const rest = await reader.page({ entries: entries.ask() + 1, bills: bills.ask() + 1 })
  return isSame(rest)
}
