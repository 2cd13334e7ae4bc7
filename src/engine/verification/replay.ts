/**
 * Recomputes the ledger from its journal, from the first commit or from the present on, and compares everything derived
 * from it: entries, request rows, owners, open holds and the holds of checkpoints. Only the events are trusted, and only
 * as far as the hash chain is intact.
 */
import type { Db } from '../../db/db.ts'
import type { EntryRow } from '../../db/ledger-commit.ts'
import type { HoldRow } from '../../db/postgres/lock-batch.ts'
import { apply, LedgerInvariantError } from '../../ledger/apply.ts'
import { encodeHold, encodeHolds } from '../../ledger/checkpoint.ts'
import { accountBook, entryRowsOf } from '../../ledger/entries.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import { decodeEvents, JournalFormatError } from '../../ledger/journal.ts'
import { accountOwner, emptyOwner, emptyState, type LedgerState } from '../../ledger/state.ts'
import { ownerToRow } from '../postgres/shared-rows.ts'
import { LedgerReader, type LedgerEnd, type LedgerPage } from './ledger-reader.ts'
import { addTotals, noRows, type Difference, type RowTotals } from './row-sums.ts'
import {
  billCells,
  billOf,
  entryCells,
  hasBill,
  parseBills,
  parseEntries,
  type CommitRows,
  type CommittedEntry,
  type LedgerSource,
  type StartingPoint,
  type StoredBill,
  type StoredState,
} from './ledger-source.ts'

/** The result of a verification of the ledger. */
export interface LedgerReport {
  readonly ok: boolean
  /** Entries that follow from the journal. */
  readonly entries: number
  /** Sum of all differences found, in nanos. */
  readonly drift: bigint
  readonly openHolds: number
  readonly overrun: bigint
  /** Human-readable findings, at most the first hundred. Empty if `ok`. */
  readonly findings: readonly string[]
}

const maxFindings = 100

function absoluteDifference(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a
}

/** The names of the fields in which two rows differ. */
export function differingFields<Row extends object>(computed: Row, found: Row): string[] {
  const names = Object.keys(found) as (keyof Row & string)[]
  return names.filter((name) => computed[name] !== found[name])
}

/** The rows that commits imply. */
interface ImpliedRows {
  readonly entries: CommittedEntry[]
  readonly bills: StoredBill[]
}

/** Feed it pages in order, then ask for the report. It can be fed further afterwards. */
export class LedgerReplay {
  readonly #state: LedgerState
  readonly #deletesInOrder: boolean
  readonly #findings: string[] = []
  /** Each account's balance as the sum of the entries that the journal implies, starting from the initial state. */
  readonly #sums = new Map<string, bigint>()
  /** The rows of commits, and the bills whose rows were deleted for their age, since the last report. */
  #seen = noRows
  #entries = 0
  #bills = 0
  #deletedBills = 0
  #drift = 0n
  #isBroken = false

  /** `state`: after the commit at which the replay starts. */
  constructor({ deletesInOrder }: Pick<LedgerSource, 'deletesInOrder'>, state: LedgerState = emptyState()) {
    this.#state = state
    this.#deletesInOrder = deletesInOrder
    for (const [id, { balance }] of state.owners) if (isAccount(id)) this.#sums.set(bookOf(id), balance)
  }

  /** Applies the next page and compares its rows. Returns whether more can follow: a broken journal stays broken. */
  apply({ seqs, bodies, holds, rows, broken, isLast }: LedgerPage): boolean {
    if (this.#isBroken) return false
    const implied: ImpliedRows = { entries: [], bills: [] }
    try {
      for (const [index, body] of bodies.entries()) {
        const seq = seqs[index] ?? 0
        for (const event of decodeEvents(body)) this.#applyEvent(seq, event, implied)
        if (holds.has(seq) && holds.get(seq) !== encodeHolds(this.#state))
          this.#addFinding(`the checkpoint at commit ${seq} has other holds than the journal`)
      }
      this.#compareRows(seqs, implied, rows)
      if (broken !== null) this.#break(broken)
    } catch (error) {
      if (!(error instanceof LedgerInvariantError || error instanceof JournalFormatError)) throw error
      this.#break(error.message)
    }
    return !isLast && !this.#isBroken
  }

  /** Compares what is left after the last page, and reports all findings so far. */
  report({ totals, state }: LedgerEnd): LedgerReport {
    if (!this.#isBroken) this.#compareTotals(totals)
    this.#seen = noRows
    this.#compareOwners(state)
    if (state.holds !== null) this.#compareHolds(state.holds)
    return this.reportWith([])
  }

  /** Reports these, and what was found so far. */
  reportWith(differences: readonly Difference[]): LedgerReport {
    for (const { message, drift } of differences) this.#addFinding(message, drift)
    return {
      ok: this.#findings.length === 0,
      entries: this.#entries,
      drift: this.#drift,
      openHolds: this.#state.holds.size,
      overrun: this.#state.overrun,
      findings: [...this.#findings],
    }
  }

  #break(finding: string): void {
    this.#isBroken = true
    this.#addFinding(finding)
  }

  /** `drift`: the amount by which the books differ, in nanos. */
  #addFinding(message: string, drift = 0n): void {
    this.#drift += drift
    if (this.#findings.length < maxFindings) this.#findings.push(message)
  }

  #applyEvent(seq: number, event: LedgerEvent, { entries, bills }: ImpliedRows): void {
    const account = this.#state.holds.get(event.id)?.account ?? ''
    apply(this.#state, event)
    if (hasBill(event)) bills.push(billOf(event))
    for (const entry of entryRowsOf(event, account)) {
      entries.push({ seq, entry })
      this.#addToSums(entry)
    }
  }

  #compareRows(seqs: readonly number[], { entries: implied, bills }: ImpliedRows, rows: CommitRows): void {
    this.#entries += implied.length
    // Nearly always the texts are equal, and comparing them costs a fraction of reading every row.
    const isSame = rows.entries === JSON.stringify(implied.map(entryCells))
    const entries = isSame ? implied : parseEntries(rows.entries)
    if (!isSame) this.#compareEntries(seqs, implied, entries)
    const areSame = rows.bills === JSON.stringify(bills.map(billCells))
    const billRows = areSame ? bills : parseBills(rows.bills)
    if (!areSame) this.#compareBills(bills, billRows, rows.deletedBills)
    this.#bills += bills.length
    this.#seen = addTotals(this.#seen, {
      entries: entries.length,
      amount: entries.reduce((sum, { entry }) => sum + entry.amount_nanos, 0n),
      bills: billRows.filter(({ cost }) => cost !== 0n).length,
      cost: billRows.reduce((sum, { cost }) => sum + cost, 0n),
    })
  }

  /** Only the sums of accounts are compared. */
  #addToSums({ debit, credit, amount_nanos: amount }: EntryRow): void {
    if (isAccountBook(debit)) this.#sums.set(debit, (this.#sums.get(debit) ?? 0n) - amount)
    if (isAccountBook(credit)) this.#sums.set(credit, (this.#sums.get(credit) ?? 0n) + amount)
  }

  #compareEntries(
    seqs: readonly number[],
    computed: readonly CommittedEntry[],
    entries: readonly CommittedEntry[],
  ): void {
    const implied = Map.groupBy(computed, ({ seq }) => seq)
    const found = Map.groupBy(entries, ({ seq }) => seq)
    for (const seq of seqs) this.#compareCommit(seq, implied.get(seq) ?? [], found.get(seq) ?? [])
    const known = new Set(seqs)
    for (const { seq, entry } of entries)
      if (!known.has(seq))
        this.#addFinding(`an entry of ${entry.ref} belongs to no commit`, entry.amount_nanos)
  }

  #compareCommit(seq: number, implied: readonly CommittedEntry[], entries: readonly CommittedEntry[]): void {
    for (const [index, { entry }] of implied.entries()) {
      const found = entries[index]?.entry
      if (!found) this.#addFinding(`commit ${seq} lacks the entry of ${entry.ref}`, entry.amount_nanos)
      else {
        const names = differingFields(entry, found)
        const message = `the entry of ${entry.ref} in commit ${seq} differs in ${names.join(', ')}`
        if (names.length > 0)
          this.#addFinding(message, absoluteDifference(entry.amount_nanos, found.amount_nanos))
      }
    }
    for (const { entry } of entries.slice(implied.length)) {
      const message = `commit ${seq} has an entry of ${entry.ref} that the journal does not give`
      this.#addFinding(message, entry.amount_nanos)
    }
  }

  #compareBills(bills: readonly StoredBill[], rows: readonly StoredBill[], deletedBills: number): void {
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const [index, bill] of bills.entries()) {
      const { id, cost } = bill
      const row = found.get(id)
      const earlier = this.#deletesInOrder ? this.#bills + index : this.#deletedBills
      if (!row && earlier < deletedBills) {
        this.#deletedBills += 1
        this.#seen = addTotals(this.#seen, { ...noRows, bills: 1, cost })
      } else if (!row) this.#addFinding(`request ${id} has no row for its ${cost} nanos`, cost)
      else {
        const names = differingFields(bill, row)
        const message = `request ${id} was billed ${cost} nanos, its row has ${row.cost} (${names.join(', ')})`
        if (names.length > 0) this.#addFinding(message, absoluteDifference(cost, row.cost))
      }
    }
  }

  /** Finds rows that belong to no commit, and request rows that were not deleted as recorded. */
  #compareTotals(found: RowTotals): void {
    const seen = this.#seen
    if (found.entries !== seen.entries || found.amount !== seen.amount)
      this.#addFinding(
        `there are ${found.entries} entries of ${found.amount} nanos, but the journal has ${seen.entries} of ${seen.amount}`,
        absoluteDifference(found.amount, seen.amount),
      )
    if (found.bills !== seen.bills || found.cost !== seen.cost)
      this.#addFinding(
        `the request rows, with deleted ones, have ${found.bills} bills of ${found.cost} nanos, but the journal has ${seen.bills} of ${seen.cost}`,
        absoluteDifference(found.cost, seen.cost),
      )
  }

  #compareOwners({ owners }: StoredState): void {
    const rows = new Map(owners.map((row) => [row.id, row]))
    for (const id of new Set([...this.#state.owners.keys(), ...rows.keys()])) {
      const owner = this.#state.owners.get(id) ?? emptyOwner()
      const row = rows.get(id)
      const names = row ? differingFields(ownerToRow(id, owner), row) : ['everything: it has no row']
      const drift = absoluteDifference(owner.balance, row?.balance_nanos ?? 0n)
      if (names.length > 0)
        this.#addFinding(`the row of ${id} differs from the journal in ${names.join(', ')}`, drift)
      if (owner.held < 0n) this.#addFinding(`${id} holds ${owner.held} nanos`)
      const sum = this.#sums.get(bookOf(id)) ?? 0n
      if (!isAccount(id) || sum === owner.balance) continue
      const message = `the entries of ${id} sum to ${sum}, not ${owner.balance}`
      this.#addFinding(message, absoluteDifference(sum, owner.balance))
    }
  }

  #compareHolds(rows: readonly HoldRow[]): void {
    const { holds } = this.#state
    const found = new Map(rows.map((row) => [row.id, row.body]))
    for (const id of new Set([...holds.keys(), ...found.keys()])) {
      const hold = holds.get(id)
      if (!hold) this.#addFinding(`the row of hold ${id} belongs to no open hold`)
      else if (found.get(id) !== encodeHold(hold))
        this.#addFinding(`the hold ${id} differs from its row, or has none`)
    }
  }
}

const isAccountBook = (book: string): boolean => book.startsWith(accountBook(''))
const isAccount = (ownerId: string): boolean => ownerId.startsWith(accountOwner(''))
const bookOf = (ownerId: string): string => accountBook(ownerId.slice(accountOwner('').length))

/** A replay with its reader on the same thread. */
export class LedgerVerification {
  readonly reader: LedgerReader
  readonly replay: LedgerReplay

  /** From the first commit on if `start` is null. */
  constructor(source: LedgerSource, start: StartingPoint | null) {
    this.reader = new LedgerReader(source, start)
    this.replay = new LedgerReplay(source, start?.state)
  }

  /** Returns whether there are more pages. */
  async readPage(db: Db): Promise<boolean> {
    return this.replay.apply(await this.reader.next(db))
  }

  /** Reads to the end of every chain and compares. `db` must see a single snapshot. */
  async verify(db: Db): Promise<LedgerReport> {
    while (await this.readPage(db));
    return this.replay.report(await this.reader.readEnd(db))
  }
}

/** Verifies the whole ledger. `db` must see a single snapshot, so that journal and tables match. */
export function verifyLedger(source: LedgerSource, db: Db): Promise<LedgerReport> {
  return new LedgerVerification(source, null).verify(db)
}
