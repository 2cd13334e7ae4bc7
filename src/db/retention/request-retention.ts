/** Schedules the deletion of old request rows, once a minute until none is left, and reports the deleted rows. */

const pauseMs = 60_000
/** A long deletion is reported each time it has deleted this many rows. */
const reportEveryRows = 100_000

export class RequestRetention {
  readonly #retentionMs: number
  readonly #onDeleted: (requests: number) => void
  #nextAt = 0
  #unreported = 0

  /** `retentionMs`: 0 keeps rows forever. `onDeleted`: called with the number of rows deleted since the last call. */
  constructor(retentionMs: number, onDeleted: (requests: number) => void) {
    this.#retentionMs = retentionMs
    this.#onDeleted = onDeleted
  }

  /** Rows from before this time should be deleted now; null: nothing to delete for now. */
  get cutoff(): number | null {
    return this.#retentionMs === 0 || performance.now() < this.#nextAt ? null : Date.now() - this.#retentionMs
  }

  /** Records how many rows a step has deleted; 0 ends this run. */
  recordDeleted(rows: number): void {
    this.#unreported += rows
    if (rows === 0) this.#nextAt = performance.now() + pauseMs
    if (this.#unreported === 0 || (rows > 0 && this.#unreported < reportEveryRows)) return
    this.#onDeleted(this.#unreported)
    this.#unreported = 0
  }
}
