/** When request rows are deleted: once a minute, until none is too old; and what is told of it. */

const everyMs = 60_000
/** A time that lasts is told of whenever it has deleted so many. */
const toldRows = 100_000

export class RequestRetention {
  readonly #keptMs: number
  readonly #dropped: (requests: number) => void
  #nextAt = 0
  #untold = 0

  /** `keptMs`: 0 for good. `dropped`: told how many rows were deleted since it was told last. */
  constructor(keptMs: number, dropped: (requests: number) => void) {
    this.#keptMs = keptMs
    this.#dropped = dropped
  }

  /** Rows of before this moment are to be deleted now; null: none for a while. */
  get before(): number | null {
    return this.#keptMs === 0 || performance.now() < this.#nextAt ? null : Date.now() - this.#keptMs
  }

  /** Notes how many rows a step has deleted; with 0 it is done for now. */
  note(rows: number): void {
    this.#untold += rows
    if (rows === 0) this.#nextAt = performance.now() + everyMs
    if (this.#untold === 0 || (rows > 0 && this.#untold < toldRows)) return
    this.#dropped(this.#untold)
    this.#untold = 0
  }
}
