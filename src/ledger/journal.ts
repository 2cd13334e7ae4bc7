/**
 * Events as the journal keeps them: one JSON array per commit, each event a flat array that begins with a
 * letter. Amounts are decimal strings of nanos, so that no reader ever makes a float of them. Where something is written to
 * a provider's cache for an hour, the cell of what is written, price or tokens, is the text `all/hour`. Where searches of
 * the web cost, the price's last cell is `request/search`; where there were any, the cell of reasoning is `reasoning/searches`.
 *
 *   h held      [h, id, at, account, key, model, amount, price…, factor, input, output, dayEnd, monthEnd, claim…, model]
 *   x extended  [x, id, at, amount, output]
 *   m marked    [m, id, at, input, output]
 *   s settled   [s, id, at, cause, input, cached, write, output, reasoning, charge, overrun, price…]
 *   r released  [r, id, at]
 *   c credited  [c, id, at, account, amount, source, reason]
 *   l late      [l, id, at, account, overrun]
 */
import type { Claim, CreditKind, Held, LedgerEvent, SettleCause } from './events.ts'
import type { Price, Usage } from './price.ts'

type Cell = string | number | null

const textOf = (nanos: bigint | null): string | null => (nanos === null ? null : nanos.toString())

function cellsOfPrice(price: Price): Cell[] {
  return [
    price.version,
    textOf(price.input),
    textOf(price.output),
    textOf(price.cachedInput),
    writtenPrice(price),
    textOf(price.reasoning),
    fees(price),
  ]
}

function writtenPrice({ cacheWrite, cacheWrite1h = null }: Price): string | null {
  return cacheWrite1h === null ? textOf(cacheWrite) : `${cacheWrite ?? ''}/${cacheWrite1h}`
}

function fees({ perRequest, perSearch = null }: Price): string {
  return perSearch === null ? perRequest.toString() : `${perRequest}/${perSearch}`
}

function thought({ reasoning, searches = 0 }: Usage): Cell {
  return searches === 0 ? reasoning : `${reasoning}/${searches}`
}

function writtenTokens({ cacheWrite, cacheWrite1h = 0 }: Usage): Cell {
  return cacheWrite1h === 0 ? cacheWrite : `${cacheWrite}/${cacheWrite1h}`
}

/** What few holds have: a claim (two empty cells where only the other is there), and that it counts for its model. */
function cellsOfCounts({ claim, countsForModel }: Held): Cell[] {
  if (!claim && !countsForModel) return []
  return [claim?.key ?? '', claim?.body ?? '', ...(countsForModel ? [1] : [])]
}

function cellsOf(event: LedgerEvent): Cell[] {
  const { id, at } = event
  switch (event.kind) {
    case 'held':
      return [
        'h',
        id,
        at,
        event.account,
        event.key,
        event.model,
        textOf(event.amount),
        ...cellsOfPrice(event.price),
        event.factorPpm,
        event.inputTokens,
        event.outputTokens,
        event.dayEnd,
        event.monthEnd,
        ...cellsOfCounts(event),
      ]
    case 'extended':
      return ['x', id, at, textOf(event.amount), event.outputTokens]
    case 'marked':
      return ['m', id, at, event.inputTokens, event.outputTokens]
    case 'settled': {
      const { input, cachedInput, output } = event.usage
      const counts = [input, cachedInput, writtenTokens(event.usage), output, thought(event.usage)]
      const sums = [textOf(event.charge), textOf(event.overrun)]
      return ['s', id, at, event.cause, ...counts, ...sums, ...(event.price ? cellsOfPrice(event.price) : [])]
    }
    case 'released':
      return ['r', id, at]
    case 'credited':
      return ['c', id, at, event.account, textOf(event.amount), event.source, event.reason]
    case 'late':
      return ['l', id, at, event.account, textOf(event.overrun)]
  }
}

/** One journal row's body. */
export function encodeEvents(events: readonly LedgerEvent[]): string {
  return JSON.stringify(events.map(cellsOf))
}

/** A journal row that no version of this program has written. */
export class JournalUnreadable extends Error {}

/** Reads the cells of one event in order, each as what it has to be. */
class Cells {
  readonly #cells: readonly unknown[]
  #next = 0

  constructor(cells: readonly unknown[]) {
    this.#cells = cells
  }

  get isOver(): boolean {
    return this.#next === this.#cells.length
  }

  /** The next cells, as they are. */
  peek(count: number): readonly unknown[] {
    return this.#cells.slice(this.#next, this.#next + count)
  }

  skip(count: number): void {
    this.#next += count
  }

  text(): string {
    const cell = this.#cells[this.#next++]
    if (typeof cell !== 'string') throw new JournalUnreadable(`not text: ${JSON.stringify(this.#cells)}`)
    return cell
  }

  count(): number {
    const cell = this.#cells[this.#next++]
    if (typeof cell !== 'number') throw new JournalUnreadable(`not a number: ${JSON.stringify(this.#cells)}`)
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

  writtenPrice(): Pick<Price, 'cacheWrite' | 'cacheWrite1h'> {
    const [all, hour] = this.#parts()
    if (hour === undefined) return { cacheWrite: this.nanosOrNull() }
    this.#next += 1
    return { cacheWrite: all === '' ? null : BigInt(all), cacheWrite1h: BigInt(hour) }
  }

  writtenTokens(): Pick<Usage, 'cacheWrite' | 'cacheWrite1h'> {
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

  thought(): Pick<Usage, 'reasoning' | 'searches'> {
    const [reasoning, searches] = this.#parts()
    if (searches === undefined) return { reasoning: this.count() }
    this.#next += 1
    return { reasoning: Number(reasoning), searches: Number(searches) }
  }

  /** The two halves of the next cell, where it has two. */
  #parts(): [all: string, hour?: string] {
    const cell = this.#cells[this.#next]
    const slash = typeof cell === 'string' ? cell.indexOf('/') : -1
    return typeof cell === 'string' && slash !== -1 ? [cell.slice(0, slash), cell.slice(slash + 1)] : ['']
  }
}

/** Requests have few prices, and each is seven numbers: those that were read are kept, by the cells they were read from. */
const known = new Map<number, { readonly cells: readonly unknown[]; readonly price: Price }>()
const knownMost = 1000
const priceCells = 7

function priceIn(cells: Cells): Price {
  const own = cells.peek(priceCells)
  const last = known.get(Number(own[0]))
  if (last?.cells.every((cell, index) => cell === own[index])) {
    cells.skip(priceCells)
    return last.price
  }
  const price = newPriceIn(cells)
  if (known.size === knownMost) known.clear()
  known.set(price.version, { cells: own, price })
  return price
}

function newPriceIn(cells: Cells): Price {
  return {
    version: cells.count(),
    input: cells.nanos(),
    output: cells.nanos(),
    cachedInput: cells.nanosOrNull(),
    ...cells.writtenPrice(),
    reasoning: cells.nanosOrNull(),
    ...cells.fees(),
  }
}

function claimIn(cells: Cells): Claim | undefined {
  if (cells.isOver) return undefined
  const claim = { key: cells.text(), body: cells.text() }
  return claim.key === '' ? undefined : claim
}

function eventIn(cells: Cells): LedgerEvent {
  const letter = cells.text()
  const id = cells.text()
  const at = cells.count()
  switch (letter) {
    case 'h':
      return {
        kind: 'held',
        id,
        at,
        account: cells.text(),
        key: cells.text(),
        model: cells.text(),
        amount: cells.nanos(),
        price: priceIn(cells),
        factorPpm: cells.count(),
        inputTokens: cells.count(),
        outputTokens: cells.count(),
        dayEnd: cells.count(),
        monthEnd: cells.count(),
        claim: claimIn(cells),
        countsForModel: cells.isOver || cells.count() !== 1 ? undefined : true,
      }
    case 'x':
      return { kind: 'extended', id, at, amount: cells.nanos(), outputTokens: cells.count() }
    case 'm':
      return { kind: 'marked', id, at, inputTokens: cells.count(), outputTokens: cells.count() }
    case 's': {
      const cause = cells.text() as SettleCause
      const usage = {
        input: cells.count(),
        cachedInput: cells.count(),
        ...cells.writtenTokens(),
        output: cells.count(),
        ...cells.thought(),
      }
      const [charge, overrun] = [cells.nanos(), cells.nanos()]
      const settled = { kind: 'settled', id, at, cause, usage, charge, overrun } as const
      return cells.isOver ? settled : { ...settled, price: priceIn(cells) }
    }
    case 'r':
      return { kind: 'released', id, at }
    case 'c':
      return {
        kind: 'credited',
        id,
        at,
        account: cells.text(),
        amount: cells.nanos(),
        source: cells.text() as CreditKind,
        reason: cells.text(),
      }
    case 'l':
      return { kind: 'late', id, at, account: cells.text(), overrun: cells.nanos() }
    default:
      throw new JournalUnreadable(`unknown event ${letter}`)
  }
}

/** The events of one journal row. Throws `JournalUnreadable`. */
export function decodeEvents(body: string): LedgerEvent[] {
  const rows: unknown = JSON.parse(body)
  if (!Array.isArray(rows)) throw new JournalUnreadable('not a list of events')
  return rows.map((row: unknown) => {
    if (!Array.isArray(row)) throw new JournalUnreadable('not an event')
    return eventIn(new Cells(row))
  })
}
