/**
 * Recomputes the ledger from its journal and compares it with everything derived from it: entries, owners,
 * request rows and the holds of checkpoints. Only the events are trusted, and only as far as the hash chain
 * is intact.
 */
import { apply } from './apply.ts'
import { encodeHolds, toStoredOwner, type StoredOwner } from './checkpoint.ts'
import { accountBook, transfersOf, type Transfer } from './entries.ts'
import type { Settled } from './events.ts'
import { decodeEvents } from './journal.ts'
import type { LedgerReport } from './report.ts'
import { accountOwner, emptyOwner, emptyState, type LedgerState } from './state.ts'

export type { LedgerReport }

/** One commit as stored: its events and the entries with its number. */
export interface StoredCommit {
  readonly seq: number
  readonly body: string
  readonly entries: readonly Transfer[]
  /** The open holds after this commit, if it made a checkpoint. */
  readonly holds: string | undefined
}

/** The money columns of a request's row. */
export interface StoredBill {
  readonly id: string
  readonly cost: bigint
  readonly input: number
  readonly cachedInput: number
  readonly output: number
  readonly reasoning: number
}

/**
 * The total of request rows that have been deleted for their age. They belong to the first bills of the
 * journal.
 */
export interface DroppedBills {
  readonly bills: number
  readonly cost: bigint
}

const noDroppedBills: DroppedBills = { bills: 0, cost: 0n }

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

function billOf(event: Settled): StoredBill {
  const { input, cachedInput, output, reasoning } = event.usage
  return { id: event.id, cost: event.charge, input, cachedInput, output, reasoning }
}

function absoluteDifference(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a
}

/** The names of the fields in which two rows differ. */
function differingFields<Row extends object>(computed: Row, found: Row): string[] {
  const names = Object.keys(computed) as (keyof Row & string)[]
  return names.filter((name) => computed[name] !== found[name])
}

/**
 * Verifies a ledger incrementally: feed it commits and request rows in order, then ask for the report. It can
 * be fed further afterwards.
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
  /** Bills counted so far whose request row has been deleted. */
  #skipped = noDroppedBills
  #entries = 0
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
   * Applies the next commit; the caller has checked its place in the hash chain. Throws
   * `LedgerInvariantError` or `JournalFormatError` if an event cannot follow from the ones before.
   */
  applyCommit(commit: StoredCommit): void {
    const { transfers, bills } = this.replay(commit)
    for (const bill of bills) this.#addBill(bill)
    this.#compareEntries(commit, transfers)
  }

  /** Like `applyCommit`, for callers that compare entries and bills themselves: returns the expected ones. */
  replay({ seq, body, holds }: Omit<StoredCommit, 'entries'>): {
    readonly transfers: readonly Transfer[]
    readonly bills: readonly StoredBill[]
  } {
    const transfers: Transfer[] = []
    const bills: StoredBill[] = []
    for (const event of decodeEvents(body)) {
      const account = this.state.holds.get(event.id)?.account ?? ''
      apply(this.state, event)
      if (event.kind === 'settled' && event.charge > 0n) {
        if (this.#skipped.bills < this.#dropped.bills) this.#skipBill(event.charge)
        else bills.push(billOf(event))
      }
      for (const transfer of transfersOf(event, account)) transfers.push(transfer)
    }
    if (holds !== undefined && holds !== encodeHolds(this.state))
      this.addFinding(`the checkpoint at commit ${seq} has other holds than the journal`)
    return { transfers, bills }
  }

  #skipBill(cost: bigint): void {
    this.#skipped = { bills: this.#skipped.bills + 1, cost: this.#skipped.cost + cost }
  }

  /** Skips bills whose request rows have not appeared, up to a total of `maxSkipped`. */
  skipPendingBills(maxSkipped: number): void {
    for (const [id, { cost }] of this.#unmatchedBills) {
      if (this.#skipped.bills >= maxSkipped) return
      this.#unmatchedBills.delete(id)
      this.#skipBill(cost)
    }
  }

  /** Counts a stored entry that the caller has found correct. */
  acceptEntry({ debit, credit, amount }: Transfer): void {
    this.#entries += 1
    this.#sum(debit, -amount)
    this.#sum(credit, amount)
  }

  #sum(book: string, nanos: bigint): void {
    this.#sums.set(book, (this.#sums.get(book) ?? 0n) + nanos)
  }

  /** Entries that follow from the journal. */
  get entries(): number {
    return this.#entries
  }

  /** Bills that are still without their request row. */
  get pendingBills(): number {
    return this.#unmatchedBills.size
  }

  /** Adds the next request row with a cost, in the order in which rows were written. */
  addBillRow(row: StoredBill): void {
    const billed = this.#unmatchedBills.get(row.id)
    if (!billed) this.#unmatchedRows.set(row.id, row)
    else {
      this.#unmatchedBills.delete(row.id)
      this.#compareBills(billed, row)
    }
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
      entries: this.#entries,
      drift: this.#drift,
      openHolds: this.state.holds.size,
      overrun: this.state.overrun,
      findings: [...this.#findings],
    }
  }

  #addBill(billed: StoredBill): void {
    const row = this.#unmatchedRows.get(billed.id)
    if (!row) this.#unmatchedBills.set(billed.id, billed)
    else {
      this.#unmatchedRows.delete(billed.id)
      this.#compareBills(billed, row)
    }
  }

  #compareBills(billed: StoredBill, row: StoredBill): void {
    const names = differingFields(billed, row)
    if (names.length === 0) return
    const message = `request ${row.id} was billed ${billed.cost} nanos, its row has ${row.cost}`
    this.addFinding(`${message} (${names.join(', ')})`, absoluteDifference(billed.cost, row.cost))
  }

  #compareEntries({ seq, entries }: StoredCommit, computed: readonly Transfer[]): void {
    this.#entries += computed.length
    for (const [index, transfer] of computed.entries()) {
      const found = entries[index]
      if (!found) this.addFinding(`commit ${seq} lacks the entry of ${transfer.ref}`, transfer.amount)
      else {
        const names = differingFields(transfer, found)
        const message = `the entry of ${transfer.ref} in commit ${seq} differs in ${names.join(', ')}`
        if (names.length > 0) this.addFinding(message, absoluteDifference(transfer.amount, found.amount))
      }
    }
    for (const { ref, amount } of entries.slice(computed.length)) {
      this.addFinding(`commit ${seq} has an entry of ${ref} that the journal does not give`, amount)
    }
    for (const { debit, credit, amount } of entries) {
      this.#sum(debit, -amount)
      this.#sum(credit, amount)
    }
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

const isAccount = (ownerId: string): boolean => ownerId.startsWith(accountOwner(''))
const bookOf = (ownerId: string): string => accountBook(ownerId.slice(accountOwner('').length))
