/**
 * What operators see beyond the automation contract, which they reach under /api/admin with the same session: the
 * dashboard, failures by cause, search, sign-in as an account, links, requests for limits, announcements.
 */
import { z } from 'zod'
import { announcement, limitRequest } from './account.ts'
import { call, type AnswerOf } from './call.ts'
import { entranceCalls, role } from './entrance.ts'
import { done, limitsIn, money, pageFields, pageOf, time, timeIn } from './shapes.ts'
import { failure } from './usage.ts'

const takings = z.object({
  requests: z.int(),
  errors: z.int(),
  revenue: money,
  /** What the upstreams cost, as far as it is known. */
  upstream_cost: money,
  margin: money,
})
const dashboard = z.object({
  currency: z.string(),
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

const failureGroup = failure.extend({
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

const found = z.discriminatedUnion('kind', [
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

const personRow = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role,
  account: z.string().nullable(),
  disabled: z.boolean(),
  two_factor: z.boolean(),
  last_sign_in_at: time.nullable(),
  created_at: time,
})

/** `url` is shown once and opens once. */
const link = z.object({ url: z.string(), expires_at: time })
const words = announcement.shape
const announcementIn = z.strictObject({
  title: words.title,
  text: words.text,
  severity: words.severity.default('info'),
  from: timeIn.optional(),
  to: timeIn.nullish(),
})

export const operatorCalls = {
  dashboard: call(['GET', '/operator/dashboard', 'operator'], { answer: dashboard }),
  /** Most frequent first. Default: the last 24 hours. */
  failures: call(['GET', '/operator/failures', 'operator'], {
    query: z.strictObject({
      from: timeIn.optional(),
      to: timeIn.optional(),
      model: z.string().optional(),
      upstream: z.string().optional(),
    }),
    answer: z.object({
      from: time,
      to: time,
      requests: z.int(),
      failures: z.int(),
      data: z.array(failureGroup),
    }),
  }),
  /** By e-mail, name, key prefix, or an id; at most 20. */
  search: call(['GET', '/operator/search', 'operator'], {
    query: z.strictObject({ q: z.string().trim().min(2).max(200) }),
    answer: z.object({ data: z.array(found) }),
  }),
  settings: call(['GET', '/operator/settings', 'operator'], {
    answer: z.object({
      data: z.array(
        z.object({
          env: z.string(),
          group: z.string(),
          doc: z.string(),
          allowed: z.string(),
          standard: z.string(),
          /** Secrets say only whether they are set. */
          value: z.string().nullable(),
          secret: z.boolean(),
        }),
      ),
    }),
  }),
  backups: call(['GET', '/operator/backups', 'operator'], {
    answer: z.object({
      folder: z.string(),
      data: z.array(z.object({ name: z.string(), time, bytes: z.int() })),
    }),
  }),
  /** Copies the database and its key into a folder beside the data, checked. */
  backup: call(['POST', '/operator/backups', 'operator'], {
    answer: z.object({ name: z.string(), time, bytes: z.int() }),
  }),
  people: call(['GET', '/operator/people', 'operator'], {
    query: z.strictObject({ ...pageFields, account: z.string().optional(), role: role.optional() }),
    answer: pageOf(personRow),
  }),
  /** Ends the person's sessions and shuts the door, or opens it again. */
  changePerson: call(['PATCH', '/operator/people/:id', 'operator'], {
    body: z.strictObject({ disabled: z.boolean() }),
    answer: personRow,
  }),
  /** Sets a new password, without e-mail; the second factor stays unless it is to be forgotten. */
  resetLink: call(['POST', '/operator/people/:id/reset-link', 'operator'], {
    body: z.strictObject({ forget_second_factor: z.boolean().default(false) }),
    answer: link,
  }),
  /** For an account that was made here or by script: its first person comes in by this link. */
  accountLink: call(['POST', '/operator/accounts/:id/access-link', 'operator'], { answer: link }),
  operatorLink: call(['POST', '/operator/operators/link', 'operator'], { answer: link }),
  invites: call(['GET', '/operator/invites', 'operator'], {
    query: z.strictObject(pageFields),
    answer: pageOf(
      z.object({
        id: z.string(),
        note: z.string(),
        uses_left: z.int(),
        expires_at: time.nullable(),
        created_at: time,
      }),
    ),
  }),
  invite: call(['POST', '/operator/invites', 'operator'], {
    body: z.strictObject({
      note: z.string().max(200).default(''),
      uses: z.int().min(1).max(10_000).default(1),
      expires_at: timeIn.nullish(),
    }),
    /** `code` is shown once. */
    answer: z.object({ id: z.string(), code: z.string() }),
  }),
  endInvite: call(['DELETE', '/operator/invites/:id', 'operator'], { answer: done }),
  /** From now on the customer's pages are this account's, until `stopActing` or sign-out. Audited. */
  actAs: call(['POST', '/operator/accounts/:id/act', 'operator'], { answer: entranceCalls.session.answer }),
  stopActing: call(['POST', '/operator/act/end', 'operator'], { answer: entranceCalls.session.answer }),
  limitRequests: call(['GET', '/operator/limit-requests', 'operator'], {
    query: z.strictObject({ ...pageFields, status: z.enum(['open', 'granted', 'declined']).optional() }),
    answer: pageOf(limitRequest),
  }),
  /** Granted: the account gets `limits`, or what was wanted. */
  answerLimitRequest: call(['POST', '/operator/limit-requests/:id', 'operator'], {
    body: z.strictObject({
      decision: z.enum(['grant', 'decline']),
      limits: limitsIn.optional(),
      answer: z.string().max(2000).default(''),
    }),
    answer: limitRequest,
  }),
  announcements: call(['GET', '/operator/announcements', 'operator'], {
    query: z.strictObject(pageFields),
    answer: pageOf(announcement),
  }),
  announce: call(['POST', '/operator/announcements', 'operator'], {
    body: announcementIn,
    answer: announcement,
  }),
  changeAnnouncement: call(['PATCH', '/operator/announcements/:id', 'operator'], {
    body: announcementIn.partial(),
    answer: announcement,
  }),
  endAnnouncement: call(['DELETE', '/operator/announcements/:id', 'operator'], { answer: done }),
} as const

export type Dashboard = AnswerOf<typeof operatorCalls.dashboard>
export type FailureGroup = z.infer<typeof failureGroup>
export type Found = z.infer<typeof found>
export type PersonRow = z.infer<typeof personRow>
export type AnnouncementBody = z.input<typeof announcementIn>
