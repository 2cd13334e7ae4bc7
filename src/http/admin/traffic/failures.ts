/** `/failures`: why requests fail. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { countFailures, failureGroups, trafficBy } from '../../../usage/traffic.ts'
import { time } from '../../api/json-schemas.ts'
import { formatTime, parseTime } from '../../api/json-values.ts'
import { classifyFailure, failure } from '../../api/request-failures.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { last24HoursStart, parseFrom } from '../../api/time-spans.ts'
import type { AdminContext } from '../admin-context.ts'
import { okResponse, spanQuery, timeQuery } from '../schemas.ts'

export const failureGroup = failure.extend({
  /** The last upstream that was tried; null: none was. */
  upstream: z.string().nullable(),
  upstream_name: z.string().nullable(),
  model: z.string(),
  http_status: z.int(),
  count: z.int(),
  /** Share of all requests for this model in this time. */
  share: z.number(),
  first_at: time,
  last_at: time,
  sample_request_id: z.string(),
})
export const failures = z.object({
  from: time,
  to: time,
  /** Of all models, or of the one in the filter; from all upstreams. */
  requests: z.int(),
  failures: z.int(),
  data: z.array(failureGroup),
})
export type FailureGroup = z.infer<typeof failureGroup>
export type Failures = z.infer<typeof failures>

const showFailures = createRoute({
  method: 'get',
  path: '/failures',
  summary: 'List failures by cause, upstream and model, most frequent first; default: the last 24 hours',
  request: {
    query: z.strictObject({
      ...spanQuery,
      to: timeQuery.optional(),
      model: z.string().optional(),
      upstream: z.string().optional(),
    }),
  },
  responses: okResponse(failures, 'The groups.'),
})

export function failureRoutes({ ctx: { db, catalog, config } }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(showFailures, async (c) => {
    const query = c.req.valid('query')
    const to = parseTime(query.to) ?? Date.now()
    const from = parseFrom(query, config.timezone) ?? last24HoursStart(to)
    const filter = { from: from - (from % hourMs), to, model: query.model, upstream: query.upstream }
    const [groups, failed, models] = await Promise.all([
      failureGroups(db, filter),
      countFailures(db, filter),
      trafficBy(db, 'model', filter),
    ])
    const received = new Map(models.map(({ name, requests }) => [name, requests]))
    const data = groups.map((group) => ({
      ...classifyFailure(group.cause),
      upstream: group.upstreamId,
      upstream_name: catalog.upstream(group.upstreamId ?? '')?.name ?? null,
      model: group.model,
      http_status: group.httpStatus,
      count: group.count,
      share: group.count / Math.max(group.count, received.get(group.model) ?? 0),
      first_at: formatTime(group.firstAt),
      last_at: formatTime(group.lastAt),
      sample_request_id: group.sample,
    }))
    const requests = models
      .filter(({ name }) => query.model === undefined || name === query.model)
      .reduce((sum, row) => sum + row.requests, 0)
    return c.json({ from: formatTime(from), to: formatTime(to), requests, failures: failed, data }, 200)
  })
  return app
}
