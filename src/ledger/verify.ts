/**
 * Recomputes the ledger from its journal and compares it with everything that is derived from it: the entries, the
 * owners, the request rows, the holds at a checkpoint. Nothing here is trusted but the events, and those only as far
 * as the hash chain holds.
 */
import { apply } from './apply.ts'
import { encodeHolds, storedPartOf, type StoredOwner } from './checkpoint.ts'
import { accountBook, transfersOf, type Transfer } from './entries.ts'
import type { Settled } from './events.ts'
import { decodeEvents } from './journal.ts'
import { accountOwner, emptyOwner, emptyState, type LedgerState } from './state.ts'

/** One commit as it is on disk: its events and the entries that bear its number. */
export interface CommitOnDisk {
  readonly seq: number
  readonly body: string
  readonly entries: readonly Transfer[]
  /** The open holds after it, where a checkpoint was made. */
  readonly holds: string | undefined
}

/** What a request's row says of money. */
export interface BillOnDisk {
  readonly id: string
  readonly cost: bigint
  readonly input: number
  readonly cachedInput: number
  readonly output: number
  readonly reasoning: number
}

/** What request rows that are no longer kept had come to: those of the first bills. */
export interface DroppedBills {
  readonly bills: number
  readonly cost: bigint
}

const nothingDropped: DroppedBills = { bills: 0, cost: 0n }

/** The accounts' together. */
export function sumOfDropped(
  rows: Iterable<{ readonly bills: number; readonly cost_nanos: bigint }>,
): DroppedBills {
  let { bills, cost } = nothingDropped
  for (const row of rows) {
    bills += row.bills
    cost += row.cost_nanos
  }
  return { bills, cost }
}

export interface Verdict {
  readonly ok: boolean
  /** Entries that the journal gives. */
  readonly entries: number
  /** Sum of all differences found, in nanos. */
  readonly drift: bigint
  readonly openHolds: number
  readonly overrun: bigint
  /** What was found wrong, in words, the first hundred; empty when `ok`. */
  readonly findings: readonly string[]
}

const findingsMost = 100

function billOf(event: Settled): BillOnDisk {
  const { input, cachedInput, output, reasoning } = event.usage
  return { id: event.id, cost: event.charge, input, cachedInput, output, reasoning }
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a
}

/** The names of the fields in which two rows of one shape differ. */
function differing<Row extends object>(computed: Row, found: Row): string[] {
  const names = Object.keys(computed) as (keyof Row & string)[]
  return names.filter((name) => computed[name] !== found[name])
}

/** The fold over the journal: feed what is on disk in order, then ask for the verdict; more may follow. */
export class Recomputation {
  readonly state: LedgerState
  readonly #findings: string[] = []
  /** Bills of the journal whose request row has not come yet, and rows whose event has not. */
  readonly #billed = new Map<string, BillOnDisk>()
  readonly #rows = new Map<string, BillOnDisk>()
  /** What the entries make of each account's balance; without those of before the beginning. */
  readonly #sums = new Map<string, bigint>()
  readonly #dropped: DroppedBills
  /** Bills that have no row any more, as far as they have come. */
  #forgone = nothingDropped
  #entries = 0
  #drift = 0n

  /**
   * `state`: as of the commit after which it begins; default the very beginning. `dropped`: so many of the bills that
   * come first have no row any more.
   */
  constructor(state: LedgerState = emptyState(), dropped = nothingDropped) {
    this.state = state
    this.#dropped = dropped
    for (const [id, { balance }] of state.owners) if (isAccount(id)) this.#sums.set(bookOf(id), balance)
  }

  /**
   * Takes the next commit, whose place in the hash chain the reader has checked. Throws `LedgerBroken` or
   * `JournalUnreadable` when an event cannot follow from those before.
   */
  take(commit: CommitOnDisk): void {
    const { transfers, bills } = this.follow(commit)
    for (const bill of bills) this.#bill(bill)
    this.#compareEntries(commit, transfers)
  }

  /** As `take`, for a reader who compares entries and bills itself: what they have to be. */
  follow({ seq, body, holds }: Omit<CommitOnDisk, 'entries'>): {
    readonly transfers: readonly Transfer[]
    readonly bills: readonly BillOnDisk[]
  } {
    const transfers: Transfer[] = []
    const bills: BillOnDisk[] = []
    for (const event of decodeEvents(body)) {
      const account = this.state.holds.get(event.id)?.account ?? ''
      apply(this.state, event)
      if (event.kind === 'settled' && event.charge > 0n) {
        if (this.#forgone.bills < this.#dropped.bills) this.#forgo(event.charge)
        else bills.push(billOf(event))
      }
      for (const transfer of transfersOf(event, account)) transfers.push(transfer)
    }
    if (holds !== undefined && holds !== encodeHolds(this.state))
      this.find(`the checkpoint at commit ${seq} has other holds than the journal`)
    return { transfers, bills }
  }

  #forgo(cost: bigint): void {
    this.#forgone = { bills: this.#forgone.bills + 1, cost: this.#forgone.cost + cost }
  }

  /** Gives up bills whose rows were awaited in vain, as long as no more than `most` were given up in all. */
  forgoAwaited(most: number): void {
    for (const [id, { cost }] of this.#billed) {
      if (this.#forgone.bills >= most) return
      this.#billed.delete(id)
      this.#forgo(cost)
    }
  }

  /** Counts an entry that is on disk as it has to be. */
  accept({ debit, credit, amount }: Transfer): void {
    this.#entries += 1
    this.#sum(debit, -amount)
    this.#sum(credit, amount)
  }

  #sum(book: string, nanos: bigint): void {
    this.#sums.set(book, (this.#sums.get(book) ?? 0n) + nanos)
  }

  /** Entries that the journal gives. */
  get entries(): number {
    return this.#entries
  }

  /** Bills whose request row is awaited. */
  get awaited(): number {
    return this.#billed.size
  }

  /** Takes the next request row that cost something, in the order in which they were written. */
  takeBill(row: BillOnDisk): void {
    const billed = this.#billed.get(row.id)
    if (!billed) this.#rows.set(row.id, row)
    else {
      this.#billed.delete(row.id)
      this.#compareBills(billed, row)
    }
  }

  /** Notes what is wrong. `drift`: the nanos that it makes a difference of. */
  find(words: string, drift = 0n): void {
    this.#drift += drift
    if (this.#findings.length < findingsMost) this.#findings.push(words)
  }

  /** Compares the owners, and tells what was found so far. */
  verdict(owners: Iterable<readonly [id: string, owner: StoredOwner]>): Verdict {
    for (const { id, cost } of this.#billed.values())
      this.find(`request ${id} has no row for its ${cost} nanos`, cost)
    for (const { id, cost } of this.#rows.values())
      this.find(`request ${id} has a row of ${cost} nanos and no bill`, cost)
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

  #bill(billed: BillOnDisk): void {
    const row = this.#rows.get(billed.id)
    if (!row) this.#billed.set(billed.id, billed)
    else {
      this.#rows.delete(billed.id)
      this.#compareBills(billed, row)
    }
  }

  #compareBills(billed: BillOnDisk, row: BillOnDisk): void {
    const names = differing(billed, row)
    if (names.length === 0) return
    const words = `request ${row.id} was billed ${billed.cost} nanos, its row has ${row.cost}`
    this.find(`${words} (${names.join(', ')})`, distance(billed.cost, row.cost))
  }

  #compareEntries({ seq, entries }: CommitOnDisk, computed: readonly Transfer[]): void {
    this.#entries += computed.length
    for (const [index, transfer] of computed.entries()) {
      const found = entries[index]
      if (!found) this.find(`commit ${seq} lacks the entry of ${transfer.ref}`, transfer.amount)
      else {
        const names = differing(transfer, found)
        const words = `the entry of ${transfer.ref} in commit ${seq} differs in ${names.join(', ')}`
        if (names.length > 0) this.find(words, distance(transfer.amount, found.amount))
      }
    }
    for (const { ref, amount } of entries.slice(computed.length)) {
      this.find(`commit ${seq} has an entry of ${ref} that the journal does not give`, amount)
    }
    for (const { debit, credit, amount } of entries) {
      this.#sum(debit, -amount)
      this.#sum(credit, amount)
    }
  }

  #compareDropped(): void {
    const { bills, cost } = this.#dropped
    if (bills === 0 || (this.#forgone.bills === bills && this.#forgone.cost === cost)) return
    const words = `request rows of ${bills} bills of ${cost} nanos were deleted for their age, the journal has`
    this.find(
      `${words} ${this.#forgone.bills} of ${this.#forgone.cost} nanos there`,
      distance(cost, this.#forgone.cost),
    )
  }

  #compareOwners(rows: ReadonlyMap<string, StoredOwner>): void {
    for (const id of new Set([...this.state.owners.keys(), ...rows.keys()])) {
      const owner = this.state.owners.get(id) ?? emptyOwner()
      const computed = storedPartOf(owner)
      const row = rows.get(id)
      const names = row ? differing(computed, row) : ['everything: it has no row']
      const drift = distance(computed.balance, row?.balance ?? 0n)
      if (names.length > 0)
        this.find(`the row of ${id} differs from the journal in ${names.join(', ')}`, drift)
      if (owner.held < 0n) this.find(`${id} holds ${owner.held} nanos`)
      if (!isAccount(id)) continue
      const sum = this.#sums.get(bookOf(id)) ?? 0n
      if (sum === owner.balance) continue
      this.find(`the entries of ${id} sum to ${sum}, not ${owner.balance}`, distance(sum, owner.balance))
    }
  }
}

const isAccount = (ownerId: string): boolean => ownerId.startsWith(accountOwner(''))
const bookOf = (ownerId: string): string => accountBook(ownerId.slice(accountOwner('').length))
