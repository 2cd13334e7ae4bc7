/** The web searches that a request offers to the provider, which are charged by the model's price per search. */
import type { LiveUpstream } from '../../catalog/catalog.ts'
import type { CallerRequest } from './caller-format.ts'

export interface OfferedSearches {
  /** The most that one result can make, by the request (`max_uses` of Anthropic's tool); `null`: it states none. */
  readonly maximum: number | null
}

/** Providers whose models search without being asked to. */
const searchingProviders = new Set(['perplexity'])

/**
 * The searches that a request offers, in whichever format; `null`: none. `routes`: those that may serve it. Call it only
 * where searches have a price.
 */
export function offeredSearches(
  { restricted }: Pick<CallerRequest, 'restricted'>,
  routes: readonly { readonly upstream: Pick<LiveUpstream, 'provider'> }[],
): OfferedSearches | null {
  const searches = restricted.filter(
    ({ restriction, providers }) =>
      restriction === 'search' && routes.some(({ upstream }) => providers?.has(upstream.provider) ?? true),
  )
  const isSearching = routes.some(({ upstream }) => searchingProviders.has(upstream.provider))
  if (searches.length === 0 && !isSearching) return null
  let maximum: number | null = isSearching ? null : 0
  for (const { maxSearches = null } of searches)
    maximum = maximum === null || maxSearches === null ? null : maximum + maxSearches
  return { maximum }
}
