/** Prices in the API: decimal strings per 1,000 tokens, amounts per unit, and factors. */
import { type ApiError, invalidField } from '../errors.ts'
import { textRates, type TokenRates, type UnitPrices } from '../providers/price-units.ts'
import { formatAmount, formatFactor, formatPrice, parseFactor, parsePrice } from '../lib/money.ts'
import { snakeCase } from '../db/audit-changes.ts'
import { modalityNames, parseServiceTier, type Modality } from '../providers/usage.ts'
import type { Price } from './prices.ts'
import {
  checkEntries,
  parseNonNegativeAmount,
  parseToolPrices,
  toDecimalTools,
  type DecimalTools,
} from './tool-price-input.ts'

/** Decimal strings per 1,000 tokens. */
export interface DecimalRates extends Partial<Record<Modality, string | null | undefined>> {
  readonly input: string
  readonly output: string
  readonly cachedInput?: string | null | undefined
  readonly cacheWrite?: string | null | undefined
  readonly cacheWrite1h?: string | null | undefined
  readonly reasoning?: string | null | undefined
}

/** `perRequest`, `perSearch` and `perToolCall` are amounts; `serviceTiers` are factors on the token prices. */
export interface DecimalPrices extends DecimalRates {
  readonly perRequest?: string | null | undefined
  readonly perSearch?: string | null | undefined
  readonly perToolCall?: DecimalTools | null | undefined
  readonly above?: readonly (DecimalRates & { readonly inputTokens: number })[] | null | undefined
  readonly serviceTiers?: Readonly<Record<string, string>> | null | undefined
}

export type PriceInput = (DecimalPrices | { readonly free: true }) & {
  /** Milliseconds since the epoch; absent: now. */
  readonly effectiveFrom?: number | undefined
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

function parseOptionalAmount(text: string | null | undefined, param: string): bigint | null {
  return text === undefined || text === null ? null : parseNonNegativeAmount(text, param)
}

const rateNames = [...textRates, ...modalityNames] as const

function parseRates(
  rates: DecimalRates,
  param: string,
): TokenRates & { readonly cacheWrite1h: bigint | null } {
  const parse = (name: keyof DecimalRates): bigint | null => {
    const text = rates[name]
    return text === undefined || text === null ? null : parsePrice(text, `${param}.${snakeCase(name)}`)
  }
  const modality = Object.fromEntries(
    modalityNames.flatMap((name) => {
      const rate = parse(name)
      return rate === null ? [] : [[name, rate] as const]
    }),
  )
  return {
    input: parsePrice(rates.input, `${param}.input`),
    output: parsePrice(rates.output, `${param}.output`),
    cachedInput: parse('cachedInput'),
    cacheWrite: parse('cacheWrite'),
    cacheWrite1h: parse('cacheWrite1h'),
    reasoning: parse('reasoning'),
    ...(Object.keys(modality).length > 0 ? { modality } : {}),
  }
}

const maxThresholds = 8

/** Throws 400 unless each price above a length names every token price that the base names. */
function parseAbove(prices: DecimalPrices, param: string): UnitPrices {
  const { above } = prices
  if (!above || above.length === 0) return {}
  if (above.length > maxThresholds) throw invalidField(param, `must have at most ${maxThresholds} entries`)
  const parsed = above.map((entry, index) => {
    const path = `${param}[${index}]`
    const missing = rateNames.find(
      (name) => (prices[name] ?? null) !== null && (entry[name] ?? null) === null,
    )
    if (missing)
      throw invalidField(`${path}.${snakeCase(missing)}`, 'is required, since the base price has it')
    if (!Number.isSafeInteger(entry.inputTokens) || entry.inputTokens < 1)
      throw invalidField(`${path}.input_tokens`, 'must be an integer of at least 1')
    return { above: entry.inputTokens, ...parseRates(entry, path) }
  })
  const ascending = parsed.toSorted((left, right) => left.above - right.above)
  if (new Set(parsed.map((entry) => entry.above)).size < parsed.length)
    throw invalidField(param, 'must not repeat a number of input tokens')
  return { above: ascending }
}

function parseTiers(tiers: DecimalPrices['serviceTiers'], param: string): UnitPrices {
  if (!tiers || Object.keys(tiers).length === 0) return {}
  checkEntries(tiers, param)
  const parsed = Object.entries(tiers).map(([name, factor]) => {
    const tier = parseServiceTier(name)
    if (tier === undefined)
      throw invalidField(`${param}.${name}`, 'is not a service tier with a price of its own')
    return [tier, parseFactor(factor, `${param}.${name}`)] as const
  })
  if (new Set(parsed.map(([tier]) => tier)).size < parsed.length)
    throw invalidField(param, 'must not name both fast and priority, which are the same')
  return { serviceTiers: Object.fromEntries(parsed) }
}

/** Throws 400 naming the component below `param`. Explicit zeros are a price like any other. */
export function toPrice(input: PriceInput, param = 'prices'): Price {
  if ('free' in input) return freePrice
  return {
    free: false,
    ...parseRates(input, param),
    perRequest: parseNonNegativeAmount(input.perRequest ?? '0', `${param}.per_request`),
    perSearch: parseOptionalAmount(input.perSearch, `${param}.per_search`),
    ...parseAbove(input, `${param}.above`),
    ...parseTiers(input.serviceTiers, `${param}.service_tiers`),
    ...parseToolPrices(input.perToolCall, `${param}.per_tool_call`),
  }
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  convert: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, convert(value)]))
}

/** The parts of a price that are not set are left out. */
function toDecimalRates(rates: TokenRates): DecimalRates {
  const optional = (nanos: bigint | null | undefined): string | null =>
    nanos === null || nanos === undefined ? null : formatPrice(nanos)
  return {
    input: formatPrice(rates.input),
    output: formatPrice(rates.output),
    cachedInput: optional(rates.cachedInput),
    cacheWrite: optional(rates.cacheWrite),
    cacheWrite1h: optional(rates.cacheWrite1h),
    reasoning: optional(rates.reasoning),
    ...mapValues(rates.modality ?? {}, formatPrice),
  }
}

/** A price in the form in which the API accepts it. */
export function toDecimalPrices(price: Price): DecimalPrices | { readonly free: true } {
  if (price.free) return { free: true }
  const { perRequest, perSearch, above, serviceTiers, perToolCall } = price
  return {
    ...toDecimalRates(price),
    perRequest: formatAmount(perRequest),
    perSearch: perSearch === null ? null : formatAmount(perSearch),
    ...(above
      ? {
          above: above.map(({ above: inputTokens, ...rates }) => ({ inputTokens, ...toDecimalRates(rates) })),
        }
      : {}),
    ...(serviceTiers ? { serviceTiers: mapValues(serviceTiers, formatFactor) } : {}),
    ...(perToolCall ? { perToolCall: toDecimalTools(perToolCall) } : {}),
  }
}

/** Converts each amount of money in a price. */
export function convertPrice(price: Price, convert: (nanos: bigint) => bigint): Price {
  const inside = (value: unknown): unknown => {
    if (typeof value === 'bigint') return convert(value)
    if (Array.isArray(value)) return value.map(inside)
    return typeof value === 'object' && value !== null ? mapValues({ ...value }, inside) : value
  }
  return inside(price) as Price
}

/** Prices under the names that they have in JSON. */
export function pricesJson(input: DecimalPrices | { readonly free: true }) {
  if ('free' in input) return { free: true as const }
  const { perRequest = null, perSearch = null, perToolCall, above, serviceTiers, ...rates } = input
  return {
    ...serializeRates(rates),
    per_request: perRequest,
    per_search: perSearch,
    ...(above
      ? {
          above: above.map(({ inputTokens, ...each }) => ({
            input_tokens: inputTokens,
            ...serializeRates(each),
          })),
        }
      : {}),
    ...(serviceTiers ? { service_tiers: serviceTiers } : {}),
    ...(perToolCall ? { per_tool_call: perToolCall } : {}),
  }
}

const noRates = { cached_input: null, cache_write: null, cache_write_1h: null, reasoning: null }

function serializeRates({ input, output, ...others }: DecimalRates) {
  const fields = Object.entries(others).filter(([, rate]) => typeof rate === 'string')
  const named = Object.fromEntries(fields.map(([name, rate]) => [snakeCase(name), rate]))
  return { input, output, ...noRates, ...named }
}
