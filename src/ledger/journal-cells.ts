/** The cells of one event in a journal row; see journal.ts for the format. */
import { decodeUnitPrices, decodeUnitUsage, type UnitPrices } from '../providers/price-units.ts'
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

  fees(): Pick<Price, 'perRequest' | 'perSearch'> & UnitPrices {
    const pair = this.#pair()
    if (!pair) return { perRequest: this.nanos() }
    const [perSearch, units] = splitAtSlash(pair[1])
    return {
      perRequest: BigInt(pair[0]),
      perSearch: perSearch === '' ? null : BigInt(perSearch),
      ...(units === undefined ? {} : decodeUnitPrices(units)),
    }
  }

  reasoning(): Pick<Usage, 'reasoning' | 'searches' | 'modality' | 'toolCalls' | 'tier'> {
    const pair = this.#pair()
    if (!pair) return { reasoning: this.count() }
    const [searches, units] = splitAtSlash(pair[1])
    return {
      reasoning: Number(pair[0]),
      ...(searches === '0' ? {} : { searches: Number(searches) }),
      ...(units === undefined ? {} : decodeUnitUsage(units)),
    }
  }

  /** The two parts of the next cell. `null`: it has one, and is not consumed. */
  #pair(): [all: string, part: string] | null {
    const cell = this.#cells[this.#next]
    const [all, part] = typeof cell === 'string' ? splitAtSlash(cell) : []
    if (all === undefined || part === undefined) return null
    this.#next += 1
    return [all, part]
  }
}

/** The text before the first slash, and the text after it, if there is one. */
function splitAtSlash(text: string): [before: string, after?: string] {
  const slash = text.indexOf('/')
  return slash === -1 ? [text] : [text.slice(0, slash), text.slice(slash + 1)]
}
