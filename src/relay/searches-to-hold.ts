/** How many web searches a request holds: what it may make, since its provider bills each of them. */
import type { Price } from '../ledger/price.ts'
import type { CallerRequest } from './request/caller-format.ts'
import { offeredSearches, type SearchingRoute } from './request/offered-searches.ts'

/** Held for a non-streaming result whose request states no maximum of searches. */
const defaultSearches = 10

interface SearchRequest {
  readonly request: Pick<CallerRequest, 'restricted' | 'n' | 'stream'>
  readonly model: { readonly price: Pick<Price, 'perSearch'>; readonly routes: readonly SearchingRoute[] }
}

/** The most searches that are charged: 0 if they have no price, or the request offers none; Infinity: no maximum. */
export function maxSearchesOf({ request, model }: SearchRequest): number {
  if ((model.price.perSearch ?? 0n) === 0n) return 0
  const offered = offeredSearches(request, model.routes)
  return offered ? (offered.maximum ?? Infinity) * request.n : 0
}

/** Searches to hold. A stream holds one at first, and the next one as each of them appears. */
export function searchesToHold(held: SearchRequest): number {
  const { stream, n } = held.request
  const maximum = maxSearchesOf(held)
  if (stream) return Math.min(maximum, 1)
  return maximum === Infinity ? defaultSearches * n : maximum
}
