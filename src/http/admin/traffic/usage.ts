/** `/usage`: usage by time, model, key or account. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { cleanTimezone } from '../../../accounts/fields.ts'
import { dateOf } from '../../../ledger/periods.ts'
import { formatAmount } from '../../../lib/money.ts'
import { currency } from '../../../usage/request-records.ts'
import { usageBy, usageByDay, type UsageGroup, type UsageFilter } from '../../../usage/reports.ts'
import type { AdminContext } from '../admin-context.ts'
import { listResponse, money, spanQuery, time, timeQuery } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { parseFrom } from '../../api/time-spans.ts'
import { marginFields, serializeMargin } from './margins.ts'
import { decodeCursor, encodeCursor, parseTime, formatTime } from '../../api/json-values.ts'

const group = z.enum(['day', 'hour', 'model', 'key', 'account'])
type Group = z.infer<typeof group>

export const usageSchema = z
  .object({
    day: z.string().optional().meta({ example: '2026-11-21' }),
    hour: time.optional(),
    model: z.string().optional().meta({ description: 'Empty: rejected before the model was known.' }),
    key: z.string().optional(),
    account: z.string().optional(),
    requests: z.int(),
    errors: z.int().meta({ description: 'Rejected, failed, truncated, or ended by the relay.' }),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost: money,
    ...marginFields,
    currency: z.string(),
  })
  .openapi('Usage', {
    description: 'The sums of one group; one of `day`, `hour`, `model`, `key` and `account` is set.',
  })

const list = createRoute({
  method: 'get',
  path: '/usage',
  summary: 'Get usage by day or hour in order of time, or by model, key or account, highest cost first',
  request: {
    query: z.strictObject({
      ...pageFields,
      group: group.default('day'),
      ...spanQuery,
      to: timeQuery.optional().meta({ description: 'Exclusive.' }),
      account: z.string().optional(),
      key: z.string().optional(),
      model: z.string().optional(),
      timezone: z.string().default('UTC').meta({ description: 'The time zone of the days.' }),
    }),
  },
  responses: listResponse(usageSchema, 'A page of sums.'),
})

function serializeSums(kind: Group, sums: UsageGroup): z.infer<typeof usageSchema> {
  return {
    [kind]: kind === 'hour' ? formatTime(Number(sums.name)) : sums.name,
    requests: sums.requests,
    errors: sums.errors,
    prompt_tokens: sums.promptTokens,
    completion_tokens: sums.completionTokens,
    cost: formatAmount(sums.costNanos),
    ...serializeMargin(sums.costNanos, sums),
    currency,
  }
}

export function usageRoutes({ ctx: { db, config } }: AdminContext): OpenAPIHono {
  async function readGroups(
    kind: Group,
    filter: UsageFilter & { readonly timezone: string },
    page: { limit: number; offset: number },
  ): Promise<UsageGroup[]> {
    if (kind !== 'day') return usageBy(db, kind, filter, page)
    const timezone = cleanTimezone(filter.timezone)
    const days = await usageByDay(db, filter, (at) => dateOf(timezone, at))
    return days.slice(page.offset, page.offset + page.limit)
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { limit, cursor, group: kind, span, from, to, ...filters } = c.req.valid('query')
    const offset = Number(decodeCursor(cursor, /^\d{1,9}$/) ?? 0)
    const filter = { ...filters, from: parseFrom({ span, from }, config.timezone), to: parseTime(to) }
    const groups = await readGroups(kind, filter, { limit: limit + 1, offset })
    const data = groups.slice(0, limit).map((sums) => serializeSums(kind, sums))
    const next = groups.length > limit ? String(offset + limit) : null
    return c.json({ data, next: encodeCursor(next) }, 200)
  })
  return app
}
