/**
 * Fallback models, which may serve a request instead of the requested model: those that the operator configured, that
 * the caller's key may use, and that cost no more in any price component. The hold for one model then pays for another.
 */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { ratesFor, tierFactor, type Price, type TokenRates } from '../../ledger/price.ts'
import { modalities, modalityNames } from '../../providers/usage.ts'

export const noModels: readonly PricedModel[] = []

function ratesOf(rates: TokenRates): bigint[] {
  const { input, output, cacheWrite, cacheWrite1h, reasoning } = rates
  const cachedInput = rates.cachedInput ?? input
  const written = cacheWrite ?? input
  const parents = { input, output, cachedInput }
  const media = modalityNames.map((name) => rates.modality?.[name] ?? parents[modalities[name]])
  return [input, output, cachedInput, written, cacheWrite1h ?? written, reasoning ?? output, ...media]
}

function areAtMost(amounts: readonly bigint[], maximums: readonly bigint[]): boolean {
  return amounts.every((amount, index) => amount <= (maximums[index] ?? 0n))
}

/** True if no usage can cost more at the first price than at the second. */
export function costsAtMost(price: Price, maximum: Price): boolean {
  const lengths = [0, ...[...(price.above ?? []), ...(maximum.above ?? [])].map(({ above }) => above + 1)]
  const tiers = Object.keys({ ...price.serviceTiers, ...maximum.serviceTiers })
  const factorOf = (of: Price, tier: string): number => tierFactor(of, tier) ?? 1_000_000
  return (
    lengths.every((length) =>
      areAtMost(ratesOf(ratesFor(price, length)), ratesOf(ratesFor(maximum, length))),
    ) &&
    tiers.every((tier) => factorOf(price, tier) <= factorOf(maximum, tier)) &&
    Object.entries(price.perToolCall ?? {}).every(
      ([tool, fee]) => fee <= (maximum.perToolCall?.[tool] ?? 0n),
    ) &&
    areAtMost([price.perRequest, price.perSearch ?? 0n], [maximum.perRequest, maximum.perSearch ?? 0n])
  )
}

/** Why a fallback may not serve; `null` if it may. `caller` null: a caller without restrictions. */
export function exclusionReason(
  other: PricedModel | undefined,
  model: PricedModel,
  caller: Caller | null,
): string | null {
  if (!other) return 'The model no longer exists, or has no price.'
  if (caller && !allowsModel(caller.models, other.id)) return 'The key may not use this model.'
  if (!costsAtMost(other.price, model.price)) return 'The model costs more than the requested model.'
  // The hold of a stream grows in chunks, which hidden reasoning would exceed.
  if (other.hiddenReasoning && !model.hiddenReasoning)
    return 'The model has hidden reasoning, which the hold does not cover.'
  return null
}

export function fallbackModels(catalog: Catalog, model: PricedModel, caller: Caller): readonly PricedModel[] {
  if (model.fallbacks.length === 0) return noModels
  return model.fallbacks.flatMap((id) => {
    const other = catalog.model(id)
    return other && exclusionReason(other, model, caller) === null ? [other] : []
  })
}
