/** An account's usage by time, model and key, and the latency of responses. */
import { z } from 'zod'
import type { Account } from '../../../accounts/accounts.ts'
import { namesOfKeys } from '../../../accounts/keys.ts'
import { loadLatency, type Latency } from '../../../usage/latency.ts'
import { usageBy } from '../../../usage/reports.ts'
import { sums, timeInput } from '../../api/json-schemas.ts'
import { parseTime } from '../../api/json-values.ts'
import { pointSchema, readPoints, serializeSums } from './usage-sums.ts'
import { parseFrom, spanInput } from '../../api/time-spans.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { currencyColumn, dayColumn } from '../../csv-export.ts'
import { customer } from '../context.ts'
import { apiError } from '../../../errors.ts'

const dayMs = 24 * hourMs
const defaultRangeMs = { hour: 2 * dayMs, day: 30 * dayMs } as const
/** More points could not be told apart in a chart. */
const maxPoints = 1000

export const timeRange = {
  from: timeInput.optional(),
  /** Instead of `from`; days are those of the account. */
  span: spanInput.optional(),
  /** Exclusive. */
  to: timeInput.optional(),
  key: z.string().max(100).optional(),
  model: z.string().max(300).optional(),
}

/** The requested range, or else the default range up to now. */
function toTimeRange(
  query: Parameters<typeof parseFrom>[0] & { readonly to?: string | undefined },
  { timezone }: Account,
  defaultMs: number,
) {
  const to = parseTime(query.to) ?? Date.now()
  return { from: parseFrom(query, timezone) ?? to - defaultMs, to }
}

const latencySchema = z.object({
  requests: z.int(),
  first_token_ms: z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable(),
  duration_ms: z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable(),
})

function serializeLatency({ requests, firstToken, duration }: Latency) {
  return { requests, first_token_ms: firstToken, duration_ms: duration }
}

const groupSchema = sums.extend({ id: z.string(), name: z.string() })
const sumColumns = [
  'requests',
  'errors',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  currencyColumn,
] as const

export const usageEndpoints = {
  /** Points in order of time, including empty ones. Default: the last 30 days. */
  series: customer.get('/usage/series', {
    query: { ...timeRange, step: z.enum(['hour', 'day']).default('day') },
    response: z.object({ step: z.enum(['hour', 'day']), data: z.array(pointSchema), total: sums }),
    csv: [dayColumn, 'time', ...sumColumns],
    handle: async ({ ctx, account, query }) => {
      const { step, key, model } = query
      const range = { account: account.id, key, model, ...toTimeRange(query, account, defaultRangeMs[step]) }
      if ((range.to - range.from) / (step === 'hour' ? hourMs : dayMs) > maxPoints) {
        const message = `Range too long: at most ${maxPoints} points.`
        throw apiError('invalid_request', { param: 'from', message })
      }
      const by = step === 'hour' ? { by: step } : { by: step, timezone: account.timezone }
      const { points, total } = await readPoints(ctx.db, range, by)
      return { step, data: points, total: serializeSums(total) }
    },
  }),
  /** Sums by model or key, highest cost first. */
  breakdown: customer.page('/usage/by', {
    filters: { ...timeRange, group: z.enum(['model', 'key']) },
    item: groupSchema,
    cursor: /^\d{1,9}$/,
    csv: ['id', 'name', ...sumColumns],
    async handle({ ctx: { db }, account, query, page: { limit, cursor } }) {
      const { group, key, model } = query
      const offset = Number(cursor ?? 0)
      const filter = { account: account.id, key, model, ...toTimeRange(query, account, defaultRangeMs.day) }
      const groups = await usageBy(db, group, filter, { limit: limit + 1, offset })
      const page = groups.slice(0, limit)
      const ids = page.map(({ name }) => name)
      const names = group === 'key' ? await namesOfKeys(db, ids) : new Map<string, string>()
      return {
        data: page.map((summed) => ({
          id: summed.name,
          name: names.get(summed.name) ?? summed.name,
          ...serializeSums(summed),
        })),
        next: groups.length > limit ? String(offset + limit) : null,
      }
    },
  }),
  /** Latency of answered requests, by model. */
  latency: customer.get('/usage/latency', {
    query: {
      from: timeInput.optional(),
      to: timeInput.optional(),
      model: z.string().optional(),
    },
    response: z.object({
      total: latencySchema,
      models: z.array(latencySchema.extend({ model: z.string() })),
    }),
    handle: async ({ ctx, account, query }) => {
      const range = toTimeRange(query, account, defaultRangeMs.day)
      const filter = { account: account.id, model: query.model, ...range }
      const { total, models } = await loadLatency(ctx.db, filter)
      const byModel = Array.from(models, ([model, latency]) => ({ model, ...serializeLatency(latency) }))
      return {
        total: serializeLatency(total),
        models: byModel.toSorted((left, right) => right.requests - left.requests),
      }
    },
  }),
}
