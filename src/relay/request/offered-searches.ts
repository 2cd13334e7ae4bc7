/** The web searches that a request offers to the provider, which are charged by the model's price per search. */
import type { LiveUpstream } from '../../catalog/catalog.ts'
import type { CallerRequest } from './caller-format.ts'

export interface OfferedSearches {
  /** The most that one result can make, by the request (`max_uses` of Anthropic's tool); `null`: it states none. */
  readonly maximum: number | null
}

/** A route, as far as its searches depend on it. */
export interface SearchingRoute {
  readonly upstream: Pick<LiveUpstream, 'provider'>
  readonly upstreamModel: string
}

/** Models that search without being asked to: OpenAI's search models, OpenRouter's variant of any model. */
const searchingModel = /-search-(?:preview|api)|:online$/

/** Does the model search in every request? */
function isSearching({ upstream, upstreamModel }: SearchingRoute): boolean {
  return upstream.provider === 'perplexity' || searchingModel.test(upstreamModel)
}

/**
 * The searches that a request offers, in whichever format; `null`: none. `routes`: those that may serve it. Call it only
 * where searches have a price.
 */
export function offeredSearches(
  { restricted }: Pick<CallerRequest, 'restricted'>,
  routes: readonly SearchingRoute[],
): OfferedSearches | null {
  const searches = restricted.filter(
    ({ restriction, providers }) =>
      restriction === 'search' && routes.some(({ upstream }) => providers?.has(upstream.provider) ?? true),
  )
  const isUnasked = routes.some(isSearching)
  if (searches.length === 0 && !isUnasked) return null
  let maximum: number | null = isUnasked ? null : 0
  for (const { maxSearches = null } of searches)
    maximum = maximum === null || maxSearches === null ? null : maximum + maxSearches
  return { maximum }
}
