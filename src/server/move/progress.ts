/** How far something long has come, as a line with a bar. */

const width = 24

/** Told what is being done, in words that a number of seconds may follow. */
export type Tell = (step: string) => void

export class Progress {
  readonly #total: number
  readonly #tell: Tell
  #done = 0

  /** `total`: of whatever is counted; rows, mostly. */
  constructor(total: number, tell: Tell) {
    this.#total = Math.max(1, total)
    this.#tell = tell
  }

  step(what: string, count: number): void {
    this.#done += count
    const part = Math.min(1, this.#done / this.#total)
    const full = Math.floor(part * width)
    this.#tell(`[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${Math.floor(part * 100)} % ${what},`)
  }
}
