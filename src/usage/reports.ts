/**
 * Usage reports: sums over requests by time, model, key or account. Whole hours come from the hourly
 * roll-ups; rows not yet rolled up, and hours that the span covers only in part, come from the requests. A
 * report is one statement, so it is consistent and includes everything settled before.
 */
import type { Db } from '../db/db.ts'
import type { Parameter } from '../db/statement.ts'
import { failureCountSql } from '../db/request-outcomes.ts'
import { largestSumFirstSql, joinSum, splitSumSql } from '../db/money-sums.ts'
import { isWithoutCostSql, withoutCostSql } from './unknown-costs.ts'

export interface UsageFilter {
  readonly account?: string
  readonly key?: string
  readonly model?: string
  /** Inclusive, in milliseconds since the epoch. Absent: from the first request. */
  readonly from?: number
  /** Exclusive. Absent: up to now. */
  readonly to?: number
}

/** The sums of no requests. */
const noUsage = {
  requests: 0,
  /** Failed requests, as defined in db/request-outcomes.ts. */
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  costNanos: 0n,
  /** The known costs at the upstreams. */
  upstreamCostNanos: 0n,
  /** How many requests have an unknown cost. */
  requestsWithoutCost: 0,
}

export type UsageSums = Readonly<typeof noUsage>

export interface UsageGroup extends UsageSums {
  /**
   * The start of the hour in milliseconds as text, the name of the day, the model, or the id of the key or
   * account.
   */
  readonly name: string
}

/** Groupings that the database computes. */
export type Grouping = 'hour' | 'model' | 'key' | 'account'

const hourMs = 3_600_000
/** The latest representable time. */
const endOfTime = 8_640_000_000_000_000

const columns = { hour: 'hour', model: 'model', key: 'key_id', account: 'account_id' } as const

const sumsOfHour = 'requests, errors, prompt_tokens, completion_tokens, cost_nanos, upstream_cost_nanos'
/** The two hourly roll-ups, with the same columns. */
const rollupQueries = {
  usage_hourly: `select hour, account_id, key_id, model, ${sumsOfHour},
    ${withoutCostSql('usage_hourly')} as without_cost from usage_hourly`,
  traffic_hourly: `select hour, '' as account_id, '' as key_id, model, ${sumsOfHour},
    ${withoutCostSql('traffic_hourly')} as without_cost from traffic_hourly`,
} as const
const rowColumns = `at - at % ${hourMs} as hour, account_id, key_id, model, count as requests,
  ${failureCountSql} as errors,
  prompt_tokens, completion_tokens, cost_nanos, coalesce(upstream_cost_nanos, 0) as upstream_cost_nanos,
  case when ${isWithoutCostSql} then count else 0 end as without_cost`
const sumColumns = `coalesce(sum(requests), 0) as requests, coalesce(sum(errors), 0) as errors,
  coalesce(sum(prompt_tokens), 0) as prompt_tokens, coalesce(sum(completion_tokens), 0) as completion_tokens,
  ${splitSumSql('cost_nanos', 'cost')}, ${splitSumSql('upstream_cost_nanos', 'upstream')},
  coalesce(sum(without_cost), 0) as without_cost`
const rolledUpTo = `(select coalesce(max(position), 0) from cursors where name = 'usage_hourly')`

interface SumsRow {
  name: string | number
  requests: number
  errors: number
  prompt_tokens: number
  completion_tokens: number
  cost_units: number
  cost_rest_nanos: bigint
  upstream_units: number
  upstream_rest_nanos: bigint
  without_cost: number
}

interface Source {
  readonly text: string
  readonly parameters: readonly Parameter[]
}

/** The rows of a time span that match the filter. */
function buildSource(
  begin: string,
  time: string,
  filter: UsageFilter,
  span: readonly [number, number],
): Source {
  const columnFilters = { account_id: filter.account, key_id: filter.key, model: filter.model }
  const activeFilters = Object.entries(columnFilters).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }],
  )
  // An expression instead of the column makes SQLite scan by row id.
  const scansByRowId = time.startsWith('+')
  const conditions = activeFilters
    .map(({ column }) => ` and ${scansByRowId ? `coalesce(${column}, '')` : column} = ?`)
    .join('')
  return {
    text: `${begin} ${time} >= ? and ${time} < ?${conditions}`,
    parameters: [...span, ...activeFilters.map(({ value }) => value)],
  }
}

/** The requests that match a filter, partly summed: whole hours from the roll-ups, the rest row by row. */
function sourceOf(filter: UsageFilter, rollUp: keyof typeof rollupQueries = 'usage_hourly'): Source {
  const { from = 0, to = endOfTime } = filter
  const first = Math.ceil(from / hourMs) * hourMs
  const last = Math.floor(to / hourMs) * hourMs
  const rows = (start: number, end: number): Source[] =>
    start >= end ? [] : [buildSource(`select ${rowColumns} from requests where`, 'at', filter, [start, end])]
  const cut = first > last ? rows(from, to) : [...rows(from, first), ...rows(last, to)]
  const parts = [
    buildSource(`${rollupQueries[rollUp]} where`, 'hour', filter, [first, last]),
    buildSource(`select ${rowColumns} from requests where row_id > ${rolledUpTo} and`, '+at', filter, [
      first,
      last,
    ]),
    ...cut,
  ]
  return {
    text: parts.map((part) => part.text).join(' union all '),
    parameters: parts.flatMap((part) => part.parameters),
  }
}

export interface UsagePage {
  readonly limit: number
  /** Number of groups on previous pages. */
  readonly offset: number
}

/**
 * Hours of all accounts, or of one model, can be read from the global roll-up, which has far fewer rows. It
 * only has rows for models that existed when their requests were counted, so it cannot answer for other
 * names.
 */
async function chooseRollup(
  db: Db,
  grouping: Grouping,
  { account, key, model }: UsageFilter,
): Promise<keyof typeof rollupQueries> {
  const isOfAll = account === undefined && key === undefined
  const isOfModel = grouping === 'model' && model !== undefined
  if (!isOfAll || (grouping !== 'hour' && !isOfModel)) return 'usage_hourly'
  const [found] = await db.report<{ models: number; unfilled: number }>({
    sql: `select (select count(*) from models where id = ?) as models, (select count(*) from
      (select 1 from traffic_hourly where prompt_tokens is null limit 1) as one) as unfilled`,
    parameters: [model ?? ''],
  })
  const isKnown = model === undefined || found?.models === 1
  return isKnown && found?.unfilled === 0 ? 'traffic_hourly' : 'usage_hourly'
}

async function readGroups(
  db: Db,
  name: string,
  { text, parameters }: Source,
  ending = '',
): Promise<UsageGroup[]> {
  const rows = await db.report<SumsRow>({
    sql: `select ${name} as name, ${sumColumns} from (${text}) as source group by 1 ${ending}`,
    parameters,
  })
  return rows.map((row) => ({
    name: String(row.name),
    requests: row.requests,
    errors: row.errors,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    costNanos: joinSum(row.cost_units, row.cost_rest_nanos),
    upstreamCostNanos: joinSum(row.upstream_units, row.upstream_rest_nanos),
    requestsWithoutCost: row.without_cost,
  }))
}

/** Hours in chronological order, other groups by descending cost. */
export async function usageBy(
  db: Db,
  grouping: Grouping,
  filter: UsageFilter,
  page?: UsagePage,
): Promise<UsageGroup[]> {
  const { text, parameters } = sourceOf(filter, await chooseRollup(db, grouping, filter))
  const order = grouping === 'hour' ? 'name' : `${largestSumFirstSql('cost_nanos')}, name`
  const limits = [page?.limit ?? Number.MAX_SAFE_INTEGER, page?.offset ?? 0]
  const source = { text, parameters: [...parameters, ...limits] }
  return readGroups(db, columns[grouping], source, `order by ${order} limit ? offset ?`)
}

/**
 * Of the whole relay, in hours that start in the span, by hour or by model; models that do not exist are combined under
 * the empty name. Read from the roll-up only, which lags by at most a second.
 */
export async function trafficBy(
  db: Db,
  grouping: 'hour' | 'model',
  { from, to }: { readonly from: number; readonly to: number },
): Promise<UsageGroup[]> {
  const source = buildSource(`${rollupQueries.traffic_hourly} where`, 'hour', {}, [from, to])
  return readGroups(db, grouping, source, 'order by 1')
}

export function sumAll(groups: readonly UsageSums[]): UsageSums {
  const sums = { ...noUsage }
  for (const group of groups) {
    sums.requests += group.requests
    sums.errors += group.errors
    sums.promptTokens += group.promptTokens
    sums.completionTokens += group.completionTokens
    sums.costNanos += group.costNanos
    sums.upstreamCostNanos += group.upstreamCostNanos
    sums.requestsWithoutCost += group.requestsWithoutCost
  }
  return sums
}

/**
 * Days in chronological order. `dayOf` returns the calendar day of an hour's start. If midnight cuts an hour
 * (India, Nepal), the hour counts to the day in which it begins.
 */
export async function usageByDay(
  db: Db,
  filter: UsageFilter,
  dayOf: (at: number) => string,
): Promise<UsageGroup[]> {
  const days = Map.groupBy(await usageBy(db, 'hour', filter), ({ name }) => dayOf(Number(name)))
  return Array.from(days, ([name, hours]) => ({ name, ...sumAll(hours) }))
}

/**
 * The usage of an account in a time span, in milliseconds since the epoch; `to` is exclusive. Absent:
 * unbounded.
 */
export async function usageBetween(
  db: Db,
  accountId: string,
  from?: number,
  to?: number,
): Promise<UsageSums> {
  return sumAll(await readGroups(db, `''`, sourceOf({ account: accountId, from, to })))
}
