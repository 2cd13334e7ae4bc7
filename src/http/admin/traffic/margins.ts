/** Cost and margin of many requests in the admin API. */
import { z } from '@hono/zod-openapi'
import { formatAmount } from '../../../lib/money.ts'
import { money } from '../schemas.ts'

const unknown = 'null if the cost of a request is unknown'

export const marginFields = {
  upstream_cost: money.nullable().meta({ description: `The cost at the upstreams; ${unknown}.` }),
  margin: money.nullable().meta({ description: `The revenue less the cost at the upstreams; ${unknown}.` }),
  requests_without_cost: z.int().meta({
    description:
      'How many requests have an unknown cost: neither their route nor its upstream determines it.',
  }),
}

export interface CostSums {
  readonly upstreamCostNanos: bigint
  readonly requestsWithoutCost: number
}

export function serializeMargin(
  revenueNanos: bigint,
  { upstreamCostNanos, requestsWithoutCost }: CostSums,
): z.infer<z.ZodObject<typeof marginFields>> {
  const isKnown = requestsWithoutCost === 0
  return {
    upstream_cost: isKnown ? formatAmount(upstreamCostNanos) : null,
    margin: isKnown ? formatAmount(revenueNanos - upstreamCostNanos) : null,
    requests_without_cost: requestsWithoutCost,
  }
}
