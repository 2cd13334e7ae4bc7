/** What a node writes to its own disk: marks of its running streams, and settlements that the database does not have yet. */
import type { LocalJournal } from '../../db/sqlite/local-journal.ts'
import type { Operation, SettleRequest } from '../../ledger/transaction.ts'
import { costOfUsage } from '../../ledger/operations.ts'
import type { Hold } from '../../ledger/state.ts'
import type { QueuedOperation } from './queued-operations.ts'

/** A settlement as JSON on the disk: the parts of the operation that cannot be derived again. */
interface LocalSettlement {
  readonly ask: SettleRequest
  readonly at: number
  readonly kept: { readonly sealed: string | null; readonly isWhole: boolean } | null
}

export class NodeJournal {
  readonly #local: LocalJournal
  /** Requests that have a line on the disk. */
  readonly #written: Set<string>

  constructor(local: LocalJournal) {
    this.#local = local
    const { marks, settlements } = local.contents
    this.#written = new Set([...marks, ...settlements].map(({ id }) => id))
  }

  /** Resolves when the mark is on the disk. */
  mark(id: string, input: number, output: number): Promise<void> {
    this.#written.add(id)
    return this.#local.write(['mark', id, input, output])
  }

  /**
   * Saves an operation that is a settlement until the database has it, and replies with the cost of its usage: only the
   * database knows what is available. If this disk is full as well, the operation and its caller keep waiting.
   */
  saveSettlement(queued: QueuedOperation, holds: ReadonlyMap<string, Hold>): void {
    const { operation, isSavedLocally } = queued
    if (operation.kind !== 'settle' || isSavedLocally) return
    queued.isSavedLocally = true
    this.#write(operation).then(
      () => queued.reply(costOf(operation, holds.get(operation.request.id))),
      () => (queued.isSavedLocally = false),
    )
  }

  #write({ request, at, storedResponse }: Operation<'settle'>): Promise<void> {
    const sealed = storedResponse?.sealed ? Buffer.from(storedResponse.sealed).toString('base64') : null
    const body: LocalSettlement = {
      ask: request,
      at,
      kept: storedResponse && { sealed, isWhole: storedResponse.isComplete },
    }
    this.#written.add(request.id)
    return this.#local.write(['settle', request.id, JSON.stringify(body)])
  }

  /** The settlements that an earlier process has saved. */
  settlements(): Pick<Operation<'settle'>, 'request' | 'at' | 'storedResponse'>[] {
    return this.#local.contents.settlements.map(({ body }) => {
      const { ask, at, kept } = JSON.parse(body) as LocalSettlement
      const sealed = kept?.sealed ? Buffer.from(kept.sealed, 'base64') : null
      return { request: ask, at, storedResponse: kept && { sealed, isComplete: kept.isWhole } }
    })
  }

  /** These requests have ended in the database. */
  remove(ids: readonly string[]): void {
    for (const id of ids) if (this.#written.delete(id)) this.#local.append(['forget', id])
  }

  /** All requests have ended in the database. */
  removeAll(): void {
    this.remove([...this.#written])
  }
}

function costOf({ request, otherPrice }: Operation<'settle'>, held: Hold | undefined): bigint {
  return held && request.usage ? costOfUsage(held, request.usage, otherPrice) : 0n
}
