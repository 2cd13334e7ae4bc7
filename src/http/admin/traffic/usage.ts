/** `/usage`: usage by time, model, key or account. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
import type { Db } from '../../../db/db.ts'
import { cleanTimezone } from '../../../accounts/fields.ts'
import { dateOf } from '../../../ledger/periods.ts'
import { usageBy, usageByDay, type UsageGroup, type UsageFilter } from '../../../usage/reports.ts'
import { money, spanQuery, time, timeQuery } from '../schemas.ts'
import { parseFrom } from '../../api/time-spans.ts'
import { marginFields, serializeMargin } from './margins.ts'
import { parseTime, formatTime } from '../../api/json-values.ts'

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

function serializeSums(kind: Group, sums: UsageGroup, currency: string): z.infer<typeof usageSchema> {
  return {
    ...jsonFields(sums),
    [kind]: kind === 'hour' ? formatTime(Number(sums.name)) : sums.name,
    ...serializeMargin(sums.costNanos, sums),
    currency,
  }
}

async function readGroups(
  db: Db,
  kind: Group,
  filter: UsageFilter & { readonly timezone: string },
  page: { readonly limit: number; readonly offset: number },
): Promise<UsageGroup[]> {
  if (kind !== 'day') return usageBy(db, kind, filter, page)
  const timezone = cleanTimezone(filter.timezone)
  const days = await usageByDay(db, filter, (at) => dateOf(timezone, at))
  return days.slice(page.offset, page.offset + page.limit)
}

export const usageEndpoints = [
  admin.page('/usage', {
    summary: 'Get usage by day or hour in order of time, or by model, key or account, highest cost first',
    item: usageSchema,
    returns: 'A page of sums.',
    filters: {
      group: group.default('day'),
      ...spanQuery,
      to: timeQuery.optional().meta({ description: 'Exclusive.' }),
      account: z.string().optional(),
      key: z.string().optional(),
      model: z.string().optional(),
      timezone: z.string().default('UTC').meta({ description: 'The time zone of the days.' }),
    },
    cursor: /^\d{1,9}$/,
    csv: [
      'day',
      'hour',
      'model',
      'key',
      'account',
      'requests',
      'errors',
      'prompt_tokens',
      'completion_tokens',
      'cost',
      'upstream_cost',
      'margin',
      'currency',
    ],
    async handle({ ctx: { db, config, currency }, query, page: { limit, cursor } }) {
      const { group: kind, account, key, model, timezone } = query
      const offset = Number(cursor ?? 0)
      const range = { from: parseFrom(query, config.timezone), to: parseTime(query.to) }
      const filter = { account, key, model, timezone, ...range }
      const groups = await readGroups(db, kind, filter, { limit: limit + 1, offset })
      const data = groups.slice(0, limit).map((sums) => serializeSums(kind, sums, currency))
      return { data, next: groups.length > limit ? String(offset + limit) : null }
    },
  }),
]
