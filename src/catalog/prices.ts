/**
 * Prices: decimal strings per 1,000 tokens in the API, nanos per million tokens internally. A change creates
 * a new version, effective immediately. Old versions stay, because running requests and past bills refer to
 * them.
 */

import { type ApiError, invalidField } from '../errors.ts'
import { formatAmount, parseAmount, formatPrice, parsePrice } from '../lib/money.ts'
import type { Db } from '../db/db.ts'
import { sql, type PriceRow } from '../db/schema/schema.ts'

/** Nano-yuan per million tokens; `perRequest` and `perSearch` are nano-yuan. The input of ledger/price.ts. */
export interface Price {
  /** Marked as free, not just priced at zero. */
  readonly free: boolean
  readonly input: bigint
  readonly output: bigint
  /** null: same as input. */
  readonly cachedInput: bigint | null
  /** null: same as input. */
  readonly cacheWrite: bigint | null
  /** With a lifetime of one hour. null: same as other cache writes. */
  readonly cacheWrite1h: bigint | null
  /** null: same as output. */
  readonly reasoning: bigint | null
  readonly perRequest: bigint
  /** For each web search that the provider reports. null: none. */
  readonly perSearch: bigint | null
}

/** Decimal strings per 1,000 tokens; `perRequest` and `perSearch` are amounts. */
export interface DecimalPrices {
  readonly input: string
  readonly output: string
  readonly cachedInput?: string | null
  readonly cacheWrite?: string | null
  readonly cacheWrite1h?: string | null
  readonly reasoning?: string | null
  readonly perRequest?: string | null
  readonly perSearch?: string | null
}

export type PriceInput = DecimalPrices | { readonly free: true }

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

export function pricesRequired(param = 'prices'): ApiError {
  return invalidField(param, 'is required, or {"free": true}')
}

function parseOptionalPrice(text: string | null | undefined, param: string): bigint | null {
  return text === undefined || text === null ? null : parsePrice(text, param)
}

function parseNonNegativeAmount(text: string, param: string): bigint {
  const nanos = parseAmount(text, param)
  if (nanos >= 0n) return nanos
  throw invalidField(param, 'must not be negative')
}

function parseOptionalAmount(text: string | null | undefined, param: string): bigint | null {
  return text === undefined || text === null ? null : parseNonNegativeAmount(text, param)
}

/** Throws 400 naming the component below `param`. Explicit zeros are a price like any other. */
export function toPrice(input: PriceInput, param = 'prices'): Price {
  if ('free' in input) return freePrice
  return {
    free: false,
    input: parsePrice(input.input, `${param}.input`),
    output: parsePrice(input.output, `${param}.output`),
    cachedInput: parseOptionalPrice(input.cachedInput, `${param}.cached_input`),
    cacheWrite: parseOptionalPrice(input.cacheWrite, `${param}.cache_write`),
    cacheWrite1h: parseOptionalPrice(input.cacheWrite1h, `${param}.cache_write_1h`),
    reasoning: parseOptionalPrice(input.reasoning, `${param}.reasoning`),
    perRequest: parseNonNegativeAmount(input.perRequest ?? '0', `${param}.per_request`),
    perSearch: parseOptionalAmount(input.perSearch, `${param}.per_search`),
  }
}

/** A price in the form in which the API accepts it. */
export function toDecimalPrices(price: Price): PriceInput {
  if (price.free) return { free: true }
  const { free: _free, ...prices } = mapPrice(price, (nanos, name) =>
    name === 'perRequest' || name === 'perSearch' ? formatAmount(nanos) : formatPrice(nanos),
  )
  return prices
}

/** Converts each component that is set. */
export function mapPrice<Value>(
  price: Price,
  convert: (nanos: bigint, name: string) => Value,
): {
  readonly [Name in keyof Price]: Price[Name] extends boolean ? boolean : Value | Extract<Price[Name], null>
} {
  const components = Object.entries(price).map(
    ([name, value]: [string, bigint | boolean | null]) =>
      [name, typeof value === 'bigint' ? convert(value, name) : value] as const,
  )
  return Object.fromEntries(components) as ReturnType<typeof mapPrice<Value>>
}

export function isSamePrice(left: Price, right: Price): boolean {
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

const maxVersions = 100

/** Newest first. */
export async function priceHistory(db: Db, modelId: string): Promise<PriceVersion[]> {
  const query = sql.selectFrom('prices').selectAll().where('model_id', '=', modelId)
  const rows = await db.all(query.orderBy('version', 'desc').limit(maxVersions))
  return rows.map((row) => ({
    version: row.version,
    modelId: row.model_id,
    effectiveAt: row.effective_at,
    price: priceFromRow(row),
  }))
}
