/** The cells of one event in a journal row; see journal.ts for the format. */
import type { Price, Usage } from './price.ts'

/** No version of this program has written this journal row. */
export class JournalFormatError extends Error {}

/** Reads the cells of one event in order and checks their types. */
export class CellReader {
  readonly #cells: readonly unknown[]
  #next = 0

  constructor(cells: readonly unknown[]) {
    this.#cells = cells
  }

  get isAtEnd(): boolean {
    return this.#next === this.#cells.length
  }

  /** The next cells, without consuming them. */
  peek(count: number): readonly unknown[] {
    return this.#cells.slice(this.#next, this.#next + count)
  }

  skip(count: number): void {
    this.#next += count
  }

  text(): string {
    const cell = this.#cells[this.#next++]
    if (typeof cell !== 'string') throw new JournalFormatError(`not text: ${JSON.stringify(this.#cells)}`)
    return cell
  }

  count(): number {
    const cell = this.#cells[this.#next++]
    if (typeof cell !== 'number') throw new JournalFormatError(`not a number: ${JSON.stringify(this.#cells)}`)
    return cell
  }

  nanos(): bigint {
    return BigInt(this.text())
  }

  nanosOrNull(): bigint | null {
    if (this.#cells[this.#next] !== null) return this.nanos()
    this.#next += 1
    return null
  }

  cacheWritePrice(): Pick<Price, 'cacheWrite' | 'cacheWrite1h'> {
    const pair = this.#pair()
    if (!pair) return { cacheWrite: this.nanosOrNull() }
    return { cacheWrite: pair[0] === '' ? null : BigInt(pair[0]), cacheWrite1h: BigInt(pair[1]) }
  }

  cacheWriteTokens(): Pick<Usage, 'cacheWrite' | 'cacheWrite1h'> {
    const pair = this.#pair()
    return pair
      ? { cacheWrite: Number(pair[0]), cacheWrite1h: Number(pair[1]) }
      : { cacheWrite: this.count() }
  }

  fees(): Pick<Price, 'perRequest' | 'perSearch'> {
    const pair = this.#pair()
    return pair ? { perRequest: BigInt(pair[0]), perSearch: BigInt(pair[1]) } : { perRequest: this.nanos() }
  }

  reasoning(): Pick<Usage, 'reasoning' | 'searches'> {
    const pair = this.#pair()
    return pair ? { reasoning: Number(pair[0]), searches: Number(pair[1]) } : { reasoning: this.count() }
  }

  /** The two parts of the next cell. `null`: it has one, and is not consumed. */
  #pair(): [all: string, part: string] | null {
    const cell = this.#cells[this.#next]
    const slash = typeof cell === 'string' ? cell.indexOf('/') : -1
    if (typeof cell !== 'string' || slash === -1) return null
    this.#next += 1
    return [cell.slice(0, slash), cell.slice(slash + 1)]
  }
}
