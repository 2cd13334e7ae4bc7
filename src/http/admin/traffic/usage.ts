/** `/usage`: sums over requests by time, model, key or account. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { cleanTimezone } from '../../../accounts/fields.ts'
import { dateOf } from '../../../ledger/periods.ts'
import { decimalOf } from '../../../lib/money.ts'
import { currency } from '../../../usage/request-records.ts'
import { usageBy, usageByDay, type UsageGroup, type UsageFilter } from '../../../usage/reports.ts'
import type { Desk } from '../desk.ts'
import {
  listAnswer,
  money,
  msOf,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeAsked,
  timeOf,
} from '../schemas.ts'

const group = z.enum(['day', 'hour', 'model', 'key', 'account'])
type Group = z.infer<typeof group>

export const rowOut = z
  .object({
    day: z.string().optional().meta({ example: '2026-11-21' }),
    hour: time.optional(),
    model: z.string().optional(),
    key: z.string().optional(),
    account: z.string().optional(),
    requests: z.int(),
    errors: z.int().meta({ description: 'Refused, failed or truncated.' }),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost: money,
    upstream_cost: money,
    margin: money,
    currency: z.string(),
  })
  .openapi('Usage', { description: 'Sums of one group, which the field of its kind names.' })

const list = createRoute({
  method: 'get',
  path: '/usage',
  summary: 'Sums by day or hour in their order, or by model, key or account, dearest first',
  request: {
    query: z.strictObject({
      ...pageFields,
      group: group.default('day'),
      from: timeAsked.optional(),
      to: timeAsked.optional().meta({ description: 'Not included.' }),
      account: z.string().optional(),
      key: z.string().optional(),
      model: z.string().optional(),
      timezone: z.string().default('UTC').meta({ description: 'Whose days they are.' }),
    }),
  },
  responses: listAnswer(rowOut, 'A page of sums.'),
})

function rowView(kind: Group, sums: UsageGroup): z.infer<typeof rowOut> {
  return {
    [kind]: kind === 'hour' ? timeOf(Number(sums.name)) : sums.name,
    requests: sums.requests,
    errors: sums.errors,
    prompt_tokens: sums.promptTokens,
    completion_tokens: sums.completionTokens,
    cost: decimalOf(sums.costNanos),
    upstream_cost: decimalOf(sums.upstreamCostNanos),
    margin: decimalOf(sums.costNanos - sums.upstreamCostNanos),
    currency,
  }
}

export function usageRoutes({ house: { db } }: Desk): OpenAPIHono {
  async function groupsOf(
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
    const { limit, cursor, group: kind, from, to, ...named } = c.req.valid('query')
    const offset = Number(openedCursor(cursor, /^\d{1,9}$/) ?? 0)
    const filter = { ...named, from: msOf(from), to: msOf(to) }
    const groups = await groupsOf(kind, filter, { limit: limit + 1, offset })
    const data = groups.slice(0, limit).map((sums) => rowView(kind, sums))
    const next = groups.length > limit ? String(offset + limit) : null
    return c.json({ data, next: sealedCursor(next) }, 200)
  })
  return app
}
