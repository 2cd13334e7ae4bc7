/** How many web searches a request holds: what it may make, since its provider bills each of them. */
import type { Price } from '../ledger/price.ts'
import type { CallerRequest } from './request/caller-format.ts'
import { offeredSearches, type SearchingRoute } from './request/offered-searches.ts'

/** Held for a non-streaming result whose request states no maximum of searches. */
const defaultSearches = 10

/** Searches to hold; 0 if they have no price, or the request offers none. A stream holds one at first. */
export function searchesToHold({
  request,
  model,
}: {
  readonly request: Pick<CallerRequest, 'restricted' | 'n' | 'stream'>
  readonly model: { readonly price: Pick<Price, 'perSearch'>; readonly routes: readonly SearchingRoute[] }
}): number {
  if ((model.price.perSearch ?? 0n) === 0n) return 0
  const offered = offeredSearches(request, model.routes)
  if (!offered) return 0
  const maximum = (offered.maximum ?? defaultSearches) * request.n
  return request.stream ? Math.min(maximum, 1) : maximum
}
