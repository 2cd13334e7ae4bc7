/**
 * The journal's format: one JSON array per commit; each event is a flat array that begins with a one-letter
 * code. Amounts are decimal strings of nanos, so that no reader parses them as floating-point numbers. For
 * cache writes with a lifetime of one hour, the cache-write cell, price or tokens, is the text `all/hour`. If
 * web searches have a price, the last cell of the price is `request/search`; if there were any, the reasoning
 * cell is `reasoning/searches`. Both cells have a third part, JSON, for what is priced or used by unit (price-units.ts).
 *
 *   h held      [h, id, at, account, key, model, amount, price…, factor, input, output, dayEnd, monthEnd,
 *   claim…, model, terms]
 *   x extended  [x, id, at, amount, output]
 *   m marked    [m, id, at, input, output]
 *   s settled   [s, id, at, cause, input, cached, write, output, reasoning, charge, overrun, price…]
 *   r released  [r, id, at]
 *   c credited  [c, id, at, account, amount, source, reason]
 *   l late      [l, id, at, account, overrun, (charge, key, dayEnd, monthEnd)]
 *   p reopened  [p, owner, at, dayEnd, daySpent, dayRequests, monthEnd, monthSpent]
 */
import type {
  IdempotencyClaim,
  CreditKind,
  Held,
  Late,
  LateCharge,
  LedgerEvent,
  SettleCause,
  Settled,
} from './events.ts'
import { CellReader, JournalFormatError } from './journal-cells.ts'
import type { HoldTerms } from './cost-bound.ts'
import { encodeUnitPrices, encodeUnitUsage } from '../providers/price-units.ts'
import type { Price, Usage } from './price.ts'

export { JournalFormatError }

type Cell = string | number | null

const nanosText = (nanos: bigint | null): string | null => (nanos === null ? null : nanos.toString())

function encodePrice(price: Price): Cell[] {
  return [
    price.version,
    nanosText(price.input),
    nanosText(price.output),
    nanosText(price.cachedInput),
    cacheWritePriceCell(price),
    nanosText(price.reasoning),
    feesCell(price),
  ]
}

function cacheWritePriceCell({ cacheWrite, cacheWrite1h = null }: Price): string | null {
  return cacheWrite1h === null ? nanosText(cacheWrite) : `${cacheWrite ?? ''}/${cacheWrite1h}`
}

function feesCell(price: Price): string {
  const { perRequest, perSearch = null } = price
  const units = encodeUnitPrices(price)
  if (units !== null) return `${perRequest}/${perSearch ?? ''}/${units}`
  return perSearch === null ? perRequest.toString() : `${perRequest}/${perSearch}`
}

function reasoningCell(usage: Usage): Cell {
  const { reasoning, searches = 0 } = usage
  const units = encodeUnitUsage(usage)
  if (units !== null) return `${reasoning}/${searches}/${units}`
  return searches === 0 ? reasoning : `${reasoning}/${searches}`
}

function cacheWriteTokensCell({ cacheWrite, cacheWrite1h = 0 }: Usage): Cell {
  return cacheWrite1h === 0 ? cacheWrite : `${cacheWrite}/${cacheWrite1h}`
}

/**
 * Optional cells of a hold: its claim, whether it counts for its model, and its terms as JSON. Without a claim the two
 * claim cells are empty.
 */
function encodeOptional({ claim, countsForModel, terms }: Held): Cell[] {
  if (!claim && !countsForModel && !terms) return []
  const cells = [claim?.key ?? '', claim?.body ?? '']
  if (terms) return [...cells, countsForModel ? 1 : 0, JSON.stringify(terms)]
  return countsForModel ? [...cells, 1] : cells
}

function encodeEvent(event: LedgerEvent): Cell[] {
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
        nanosText(event.amount),
        ...encodePrice(event.price),
        event.factorPpm,
        event.inputTokens,
        event.outputTokens,
        event.dayEnd,
        event.monthEnd,
        ...encodeOptional(event),
      ]
    case 'extended':
      return ['x', id, at, nanosText(event.amount), event.outputTokens]
    case 'marked':
      return ['m', id, at, event.inputTokens, event.outputTokens]
    case 'settled': {
      const { input, cachedInput, output } = event.usage
      const counts = [
        input,
        cachedInput,
        cacheWriteTokensCell(event.usage),
        output,
        reasoningCell(event.usage),
      ]
      const sums = [nanosText(event.charge), nanosText(event.overrun)]
      return ['s', id, at, event.cause, ...counts, ...sums, ...(event.price ? encodePrice(event.price) : [])]
    }
    case 'released':
      return ['r', id, at]
    case 'credited':
      return [
        'c',
        id,
        at,
        event.account,
        nanosText(event.amount),
        event.source,
        event.reason,
        ...(event.endsOverrun ? [1] : []),
      ]
    case 'late':
      return ['l', id, at, event.account, nanosText(event.overrun), ...encodeLateCharge(event.charge)]
    case 'reopened': {
      const day = [event.dayEnd, nanosText(event.daySpent), event.dayRequests]
      return ['p', id, at, ...day, event.monthEnd, nanosText(event.monthSpent)]
    }
  }
}

function encodeLateCharge(charge: LateCharge | undefined): Cell[] {
  return charge ? [nanosText(charge.amount), charge.key, charge.dayEnd, charge.monthEnd] : []
}

/** The body of one journal row. */
export function encodeEvents(events: readonly LedgerEvent[]): string {
  return JSON.stringify(events.map(encodeEvent))
}

/**
 * A few prices recur in most requests, and decoding one means parsing seven numbers. Decoded prices are
 * cached together with the cells they were decoded from.
 */
const priceCache = new Map<number, { readonly cells: readonly unknown[]; readonly price: Price }>()
const maxCachedPrices = 1000
const priceCellCount = 7

function readPrice(cells: CellReader): Price {
  const own = cells.peek(priceCellCount)
  const cached = priceCache.get(Number(own[0]))
  if (cached?.cells.every((cell, index) => cell === own[index])) {
    cells.skip(priceCellCount)
    return cached.price
  }
  const price = decodePrice(cells)
  if (priceCache.size === maxCachedPrices) priceCache.clear()
  priceCache.set(price.version, { cells: own, price })
  return price
}

function decodePrice(cells: CellReader): Price {
  return {
    version: cells.count(),
    input: cells.nanos(),
    output: cells.nanos(),
    cachedInput: cells.nanosOrNull(),
    ...cells.cacheWritePrice(),
    reasoning: cells.nanosOrNull(),
    ...cells.fees(),
  }
}

function readClaim(cells: CellReader): IdempotencyClaim | undefined {
  if (cells.isAtEnd) return undefined
  const claim = { key: cells.text(), body: cells.text() }
  return claim.key === '' ? undefined : claim
}

function decodeLate(cells: CellReader, id: string, at: number): Late {
  const late = { kind: 'late', id, at, account: cells.text(), overrun: cells.nanos() } as const
  if (cells.isAtEnd) return { ...late, charge: undefined }
  const [amount, key] = [cells.nanos(), cells.text()]
  return { ...late, charge: { amount, key, dayEnd: cells.count(), monthEnd: cells.count() } }
}

function decodeSettled(cells: CellReader, id: string, at: number): Settled {
  const cause = cells.text() as SettleCause
  const usage = {
    input: cells.count(),
    cachedInput: cells.count(),
    ...cells.cacheWriteTokens(),
    output: cells.count(),
    ...cells.reasoning(),
  }
  const [charge, overrun] = [cells.nanos(), cells.nanos()]
  const settled = { kind: 'settled', id, at, cause, usage, charge, overrun } as const
  return cells.isAtEnd ? settled : { ...settled, price: readPrice(cells) }
}

function decodeEvent(cells: CellReader): LedgerEvent {
  const code = cells.text()
  const id = cells.text()
  const at = cells.count()
  switch (code) {
    case 'h':
      return {
        kind: 'held',
        id,
        at,
        account: cells.text(),
        key: cells.text(),
        model: cells.text(),
        amount: cells.nanos(),
        price: readPrice(cells),
        factorPpm: cells.count(),
        inputTokens: cells.count(),
        outputTokens: cells.count(),
        dayEnd: cells.count(),
        monthEnd: cells.count(),
        claim: readClaim(cells),
        countsForModel: cells.isAtEnd || cells.count() !== 1 ? undefined : true,
        terms: cells.isAtEnd ? undefined : (JSON.parse(cells.text()) as HoldTerms),
      }
    case 'x':
      return { kind: 'extended', id, at, amount: cells.nanos(), outputTokens: cells.count() }
    case 'm':
      return { kind: 'marked', id, at, inputTokens: cells.count(), outputTokens: cells.count() }
    case 's':
      return decodeSettled(cells, id, at)
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
        endsOverrun: cells.isAtEnd ? undefined : true,
      }
    case 'l':
      return decodeLate(cells, id, at)
    case 'p':
      return {
        kind: 'reopened',
        id,
        at,
        dayEnd: cells.count(),
        daySpent: cells.nanos(),
        dayRequests: cells.count(),
        monthEnd: cells.count(),
        monthSpent: cells.nanos(),
      }
    default:
      throw new JournalFormatError(`unknown event code ${code}`)
  }
}

/** The events of one journal row. Throws `JournalFormatError`. */
export function decodeEvents(body: string): LedgerEvent[] {
  const rows: unknown = JSON.parse(body)
  if (!Array.isArray(rows)) throw new JournalFormatError('not a list of events')
  return rows.map((row: unknown) => {
    if (!Array.isArray(row)) throw new JournalFormatError('not an event')
    return decodeEvent(new CellReader(row))
  })
}
