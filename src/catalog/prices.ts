/**
 * Prices: decimal strings per 1,000 tokens outside, nanos per million tokens inside. A change makes a new version,
 * effective at once; old versions stay, because running requests and past bills name theirs.
 */

import { refuse, type Refusal } from '../errors.ts'
import { decimalOf, nanosOf, pricePer1KOf, pricePerMillionOf } from '../lib/money.ts'
import type { Db } from '../db/db.ts'
import { sql, type PriceRow } from '../db/schema/schema.ts'

/** Nano-yuan per million tokens; `perRequest` and `perSearch` are nano-yuan. The shape that ledger/price.ts multiplies. */
export interface Price {
  /** Said to be free, not just priced at zero. */
  readonly free: boolean
  readonly input: bigint
  readonly output: bigint
  /** null costs what input costs. */
  readonly cachedInput: bigint | null
  /** null costs what input costs. */
  readonly cacheWrite: bigint | null
  /** For an hour; null costs what any other cache write costs. */
  readonly cacheWrite1h: bigint | null
  /** null costs what output costs. */
  readonly reasoning: bigint | null
  readonly perRequest: bigint
  /** For each search of the web that the provider did; null costs nothing. */
  readonly perSearch: bigint | null
}

/** Decimal strings per 1,000 tokens; `perRequest` and `perSearch` are amounts. */
export interface PriceWords {
  readonly input: string
  readonly output: string
  readonly cachedInput?: string | null
  readonly cacheWrite?: string | null
  readonly cacheWrite1h?: string | null
  readonly reasoning?: string | null
  readonly perRequest?: string | null
  readonly perSearch?: string | null
}

export type PriceInput = PriceWords | { readonly free: true }

/** One version of a model's price. */
export interface PriceVersion {
  readonly version: number
  readonly modelId: string
  readonly effectiveAt: number
  readonly price: Price
}

const freePrice: Price = {
  free: true,
  input: 0n,
  output: 0n,
  cachedInput: null,
  cacheWrite: null,
  cacheWrite1h: null,
  reasoning: null,
  perRequest: 0n,
  perSearch: null,
}

export function priceMissing(): Refusal {
  return refuse('invalid_request', { param: 'prices', message: 'prices has to be given, or {"free": true}.' })
}

function optionalPrice(text: string | null | undefined, param: string): bigint | null {
  return text === undefined || text === null ? null : pricePerMillionOf(text, param)
}

function amountFrom0(text: string, param: string): bigint {
  const nanos = nanosOf(text, param)
  if (nanos >= 0n) return nanos
  throw refuse('invalid_request', { param, message: `${param} may not be negative.` })
}

function optionalAmount(text: string | null | undefined, param: string): bigint | null {
  return text === undefined || text === null ? null : amountFrom0(text, param)
}

/** Refuses with 400 naming `prices.<component>`. Zeros that are written out are a price like any other. */
export function priceOf(input: PriceInput): Price {
  if ('free' in input) return freePrice
  return {
    free: false,
    input: pricePerMillionOf(input.input, 'prices.input'),
    output: pricePerMillionOf(input.output, 'prices.output'),
    cachedInput: optionalPrice(input.cachedInput, 'prices.cached_input'),
    cacheWrite: optionalPrice(input.cacheWrite, 'prices.cache_write'),
    cacheWrite1h: optionalPrice(input.cacheWrite1h, 'prices.cache_write_1h'),
    reasoning: optionalPrice(input.reasoning, 'prices.reasoning'),
    perRequest: amountFrom0(input.perRequest ?? '0', 'prices.per_request'),
    perSearch: optionalAmount(input.perSearch, 'prices.per_search'),
  }
}

/** A price in the words it was given in. */
export function priceWords(price: Price): PriceInput {
  if (price.free) return { free: true }
  const optional = (nanos: bigint | null): string | null => (nanos === null ? null : pricePer1KOf(nanos))
  return {
    input: pricePer1KOf(price.input),
    output: pricePer1KOf(price.output),
    cachedInput: optional(price.cachedInput),
    cacheWrite: optional(price.cacheWrite),
    cacheWrite1h: optional(price.cacheWrite1h),
    reasoning: optional(price.reasoning),
    perRequest: decimalOf(price.perRequest),
    perSearch: price.perSearch === null ? null : decimalOf(price.perSearch),
  }
}

export function samePrice(left: Price, right: Price): boolean {
  const rights: Readonly<Record<string, unknown>> = { ...right }
  return Object.entries(left).every(([name, value]) => rights[name] === value)
}

export function priceFromRow(row: PriceRow): Price {
  return {
    free: row.free === 1,
    input: row.input_per_million_nanos,
    output: row.output_per_million_nanos,
    cachedInput: row.cached_input_per_million_nanos,
    cacheWrite: row.cache_write_per_million_nanos,
    cacheWrite1h: row.cache_write_1h_per_million_nanos,
    reasoning: row.reasoning_per_million_nanos,
    perRequest: row.per_request_nanos,
    perSearch: row.per_search_nanos,
  }
}

/** The row of a new version. */
export function priceRow(modelId: string, price: Price, effectiveAt: number): Omit<PriceRow, 'version'> {
  return {
    model_id: modelId,
    effective_at: effectiveAt,
    free: price.free ? 1 : 0,
    input_per_million_nanos: price.input,
    output_per_million_nanos: price.output,
    cached_input_per_million_nanos: price.cachedInput,
    cache_write_per_million_nanos: price.cacheWrite,
    cache_write_1h_per_million_nanos: price.cacheWrite1h,
    reasoning_per_million_nanos: price.reasoning,
    per_request_nanos: price.perRequest,
    per_search_nanos: price.perSearch,
  }
}

/** The price in force: the newest version. */
export async function currentPrice(db: Db, modelId: string): Promise<PriceVersion | undefined> {
  return (await priceHistory(db, modelId, 1))[0]
}

/** Newest first. */
export async function priceHistory(db: Db, modelId: string, limit = 100): Promise<PriceVersion[]> {
  const query = sql.selectFrom('prices').selectAll().where('model_id', '=', modelId)
  const rows = await db.all(query.orderBy('version', 'desc').limit(limit))
  return rows.map((row) => ({
    version: row.version,
    modelId: row.model_id,
    effectiveAt: row.effective_at,
    price: priceFromRow(row),
  }))
}
