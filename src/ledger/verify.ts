/**
 * Recomputes the ledger from its journal and compares it with everything derived from it: entries, owners,
 * request rows and the holds of checkpoints. Only the events are trusted, and only as far as the hash chain
 * is intact.
 */
import { apply } from './apply.ts'
import {
  billCells,
  billOf,
  entryCells,
  hasBill,
  parseBills,
  parseEntries,
  type CommitRows,
  type CommittedTransfer,
  type StoredBill,
} from './commit-rows.ts'
import { encodeHolds, toStoredOwner, type StoredOwner } from './checkpoint.ts'
import { accountBook, transfersOf, type Transfer } from './entries.ts'
import type { LedgerEvent, Settled } from './events.ts'
import type { LedgerReport } from './report.ts'
import { accountOwner, emptyOwner, emptyState, type LedgerState } from './state.ts'

/** A commit as stored, decoded. */
export interface VerifiedCommit {
  readonly seq: number
  readonly events: readonly LedgerEvent[]
  /** The open holds after this commit, if it made a checkpoint. */
  readonly holds: string | null
}

/** How many entries there are, and what request rows cost. */
export interface RowTotals {
  readonly entries: number
  readonly cost: bigint
}

/**
 * The total of request rows that have been deleted for their age. They belong to the first bills of the
 * journal.
 */
export interface DroppedBills {
  readonly bills: number
  readonly cost: bigint
}

export const noDroppedBills: DroppedBills = { bills: 0, cost: 0n }

/** The sum over all accounts. */
export function sumDroppedBills(
  rows: Iterable<{ readonly bills: number; readonly cost_nanos: bigint }>,
): DroppedBills {
  let { bills, cost } = noDroppedBills
  for (const row of rows) {
    bills += row.bills
    cost += row.cost_nanos
  }
  return { bills, cost }
}

const maxFindings = 100

function absoluteDifference(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a
}

/** The names of the fields in which two rows differ. */
export function differingFields<Row extends object>(computed: Row, found: Row): string[] {
  const names = Object.keys(computed) as (keyof Row & string)[]
  return names.filter((name) => computed[name] !== found[name])
}

interface ImpliedRows {
  readonly commits: number[]
  readonly transfers: CommittedTransfer[]
  readonly bills: StoredBill[]
}

/**
 * Verifies a ledger incrementally: feed it commits in order, and after some of them their rows, then ask for
 * the report. It can be fed further afterwards.
 */
export class LedgerVerifier {
  readonly state: LedgerState
  readonly #findings: string[] = []
  /** Bills of the journal without a request row so far, and request rows without a bill so far. */
  readonly #unmatchedBills = new Map<string, StoredBill>()
  readonly #unmatchedRows = new Map<string, StoredBill>()
  /** Each account's balance as the sum of its entries, starting from the initial state. */
  readonly #sums = new Map<string, bigint>()
  readonly #dropped: DroppedBills
  /** What the commits imply whose rows have not been compared yet. */
  #implied: ImpliedRows = { commits: [], transfers: [], bills: [] }
  /** Bills counted so far whose request row has been deleted. */
  #skipped = noDroppedBills
  #totals: RowTotals = { entries: 0, cost: 0n }
  /** What the commits had implied at the last comparison of totals. */
  #comparedTotals = this.#totals
  #drift = 0n

  /**
   * `state` is the state after the commit at which verification starts; the default is an empty ledger.
   * `dropped` counts the first bills of the journal whose request rows have been deleted.
   */
  constructor(state: LedgerState = emptyState(), dropped = noDroppedBills) {
    this.state = state
    this.#dropped = dropped
    for (const [id, { balance }] of state.owners) if (isAccount(id)) this.#sums.set(bookOf(id), balance)
  }

  /**
   * Applies the next commit; the caller has checked its place in the hash chain. Throws `LedgerInvariantError`
   * if an event cannot follow from the ones before.
   */
  applyCommit({ seq, events, holds }: VerifiedCommit): void {
    this.#implied.commits.push(seq)
    for (const event of events) {
      const account = this.state.holds.get(event.id)?.account ?? ''
      apply(this.state, event)
      if (hasBill(event)) this.#implyBill(event)
      for (const transfer of transfersOf(event, account)) this.#implied.transfers.push({ seq, transfer })
    }
    if (holds !== null && holds !== encodeHolds(this.state))
      this.addFinding(`the checkpoint at commit ${seq} has other holds than the journal`)
  }

  #implyBill(settled: Settled): void {
    this.#totals = { ...this.#totals, cost: this.#totals.cost + settled.charge }
    if (this.#skipped.bills < this.#dropped.bills) this.#skipBill(settled.charge)
    else this.#implied.bills.push(billOf(settled))
  }

  /** Compares the rows of the commits that were applied since the last call. */
  compareRows({ entries, bills, deletedBills }: CommitRows): void {
    const implied = this.#implied
    this.#implied = { commits: [], transfers: [], bills: [] }
    const { entries: counted, cost } = this.#totals
    this.#totals = { entries: counted + implied.transfers.length, cost }
    // Nearly always the texts are equal, and comparing them costs a fraction of reading every row.
    if (entries === JSON.stringify(implied.transfers.map(entryCells)))
      for (const { transfer } of implied.transfers) this.#addToSums(transfer)
    else this.#compareEntries(implied, parseEntries(entries))
    if (bills !== JSON.stringify(implied.bills.map(billCells))) {
      for (const bill of implied.bills) this.#addBill(bill)
      for (const row of parseBills(bills)) this.#addBillRow(row)
    }
    this.#skipPendingBills(deletedBills)
  }

  #skipBill(cost: bigint): void {
    this.#skipped = { bills: this.#skipped.bills + 1, cost: this.#skipped.cost + cost }
  }

  /** Skips bills whose request rows have not appeared, up to a total of `maxSkipped`. */
  #skipPendingBills(maxSkipped: number): void {
    for (const [id, { cost }] of this.#unmatchedBills) {
      if (this.#skipped.bills >= maxSkipped) return
      this.#unmatchedBills.delete(id)
      this.#skipBill(cost)
    }
  }

  /** Only the sums of accounts are compared. */
  #addToSums({ debit, credit, amount }: Transfer): void {
    if (isAccountBook(debit)) this.#sums.set(debit, (this.#sums.get(debit) ?? 0n) - amount)
    if (isAccountBook(credit)) this.#sums.set(credit, (this.#sums.get(credit) ?? 0n) + amount)
  }

  /** What the journal implies. */
  get totals(): RowTotals {
    return this.#totals
  }

  /** Compares the number and the cost of all rows since the last call with what the journal implies since then. */
  compareTotals(found: RowTotals): void {
    const entries = this.#totals.entries - this.#comparedTotals.entries
    const charged = this.#totals.cost - this.#comparedTotals.cost
    this.#comparedTotals = this.#totals
    if (found.entries !== entries)
      this.addFinding(`there are ${found.entries} entries, but the journal has ${entries}`)
    if (found.cost !== charged)
      this.addFinding(
        `the request rows cost ${found.cost} nanos, but the journal charged ${charged}`,
        absoluteDifference(found.cost, charged),
      )
  }

  /** Adds a finding. `drift` is the amount by which the books differ, in nanos. */
  addFinding(message: string, drift = 0n): void {
    this.#drift += drift
    if (this.#findings.length < maxFindings) this.#findings.push(message)
  }

  /** Compares the owners and reports all findings so far. */
  report(owners: Iterable<readonly [id: string, owner: StoredOwner]>): LedgerReport {
    for (const { id, cost } of this.#unmatchedBills.values())
      this.addFinding(`request ${id} has no row for its ${cost} nanos`, cost)
    for (const { id, cost } of this.#unmatchedRows.values())
      this.addFinding(`request ${id} has a row of ${cost} nanos and no bill`, cost)
    this.#compareDropped()
    this.#compareOwners(new Map(owners))
    return {
      ok: this.#findings.length === 0,
      entries: this.#totals.entries,
      drift: this.#drift,
      openHolds: this.state.holds.size,
      overrun: this.state.overrun,
      findings: [...this.#findings],
    }
  }

  #addBill(bill: StoredBill): void {
    const row = this.#unmatchedRows.get(bill.id)
    if (!row) return void this.#unmatchedBills.set(bill.id, bill)
    this.#unmatchedRows.delete(bill.id)
    return this.#compareBills(bill, row)
  }

  #addBillRow(row: StoredBill): void {
    const bill = this.#unmatchedBills.get(row.id)
    if (!bill) return void this.#unmatchedRows.set(row.id, row)
    this.#unmatchedBills.delete(row.id)
    return this.#compareBills(bill, row)
  }

  #compareBills(billed: StoredBill, row: StoredBill): void {
    const names = differingFields(billed, row)
    if (names.length === 0) return
    const message = `request ${row.id} was billed ${billed.cost} nanos, its row has ${row.cost}`
    this.addFinding(`${message} (${names.join(', ')})`, absoluteDifference(billed.cost, row.cost))
  }

  /** Both are in the order of the commits, except for entries that belong to none. */
  #compareEntries({ commits, transfers }: ImpliedRows, entries: readonly CommittedTransfer[]): void {
    const implied = Map.groupBy(transfers, ({ seq }) => seq)
    let next = 0
    for (const seq of commits) {
      const found: Transfer[] = []
      for (let entry = entries[next]; entry && entry.seq <= seq; entry = entries[(next += 1)]) {
        if (entry.seq === seq) found.push(entry.transfer)
        else this.#addStrayEntry(entry)
      }
      this.#compareCommit(seq, implied.get(seq) ?? [], found)
    }
    for (const entry of entries.slice(next)) this.#addStrayEntry(entry)
  }

  #addStrayEntry({ transfer: { ref, amount } }: CommittedTransfer): void {
    this.addFinding(`an entry of ${ref} belongs to no commit`, amount)
  }

  #compareCommit(seq: number, implied: readonly CommittedTransfer[], entries: readonly Transfer[]): void {
    for (const [index, { transfer }] of implied.entries()) {
      const found = entries[index]
      if (!found) this.addFinding(`commit ${seq} lacks the entry of ${transfer.ref}`, transfer.amount)
      else {
        const names = differingFields(transfer, found)
        const message = `the entry of ${transfer.ref} in commit ${seq} differs in ${names.join(', ')}`
        if (names.length > 0) this.addFinding(message, absoluteDifference(transfer.amount, found.amount))
      }
    }
    for (const { ref, amount } of entries.slice(implied.length))
      this.addFinding(`commit ${seq} has an entry of ${ref} that the journal does not give`, amount)
    for (const entry of entries) this.#addToSums(entry)
  }

  #compareDropped(): void {
    const { bills, cost } = this.#dropped
    if (bills === 0 || (this.#skipped.bills === bills && this.#skipped.cost === cost)) return
    const message = `request rows of ${bills} bills of ${cost} nanos were deleted for their age, the journal has`
    this.addFinding(
      `${message} ${this.#skipped.bills} of ${this.#skipped.cost} nanos there`,
      absoluteDifference(cost, this.#skipped.cost),
    )
  }

  #compareOwners(rows: ReadonlyMap<string, StoredOwner>): void {
    for (const id of new Set([...this.state.owners.keys(), ...rows.keys()])) {
      const owner = this.state.owners.get(id) ?? emptyOwner()
      const computed = toStoredOwner(owner)
      const row = rows.get(id)
      const names = row ? differingFields(computed, row) : ['everything: it has no row']
      const drift = absoluteDifference(computed.balance, row?.balance ?? 0n)
      if (names.length > 0)
        this.addFinding(`the row of ${id} differs from the journal in ${names.join(', ')}`, drift)
      if (owner.held < 0n) this.addFinding(`${id} holds ${owner.held} nanos`)
      if (!isAccount(id)) continue
      const sum = this.#sums.get(bookOf(id)) ?? 0n
      if (sum === owner.balance) continue
      this.addFinding(
        `the entries of ${id} sum to ${sum}, not ${owner.balance}`,
        absoluteDifference(sum, owner.balance),
      )
    }
  }
}

const isAccountBook = (book: string): boolean => book.startsWith(accountBook(''))
const isAccount = (ownerId: string): boolean => ownerId.startsWith(accountOwner(''))
const bookOf = (ownerId: string): string => accountBook(ownerId.slice(accountOwner('').length))
