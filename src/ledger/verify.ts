/**
 * Recomputes the whole ledger from its journal and compares it with everything that is derived from it:
 * the transfers, the balances, the request rows, the open holds. Nothing here is trusted but the events, and those
 * only as far as the hash chain holds.
 */
import { apply } from './apply.ts'
import { accountBook, transfersOf } from './entries.ts'
import { decodeEvents } from './journal.ts'
import { accountOwner, emptyState, type LedgerState } from './state.ts'

/** What the tables say, to be compared with the journal. */
export interface Tables {
  /** Sum of the transfers by book: what came in less what went out. */
  readonly transferSums: ReadonlyMap<string, bigint>
  readonly transferCount: number
  readonly balances: ReadonlyMap<string, bigint>
  /** Sum of the cost of all request rows. */
  readonly requestCost: bigint
}

export interface Verdict {
  readonly ok: boolean
  /** Transfers that the journal gives. */
  readonly entries: number
  /** Sum of all differences found, in nanos. */
  readonly drift: bigint
  readonly openHolds: number
  readonly overrun: bigint
  /** What was found wrong, in words; empty when `ok`. */
  readonly findings: readonly string[]
}

/** The fold over the journal: feed rows in order, then ask for the verdict. */
export class Recomputation {
  readonly state: LedgerState = emptyState()
  readonly #findings: string[] = []
  readonly #sums = new Map<string, bigint>()
  #entries = 0
  #charged = 0n

  /**
   * Takes the next journal row's body; the reader has checked its place in the hash chain. Throws `LedgerBroken` or
   * `JournalUnreadable` when an event cannot follow from those before.
   */
  take(body: string): void {
    for (const event of decodeEvents(body)) {
      const account = this.state.holds.get(event.id)?.account ?? ''
      apply(this.state, event)
      if (event.kind === 'settled') this.#charged += event.charge
      for (const transfer of transfersOf(event, account)) {
        this.#entries += 1
        this.#add(transfer.debit, -transfer.amount)
        this.#add(transfer.credit, transfer.amount)
      }
    }
  }

  #add(book: string, amount: bigint): void {
    this.#sums.set(book, (this.#sums.get(book) ?? 0n) + amount)
  }

  /** Compares what was recomputed with the tables. */
  verdict(tables: Tables): Verdict {
    let drift = 0n
    const compare = (what: string, computed: bigint, found: bigint): void => {
      if (computed === found) return
      drift += computed > found ? computed - found : found - computed
      this.#findings.push(`${what}: the journal gives ${computed} nanos, the table has ${found}`)
    }
    for (const book of new Set([...this.#sums.keys(), ...tables.transferSums.keys()])) {
      compare(`transfers of ${book}`, this.#sums.get(book) ?? 0n, tables.transferSums.get(book) ?? 0n)
    }
    for (const [id, owner] of this.state.owners) {
      if (!id.startsWith('a:')) continue
      compare(`balance of ${id}`, owner.balance, tables.balances.get(id) ?? 0n)
      compare(`entries of ${id}`, owner.balance, this.#sums.get(accountBook(id.slice(2))) ?? 0n)
      if (owner.balance < owner.held || owner.held < 0n) this.#findings.push(`${id} holds more than it has`)
    }
    for (const [id, balance] of tables.balances) {
      if (id.startsWith(accountOwner('')) && !this.state.owners.has(id))
        compare(`balance of ${id}`, 0n, balance)
    }
    compare('cost of all requests', this.#charged, tables.requestCost)
    if (this.#entries !== tables.transferCount) {
      this.#findings.push(`the journal gives ${this.#entries} entries, the table has ${tables.transferCount}`)
    }
    return {
      ok: this.#findings.length === 0 && drift === 0n,
      entries: this.#entries,
      drift,
      openHolds: this.state.holds.size,
      overrun: this.state.overrun,
      findings: this.#findings,
    }
  }
}
