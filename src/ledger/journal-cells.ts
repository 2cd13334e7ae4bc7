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
    const [all, hour] = this.#parts()
    if (hour === undefined) return { cacheWrite: this.nanosOrNull() }
    this.#next += 1
    return { cacheWrite: all === '' ? null : BigInt(all), cacheWrite1h: BigInt(hour) }
  }

  cacheWriteTokens(): Pick<Usage, 'cacheWrite' | 'cacheWrite1h'> {
    const [all, hour] = this.#parts()
    if (hour === undefined) return { cacheWrite: this.count() }
    this.#next += 1
    return { cacheWrite: Number(all), cacheWrite1h: Number(hour) }
  }

  fees(): Pick<Price, 'perRequest' | 'perSearch'> {
    const [request, search] = this.#parts()
    if (search === undefined) return { perRequest: this.nanos() }
    this.#next += 1
    return { perRequest: BigInt(request), perSearch: BigInt(search) }
  }

  reasoning(): Pick<Usage, 'reasoning' | 'searches'> {
    const [reasoning, searches] = this.#parts()
    if (searches === undefined) return { reasoning: this.count() }
    this.#next += 1
    return { reasoning: Number(reasoning), searches: Number(searches) }
  }

  /** The two parts of the next cell if it has two. */
  #parts(): [all: string, hour?: string] {
    const cell = this.#cells[this.#next]
    const slash = typeof cell === 'string' ? cell.indexOf('/') : -1
    return typeof cell === 'string' && slash !== -1 ? [cell.slice(0, slash), cell.slice(slash + 1)] : ['']
  }
}
