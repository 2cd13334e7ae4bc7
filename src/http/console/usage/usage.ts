/** An account's usage by time, model and key, and the latency of responses. */
import type { Account } from '../../../accounts/accounts.ts'
import { namesOfKeys } from '../../../accounts/keys.ts'
import { loadLatency, type Latency } from '../../../usage/latency.ts'
import { usageBy } from '../../../usage/reports.ts'
import { decodeCursor, encodeCursor, parseTime } from '../../api/json-values.ts'
import { usageContract } from '../contract/usage.ts'
import { readPoints, serializeSums } from './usage-sums.ts'
import { parseFrom, type Span } from '../../api/time-spans.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { endpoint, type Endpoint, type ConsoleContext } from '../context.ts'
import { apiError } from '../../../errors.ts'

const dayMs = 24 * hourMs
const defaultRangeMs = { hour: 2 * dayMs, day: 30 * dayMs } as const
/** More points could not be told apart in a chart. */
const maxPoints = 1000

interface RangeQuery {
  readonly from?: string | undefined
  readonly span?: Span | undefined
  readonly to?: string | undefined
}

/** The requested range, or else the default range up to now. */
function toTimeRange(query: RangeQuery, { timezone }: Account, defaultMs: number) {
  const to = parseTime(query.to) ?? Date.now()
  return { from: parseFrom(query, timezone) ?? to - defaultMs, to }
}

async function readSeries({ ctx, account, query }: ConsoleContext<typeof usageContract.series>) {
  const { step, key, model } = query
  const range = { account: account.id, key, model, ...toTimeRange(query, account, defaultRangeMs[step]) }
  if ((range.to - range.from) / (step === 'hour' ? hourMs : dayMs) > maxPoints) {
    throw apiError('invalid_request', {
      param: 'from',
      message: `Range too long: at most ${maxPoints} points.`,
    })
  }
  const by = step === 'hour' ? { by: step } : { by: step, timezone: account.timezone }
  const { points, total } = await readPoints(ctx.db, range, by)
  return { step, data: points, total: serializeSums(total) }
}

async function readBreakdown({ ctx, account, query }: ConsoleContext<typeof usageContract.breakdown>) {
  const { group, limit, cursor, key, model } = query
  const { db } = ctx
  const offset = Number(decodeCursor(cursor, /^\d{1,9}$/) ?? 0)
  const range = toTimeRange(query, account, defaultRangeMs.day)
  const filter = { account: account.id, key, model, ...range }
  const groups = await usageBy(db, group, filter, { limit: limit + 1, offset })
  const page = groups.slice(0, limit)
  const names =
    group === 'key'
      ? await namesOfKeys(
          db,
          page.map(({ name }) => name),
        )
      : new Map<string, string>()
  return {
    data: page.map((sums) => ({
      id: sums.name,
      name: names.get(sums.name) ?? sums.name,
      ...serializeSums(sums),
    })),
    next: encodeCursor(groups.length > limit ? String(offset + limit) : null),
  }
}

function serializeLatency({ requests, firstToken, duration }: Latency) {
  return { requests, first_token_ms: firstToken, duration_ms: duration }
}

async function readLatency({ ctx, account, query }: ConsoleContext<typeof usageContract.latency>) {
  const range = toTimeRange(query, account, defaultRangeMs.day)
  const filter = { account: account.id, model: query.model, ...range }
  const { total, models } = await loadLatency(ctx.db, filter)
  const byModel = Array.from(models, ([model, latency]) => ({ model, ...serializeLatency(latency) }))
  return {
    total: serializeLatency(total),
    models: byModel.toSorted((left, right) => right.requests - left.requests),
  }
}

export const usageEndpoints: readonly Endpoint[] = [
  endpoint(usageContract.series, readSeries),
  endpoint(usageContract.breakdown, readBreakdown),
  endpoint(usageContract.latency, readLatency),
]
