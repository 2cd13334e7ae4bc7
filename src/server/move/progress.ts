/** How far something long has come, by what is counted of it. */

const width = 24

/** Told what is being done, in words that a number of seconds may follow. */
export type Say = (words: string) => void

/** `part`: of the whole, up to 1. */
export type Advance = (part: number, what: string) => void

export class Progress {
  readonly #total: number
  readonly #advance: Advance
  #done = 0

  /** `total`: of whatever is counted; rows, mostly. */
  constructor(total: number, advance: Advance) {
    this.#total = Math.max(1, total)
    this.#advance = advance
  }

  step(what: string, count: number): void {
    this.#done += count
    this.#advance(Math.min(1, this.#done / this.#total), what)
  }
}

/** Says it as a line with a bar. */
export function withBar(say: Say): Advance {
  return (part, what) => {
    const full = Math.floor(part * width)
    say(`[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${Math.floor(part * 100)} % ${what},`)
  }
}
