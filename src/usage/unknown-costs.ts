/** Requests whose cost at the upstream is unknown, so that no sum takes an unknown cost for zero. */

/** The SQL condition that a request row used an upstream at an unknown cost. */
export const isWithoutCostSql =
  'upstream_cost_nanos is null and (cost_nanos > 0 or prompt_tokens > 0 or completion_tokens > 0)'

/**
 * The SQL of the number of such requests in an hourly row. Earlier hours have only the sum of the known costs: revenue
 * without any cost means that no cost was known.
 */
export function withoutCostSql(table: 'usage_hourly' | 'traffic_hourly'): string {
  return `coalesce(${table}.unpriced_requests, case when ${table}.cost_nanos > 0 and ${table}.upstream_cost_nanos = 0
    then ${table}.requests else 0 end)`
}

/** The SQL that sums such requests, and the one that adds the sum in an upsert. */
export const sumWithoutCostSql = `sum(case when ${isWithoutCostSql} then count else 0 end)`
export function addWithoutCostSql(table: 'usage_hourly' | 'traffic_hourly'): string {
  return `unpriced_requests = ${withoutCostSql(table)} + excluded.unpriced_requests`
}
