/** The progress of a long operation, by rows or similar. */

const width = 24

/** Gets a description of what is being done, which can be followed by a number of seconds. */
export type OnProgress = (text: string) => void

/** `part`: from 0 to 1. */
export type OnAdvance = (part: number, what: string) => void

export class Progress {
  readonly #total: number
  readonly #onAdvance: OnAdvance
  #done = 0

  /** `total`: of what is counted; mostly rows. */
  constructor(total: number, onAdvance: OnAdvance) {
    this.#total = Math.max(1, total)
    this.#onAdvance = onAdvance
  }

  step(what: string, count: number): void {
    this.#done += count
    this.#onAdvance(Math.min(1, this.#done / this.#total), what)
  }
}

/** Reports it as a line with a progress bar. */
export function progressBar(onProgress: OnProgress): OnAdvance {
  return (part, what) => {
    const full = Math.floor(part * width)
    onProgress(`[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${Math.floor(part * 100)} % ${what},`)
  }
}
