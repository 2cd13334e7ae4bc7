/**
 * Fallback models, which may serve a request instead of the requested model: those that the operator configured, that
 * the caller's key may use, and that cost no more in any price component. The hold for one model then pays for another.
 */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import type { Price } from '../../ledger/price.ts'

export const noModels: readonly PricedModel[] = []

function priceComponents(price: Price): bigint[] {
  const { input, output, cachedInput, cacheWrite, cacheWrite1h, reasoning, perRequest, perSearch } = price
  const written = cacheWrite ?? input
  return [
    input,
    output,
    cachedInput ?? input,
    written,
    cacheWrite1h ?? written,
    reasoning ?? output,
    perRequest,
    perSearch ?? 0n,
  ]
}

/** True if no usage can cost more at the first price than at the second. */
export function costsAtMost(price: Price, maximum: Price): boolean {
  const maxComponents = priceComponents(maximum)
  return priceComponents(price).every((component, index) => component <= (maxComponents[index] ?? 0n))
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
