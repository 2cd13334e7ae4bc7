/**
 * The store of a cluster node, as the engine uses it: operations wait for the node's next batch, and marks of streams are
 * written to the node's own disk.
 */
import type { Db } from '../../db/db.ts'
import { hasOlderNodes } from '../../db/postgres/nodes.ts'
import { readAvailableUnderHolds, readOwnerRows } from '../../db/postgres/ledger-rows.ts'
import { emptyOwner, type LedgerState, type Owner } from '../../ledger/state.ts'
import type { CreditingKind, Operation, OperationKind, Results } from '../../ledger/transaction.ts'
import type { LedgerStore } from '../ledger-store.ts'
import type { NodeJournal } from './node-journal.ts'
import type { SharedLedger } from './shared-ledger.ts'
import { ownerFromRow } from './shared-rows.ts'

/** The first release that reads from the journal that a credit ends the restrictions of an overrun. */
const endsOverrunSince = [0, 6] as const

export interface SharedStoreDeps {
  readonly ledger: SharedLedger
  readonly journal: NodeJournal
  readonly db: Db
}

export class SharedStore implements LedgerStore {
  readonly #deps: SharedStoreDeps
  readonly newest = 0
  readonly durable = 0

  constructor(deps: SharedStoreDeps) {
    this.#deps = deps
  }

  get state(): LedgerState {
    return this.#deps.ledger.state
  }

  get isAdmitting(): boolean {
    return this.#deps.ledger.isAdmitting
  }

  /** A batch is written as soon as the one before it. */
  requestFlush(): void {}

  /** Only the batch knows, which loads the rows. */
  check(): null {
    return null
  }

  decide<Kind extends OperationKind>(operation: Operation<Kind> & Operation): Promise<Results[Kind] | null> {
    return this.#deps.ledger.decide(operation)
  }

  enterCredit<Kind extends CreditingKind>(
    operation: Operation<Kind> & Operation,
  ): Promise<Results[Kind] | null> {
    return this.#deps.ledger.decide(operation)
  }

  keepsOverruns(): Promise<boolean> {
    // An unavailable database does not say; the credit is entered as soon as it is back.
    return hasOlderNodes(this.#deps.db, endsOverrunSince).catch(() => true)
  }

  /** Resolves when the mark is on this node's disk; with `null` if it cannot be written. */
  async mark({ id, ...mark }: Operation<'mark'>): Promise<undefined | null> {
    const { ledger, journal } = this.#deps
    if (!ledger.state.holds.has(id)) return undefined
    try {
      await journal.mark(id, mark.inputTokens, mark.outputTokens)
    } catch {
      return null
    }
    ledger.holds.mark(id, mark)
    return undefined
  }

  async readOwners(ids: readonly string[]): Promise<readonly Owner[]> {
    const rows = await readOwnerRows(this.#deps.db, [...ids])
    const found = new Map(rows.map((row) => [row.id, ownerFromRow(row)]))
    return ids.map((id) => found.get(id) ?? emptyOwner())
  }

  async availableUnderHolds(): Promise<ReadonlyMap<string, bigint>> {
    const rows = await readAvailableUnderHolds(this.#deps.db)
    return new Map(rows.map((row) => [row.account, row.available_nanos]))
  }
}
