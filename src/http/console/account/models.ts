/** The models that a customer is offered: prices with the account's own factor, and how they have done lately. */
import type { PricedModel } from '../../../catalog/catalog.ts'
import type { Account } from '../../../accounts/accounts.ts'
import { minutesOf, successOf, sumOf } from '../../../health/availability.ts'
import { pricePer1KOf, decimalOf } from '../../../lib/money.ts'
import { latencyIn } from '../../../usage/latency.ts'
import type { House } from '../../house.ts'
import type { Model } from '../contract/account.ts'
import { hourMs } from '../../api/time-buckets.ts'

const onePpm = 1_000_000n

/** Somebody can answer: it has a price, or it would not be here, and an upstream that is on. */
export function isServed({ routes }: PricedModel): boolean {
  return routes.length > 0
}

/** The factor that multiplies this account's prices. */
export function factorPpmOfAccount({ directory }: House, account: Account): number {
  return account.priceFactorPpm ?? directory.tier(account.tier)?.priceFactorPpm ?? Number(onePpm)
}

/** Factored prices are shown rounded up to a nano per million tokens; what is charged is rounded once per request. */
function factored(nanos: bigint, factorPpm: number): bigint {
  return (nanos * BigInt(factorPpm) + onePpm - 1n) / onePpm
}

function pricesView({ price }: PricedModel, factorPpm: number): Pick<Model, 'free' | 'prices'> {
  const per1K = (nanos: bigint): string => pricePer1KOf(factored(nanos, factorPpm))
  const optional = (nanos: bigint | null): string | null => (nanos === null ? null : per1K(nanos))
  const { input, output, cachedInput, cacheWrite, reasoning, perRequest, perSearch } = price
  const parts = [input, output, cachedInput, cacheWrite, reasoning, perRequest, perSearch ?? 0n]
  return {
    free: parts.every((part) => part === null || part === 0n),
    prices: {
      input: per1K(input),
      output: per1K(output),
      cached_input: optional(cachedInput),
      cache_write: optional(cacheWrite),
      reasoning: optional(reasoning),
      per_request: decimalOf(factored(perRequest, factorPpm)),
      per_search: decimalOf(factored(perSearch ?? 0n, factorPpm)),
    },
  }
}

export async function modelViews(house: House, account: Account): Promise<Model[]> {
  const { db, catalog } = house
  const now = Date.now()
  const since = now - 24 * hourMs
  const [minutes, latency] = await Promise.all([
    minutesOf(db, { from: since, to: now }),
    latencyIn(db, { account: null, from: since, to: now }),
  ])
  const byModel = Map.groupBy(minutes, ({ model }) => model)
  const factorPpm = factorPpmOfAccount(house, account)
  return catalog
    .listed()
    .filter(isServed)
    .map((model) => {
      const counts = sumOf(byModel.get(model.id) ?? [])
      return {
        id: model.id,
        owned_by: model.ownedBy,
        context_tokens: model.contextTokens,
        max_output_tokens: model.maxOutputTokens,
        ...pricesView(model, factorPpm),
        success: successOf(counts),
        requests: counts.answered + counts.failed,
        first_token_ms: latency.models.get(model.id)?.firstToken?.p50 ?? null,
      }
    })
}
