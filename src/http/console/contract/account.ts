/** What an account may and gets to know: models and prices, limits, notices, announcements, and a try. */
import { z } from 'zod'
import { call } from './call.ts'
import { language, limits, money, pageFields, pageOf, time } from '../../api/json-schemas.ts'

export const model = z.object({
  id: z.string(),
  owned_by: z.string(),
  context_tokens: z.int(),
  max_output_tokens: z.int().nullable(),
  free: z.boolean(),
  /** Per 1,000 tokens with this account's factor; `per_request` and `per_search` for each. null costs as its parent. */
  prices: z.object({
    input: money,
    output: money,
    cached_input: money.nullable(),
    cache_write: money.nullable(),
    reasoning: money.nullable(),
    per_request: money,
    per_search: money,
  }),
  /** Of the last 24 hours; null: nobody asked. Success is answered ÷ received, without what callers did wrong. */
  success: z.number().nullable(),
  requests: z.int(),
  first_token_ms: z.number().nullable(),
})

export const limitRequest = z.object({
  id: z.string(),
  account: z.string(),
  account_email: z.string(),
  wanted: limits.partial(),
  reason: z.string(),
  status: z.enum(['open', 'granted', 'declined']),
  answer: z.string().nullable(),
  created_at: time,
  answered_at: time.nullable(),
})

export const announcement = z.object({
  id: z.string(),
  /** In each language that it was written in. */
  title: z.partialRecord(language, z.string()),
  text: z.partialRecord(language, z.string()),
  severity: z.enum(['info', 'warning', 'critical']),
  from: time,
  to: time.nullable(),
})
const notice = z.object({
  id: z.string(),
  time,
  kind: z.string(),
  severity: z.enum(['info', 'warning', 'critical']),
  code: z.string(),
  params: z.record(z.string(), z.string()),
  title: z.string(),
  text: z.string(),
  read: z.boolean(),
})
const preferences = z.object({
  /** By kind of notice, the channels it goes to beside the console. */
  channels: z.record(z.string(), z.array(z.string())),
})

export const accountCalls = {
  models: call(['GET', '/models', 'customer'], { answer: z.object({ data: z.array(model) }) }),
  limits: call(['GET', '/limits', 'customer'], {
    answer: z.object({
      tier: z.string(),
      limits,
      /** The account's price factor. */
      price_factor: z.string(),
      keys: z.object({ held: z.int(), most: z.int() }),
      /** Newest first. */
      requests: z.array(limitRequest),
    }),
  }),
  /** One may be open at a time. */
  askLimits: call(['POST', '/limits/requests', 'customer'], {
    body: z.strictObject({
      wanted: z.strictObject({
        rpm: z.int().min(1).optional(),
        tpm: z.int().min(1).optional(),
        rpd: z.int().min(1).optional(),
        concurrency: z.int().min(1).optional(),
      }),
      reason: z.string().trim().min(1).max(2000),
    }),
    answer: limitRequest,
  }),
  announcements: call(['GET', '/announcements', 'person'], {
    answer: z.object({ data: z.array(announcement) }),
  }),
  notices: call(['GET', '/notices', 'customer'], {
    query: z.strictObject({ ...pageFields, unread: z.literal('true').optional() }),
    answer: pageOf(notice).extend({ unread: z.int() }),
  }),
  /** Without ids: all. */
  readNotices: call(['POST', '/notices/read', 'customer'], {
    body: z.strictObject({ ids: z.array(z.string().max(100)).max(1000).optional() }),
    answer: z.object({ read: z.int() }),
  }),
  preferences: call(['GET', '/notices/preferences', 'customer'], { answer: preferences }),
  setPreferences: call(['PATCH', '/notices/preferences', 'customer'], {
    body: preferences,
    answer: preferences,
  }),
} as const

/**
 * `POST /api/console/chat/completions`: the body and the answer of `/v1/chat/completions`, streams included, made with
 * the session and charged to its account like every call. Whole answers carry `x-request-id` and `x-sluice-cost`.
 */
export const playgroundPath = '/chat/completions'

export type Model = z.infer<typeof model>
export type LimitRequest = z.infer<typeof limitRequest>
export type Announcement = z.infer<typeof announcement>
export type Notice = z.infer<typeof notice>
