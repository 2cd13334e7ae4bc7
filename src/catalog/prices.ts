/**
 * Prices: decimal strings per 1,000 tokens in the API (price-input.ts), nanos per million tokens internally. A change
 * creates a new version, effective immediately or from a later time. Old versions stay, because running requests and past
 * bills refer to them.
 */
import {
  decodeUnitPrices,
  encodeUnitPrices,
  textRates,
  type TokenRates,
  type UnitPrices,
} from '../providers/price-units.ts'
import type { Db } from '../db/db.ts'
import { sql, type PriceRow } from '../db/schema/schema.ts'

/** Nanos of the platform's currency per million tokens; `perRequest` and `perSearch` are nanos. The input of ledger/price.ts. */
export interface Price extends TokenRates, UnitPrices {
  /** Marked as free, not just priced at zero. */
  readonly free: boolean
  readonly cacheWrite1h: bigint | null
  readonly modality?: TokenRates['modality']
  readonly perRequest: bigint
  /** For each web search that the provider reports. null: none. */
  readonly perSearch: bigint | null
}

/** One version of a model's price. */
export interface PriceVersion {
  readonly version: number
  readonly modelId: string
  readonly effectiveAt: number
  readonly price: Price
}

const components = ['free', ...textRates, 'perRequest', 'perSearch'] as const

export function isSamePrice(left: Price, right: Price): boolean {
  return (
    components.every((name) => left[name] === right[name]) &&
    encodeUnitPrices(left) === encodeUnitPrices(right)
  )
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
    ...(row.units === null ? {} : decodeUnitPrices(row.units)),
  }
}

/** The price that applies at a time. `rows`: the newest version first. */
export function priceAt(rows: readonly PriceRow[], now: number): PriceRow | undefined {
  return rows.find(({ effective_from: from }) => from === null || from <= now)
}

/** The row of a new version. `effectiveFrom`: when it is to apply; `null`: at once. */
export function priceRow(
  modelId: string,
  price: Price,
  now: number,
  effectiveFrom: number | null = null,
): Omit<PriceRow, 'version'> {
  return {
    model_id: modelId,
    effective_at: effectiveFrom ?? now,
    effective_from: effectiveFrom,
    free: price.free ? 1 : 0,
    input_per_million_nanos: price.input,
    output_per_million_nanos: price.output,
    cached_input_per_million_nanos: price.cachedInput,
    cache_write_per_million_nanos: price.cacheWrite,
    cache_write_1h_per_million_nanos: price.cacheWrite1h,
    reasoning_per_million_nanos: price.reasoning,
    per_request_nanos: price.perRequest,
    per_search_nanos: price.perSearch,
    units: encodeUnitPrices(price),
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
