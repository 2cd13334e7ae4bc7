/** The routes of a model with their upstreams and effective costs, in the order in which they are tried. */
import type { Model, Upstream } from './contract.ts'

export function sortRoutes({ routes, effective_costs: costs }: Model, upstreams: readonly Upstream[]) {
  return routes
    .map((route, index) => {
      const known = upstreams.find(({ id }) => id === route.upstream)
      return { ...route, cost: costs[index] ?? null, known, rank: route.priority ?? known?.priority ?? 0 }
    })
    .toSorted((one, other) => one.rank - other.rank)
}
