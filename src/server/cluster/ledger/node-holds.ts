/** What a node knows of the requests that it holds money for, from batch to batch. */
import type { Hold } from '../../../ledger/state.ts'
import type { Mark, OwnHolds } from '../batch-needs.ts'
import type { Batch } from './batch.ts'

export class NodeHolds {
  readonly #open: Map<string, Hold>
  readonly #marks = new Map<string, Mark>()
  /** Of epochs that are over: no more this node's own, but whose money they are is known. */
  readonly #former = new Map<string, Hold>()

  /** `open`: kept up to date here. */
  constructor(open: Map<string, Hold>) {
    this.#open = open
  }

  /** Streams have come further than the database has heard of. */
  get haveMarks(): boolean {
    return this.#marks.size > 0
  }

  mark(id: string, mark: Mark): void {
    if (this.#open.has(id)) this.#marks.set(id, mark)
  }

  /** For one batch: marks that come from now on are the next one's. */
  forBatch(): OwnHolds {
    return { holds: this.#open, marks: new Map(this.#marks), former: this.#former }
  }

  /** Takes over what a batch came to, and which marks it has told the database; tells which holds have ended. */
  take(batch: Batch, marks: ReadonlyMap<string, Mark>): string[] {
    for (const hold of batch.changedHolds()) this.#open.set(hold.id, hold)
    const gone = batch.gone()
    for (const id of gone) for (const known of [this.#open, this.#marks, this.#former]) known.delete(id)
    for (const [id, mark] of marks) if (this.#marks.get(id) === mark) this.#marks.delete(id)
    return gone
  }

  /** The epoch is over. */
  leave(): void {
    for (const [id, hold] of this.#open) this.#former.set(id, hold)
    this.#open.clear()
    this.#marks.clear()
  }
}
