/**
 * Models that may answer in the place of the one that was asked for: those of the operator's table that the caller's
 * key may call, and that cost no more in any component. What is set aside for the one pays for the other.
 */
import { allowsModel } from '../accounts/allowlists.ts'
import type { Caller } from '../accounts/directory.ts'
import type { Catalog, PricedModel } from '../catalog/catalog.ts'
import type { Price } from '../ledger/price.ts'

const none: readonly PricedModel[] = []

function components(price: Price): bigint[] {
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

/** Whether no usage can cost more at the one price than at the other. */
export function isNoDearer(price: Price, than: Price): boolean {
  const most = components(than)
  return components(price).every((component, index) => component <= (most[index] ?? 0n))
}

/** Why a model of the table may not answer; `null` when it may. `caller` null: whoever may call everything. */
export function barOf(
  other: PricedModel | undefined,
  model: PricedModel,
  caller: Caller | null,
): string | null {
  if (!other) return 'It does not exist any more, or has no price.'
  if (caller && !allowsModel(caller.models, other.id)) return 'The key may not call it.'
  if (!isNoDearer(other.price, model.price)) return 'It costs more than the model that is asked for.'
  // Money for a stream is set aside in pieces, which unseen thinking would outgrow.
  if (other.hiddenReasoning && !model.hiddenReasoning)
    return 'It thinks unseen, which nothing is set aside for.'
  return null
}

export function fallbacksOf(catalog: Catalog, model: PricedModel, caller: Caller): readonly PricedModel[] {
  if (model.fallbacks.length === 0) return none
  return model.fallbacks.flatMap((id) => {
    const other = catalog.model(id)
    return other && barOf(other, model, caller) === null ? [other] : []
  })
}
