/**
 * What operators see. All that they do is the automation contract, under /api/admin, which takes their session as well;
 * here are the shapes of its reports, and what only a session can: looking at the customer's pages as an account.
 */
import { z } from 'zod'
import { announcement } from './account.ts'
import { call } from './call.ts'
import { entranceCalls } from './entrance.ts'
import { money, time, timeIn } from '../../api/json-schemas.ts'
import { failure } from './usage.ts'

const takings = z.object({
  requests: z.int(),
  errors: z.int(),
  revenue: money,
  /** What the upstreams cost, as far as it is known. */
  upstream_cost: money,
  margin: money,
})
/** `GET /api/admin/dashboard`. */
export const dashboard = z.object({
  currency: z.string(),
  /** Whose days and months they are. */
  timezone: z.string(),
  today: takings,
  month: takings,
  /** Over the last minute. */
  requests_per_second: z.number(),
  /** Answered ÷ received over the last hour, without what callers did wrong; null: nothing came. */
  success: z.number().nullable(),
  hours: z.array(takings.extend({ time })),
  days: z.array(takings.extend({ time })),
  models: z.array(takings.extend({ model: z.string() })),
  accounts: z.object({ all: z.int(), suspended: z.int(), balances: money }),
  /** Models that are offered and have no price or no upstream. */
  unserved: z.array(z.object({ model: z.string(), missing: z.enum(['price', 'route', 'upstream']) })),
  open_limit_requests: z.int(),
  steps: z.object({
    has_upstream: z.boolean(),
    has_model: z.boolean(),
    has_account: z.boolean(),
    has_request: z.boolean(),
  }),
})

export const failureGroup = failure.extend({
  /** The upstream that it ended at; null: none was asked. */
  upstream: z.string().nullable(),
  upstream_name: z.string().nullable(),
  model: z.string(),
  http_status: z.int(),
  count: z.int(),
  /** Of all requests of this model and time. */
  share: z.number(),
  first_at: time,
  last_at: time,
  sample_request_id: z.string(),
})

/** `GET /api/admin/search?q=`, by e-mail address, name, key prefix or an id; at most 20. */
export const found = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('account'), id: z.string(), email: z.string(), name: z.string() }),
  z.object({
    kind: z.literal('key'),
    id: z.string(),
    name: z.string(),
    prefix: z.string(),
    account: z.string(),
  }),
  z.object({ kind: z.literal('request'), id: z.string(), time, account: z.string() }),
  z.object({ kind: z.literal('model'), id: z.string() }),
  z.object({ kind: z.literal('upstream'), id: z.string(), name: z.string() }),
])

/** `GET /api/admin/failures`, most frequent first; by default of the last 24 hours. */
export const failures = z.object({
  from: time,
  to: time,
  requests: z.int(),
  failures: z.int(),
  data: z.array(failureGroup),
})

const words = announcement.shape
/** `POST` and, with what is given, `PATCH /api/admin/announcements/{id}`. */
export const announcementIn = z.strictObject({
  title: words.title,
  text: words.text,
  severity: words.severity.default('info'),
  from: timeIn.optional(),
  to: timeIn.nullish(),
})

const { answer } = entranceCalls.session

export const operatorCalls = {
  /** From now on the customer's pages are this account's, until `stopActing` or sign-out. Audited. */
  actAs: call(['POST', '/operator/accounts/:id/act', 'operator'], { answer }),
  stopActing: call(['POST', '/operator/act/end', 'operator'], { answer }),
} as const

export type Dashboard = z.infer<typeof dashboard>
export type FailureGroup = z.infer<typeof failureGroup>
export type Failures = z.infer<typeof failures>
export type Found = z.infer<typeof found>
export type AnnouncementBody = z.input<typeof announcementIn>
