/** The open holds of a node and the marks of their streams, from batch to batch. */
import type { Hold } from '../../ledger/state.ts'
import type { StreamMark, NodeHoldsView } from './batch-needs.ts'
import type { Batch } from './batch.ts'

export class NodeHolds {
  readonly #open: Map<string, Hold>
  readonly #marks = new Map<string, StreamMark>()
  /** Holds of past epochs: no longer this node's own, but their owners are known. */
  readonly #former = new Map<string, Hold>()

  /** `open`: updated by this class. */
  constructor(open: Map<string, Hold>) {
    this.#open = open
  }

  /** Whether there are marks that the database does not have yet. */
  get hasMarks(): boolean {
    return this.#marks.size > 0
  }

  mark(id: string, mark: StreamMark): void {
    if (this.#open.has(id)) this.#marks.set(id, mark)
  }

  /** For one batch: later marks belong to the next one. */
  snapshot(): NodeHoldsView {
    return { holds: this.#open, marks: new Map(this.#marks), formerHolds: this.#former }
  }

  /** Adopts the result of a batch. `marks`: those that it wrote to the database. Returns the ids of ended holds. */
  applyBatch(batch: Batch, marks: ReadonlyMap<string, StreamMark>): string[] {
    for (const hold of batch.changedHolds()) this.#open.set(hold.id, hold)
    const endedIds = batch.endedIds()
    for (const id of endedIds) for (const known of [this.#open, this.#marks, this.#former]) known.delete(id)
    for (const [id, mark] of marks) if (this.#marks.get(id) === mark) this.#marks.delete(id)
    return endedIds
  }

  /** A hold of an earlier process, which was charged when the node was retired. */
  addFormer(hold: Hold): void {
    this.#former.set(hold.id, hold)
  }

  /** Turns the open holds into those of a past epoch. */
  endEpoch(): void {
    for (const [id, hold] of this.#open) this.#former.set(id, hold)
    this.#open.clear()
    this.#marks.clear()
  }
}
