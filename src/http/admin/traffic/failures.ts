/** `/failures`: why requests fail. */
import { z } from '@hono/zod-openapi'
import { fieldColumns } from '../../csv-export.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
import { trafficBy } from '../../../usage/reports.ts'
import { countFailures, failureGroups } from '../../../usage/traffic.ts'
import { time } from '../../api/json-schemas.ts'
import { formatTime, parseTime } from '../../api/json-values.ts'
import { classifyFailure, failure } from '../../api/request-failures.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { last24HoursStart, parseFrom } from '../../api/time-spans.ts'
import { spanQuery, timeQuery } from '../schemas.ts'

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

export const failureEndpoints = [
  admin.get('/failures', {
    summary: 'List failures by cause, upstream and model, most frequent first; default: the last 24 hours',
    query: {
      ...spanQuery,
      to: timeQuery.optional(),
      model: z.string().optional(),
      upstream: z.string().optional(),
    },
    response: failures,
    returns: 'The groups.',
    csv: fieldColumns(failureGroup),
    async handle({ ctx: { db, catalog, config }, query }) {
      const to = parseTime(query.to) ?? Date.now()
      const from = parseFrom(query, config.timezone) ?? last24HoursStart(to)
      const filter = { from: from - (from % hourMs), to, model: query.model, upstream: query.upstream }
      const [groups, failed, models] = await Promise.all([
        failureGroups(db, filter),
        countFailures(db, filter),
        trafficBy(db, 'model', filter),
      ])
      const received = new Map(models.map(({ name, requests }) => [name, requests]))
      const data = groups.map((each) => ({
        ...jsonFields(each),
        ...classifyFailure(each.cause),
        upstream: each.upstreamId,
        upstream_name: catalog.upstream(each.upstreamId ?? '')?.name ?? null,
        share: each.count / Math.max(each.count, received.get(each.model) ?? 0),
        sample_request_id: each.sample,
      }))
      const requests = models
        .filter(({ name }) => query.model === undefined || name === query.model)
        .reduce((sum, row) => sum + row.requests, 0)
      return { from: formatTime(from), to: formatTime(to), requests, failures: failed, data }
    },
  }),
]
