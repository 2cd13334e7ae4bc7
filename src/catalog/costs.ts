/** What an upstream charges us for a model, as an operator enters it. */

import { invalidField } from '../errors.ts'
import { parseRate } from '../lib/money.ts'
import { convertPrice, toPrice, type PriceInput } from './price-input.ts'
import type { Price } from './prices.ts'

/** What an upstream costs us: prices in its own currency, and the exchange rate to the platform's. */
export type UpstreamCosts = PriceInput & {
  /** ISO 4217, upper case. Absent: the platform's currency. */
  readonly currency?: string
  /** A decimal string with at most six decimals. Absent: "1". */
  readonly rate?: string
}

const currencyPattern = /^[A-Z]{3}$/
const partsPerMillion = 1_000_000n

export function parseCosts(json: string | null): UpstreamCosts | null {
  return json === null ? null : (JSON.parse(json) as UpstreamCosts)
}

/** Rounds by at most half a nano per million tokens. This is our cost, not a caller's. */
function convert(nanos: bigint, ratePpm: bigint): bigint {
  return (nanos * ratePpm + partsPerMillion / 2n) / partsPerMillion
}

/** In nanos of the platform's currency. Throws 400 naming the component below `param`. */
export function priceFromCosts(costs: UpstreamCosts, param: string): Price {
  const price = toPrice(costs, param)
  const rate = BigInt(parseRate(costs.rate ?? '1', `${param}.rate`))
  return convertPrice(price, (nanos) => convert(nanos, rate))
}

/** Without empty fields, so that equal costs have the same text. Throws 400 naming the invalid field below `param`. */
export function costsJson(costs: UpstreamCosts | null, param: string): string | null {
  if (costs === null) return null
  if (costs.currency !== undefined && !currencyPattern.test(costs.currency)) {
    throw invalidField(`${param}.currency`, 'must be three capital letters such as "USD"')
  }
  priceFromCosts(costs, param)
  return JSON.stringify(costs, (name, value: unknown) =>
    value === null || (name === 'rate' && value === '1') ? undefined : value,
  )
}
