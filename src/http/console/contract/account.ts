/** Contract of an account's pages: models and prices, limits, notifications, announcements, playground. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'
import { announcement } from '../../api/announcements.ts'
import { limitRequest } from '../../api/limit-requests.ts'
import { limits, money, pageFields, pageOf, time } from '../../api/json-schemas.ts'

export const model = z.object({
  id: z.string(),
  owned_by: z.string(),
  context_tokens: z.int(),
  max_output_tokens: z.int().nullable(),
  free: z.boolean(),
  /** Per 1,000 tokens with this account's factor; `per_request` and `per_search` per unit. null: priced as its parent. */
  prices: z.object({
    input: money,
    output: money,
    cached_input: money.nullable(),
    cache_write: money.nullable(),
    reasoning: money.nullable(),
    per_request: money,
    per_search: money,
  }),
  /** Success rate over the current hour and the 23 before it, without errors of callers; null: no requests. */
  success: z.number().nullable(),
  /** Those in the success rate. */
  requests: z.int(),
  first_token_ms: z.number().nullable(),
})

const notification = z.object({
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
  /** By kind of notification, the channels in addition to the console. */
  channels: z.record(z.string(), z.array(z.string())),
})

/** What is unread or open, for the menu. */
const menuCounts = z.object({
  /** Unread notifications of the account. */
  notices: z.int(),
  /** null: not an operator, or impersonating a customer. */
  operator: z.object({ notices: z.int(), incidents: z.int(), limit_requests: z.int() }).nullable(),
})

export const accountContract = {
  models: defineEndpoint(['GET', '/models', 'customer'], { response: z.object({ data: z.array(model) }) }),
  limits: defineEndpoint(['GET', '/limits', 'customer'], {
    response: z.object({
      tier: z.string(),
      limits,
      /** The account's price factor. */
      price_factor: z.string(),
      keys: z.object({ held: z.int(), most: z.int() }),
      /** Newest first. */
      requests: z.array(limitRequest),
    }),
  }),
  /** At most one can be open at a time. */
  requestLimits: defineEndpoint(['POST', '/limits/requests', 'customer'], {
    body: z.strictObject({
      wanted: z.strictObject({
        rpm: z.int().min(1).optional(),
        tpm: z.int().min(1).optional(),
        rpd: z.int().min(1).optional(),
        concurrency: z.int().min(1).optional(),
      }),
      reason: z.string().trim().min(1).max(2000),
    }),
    response: limitRequest,
  }),
  announcements: defineEndpoint(['GET', '/announcements', 'person'], {
    response: z.object({ data: z.array(announcement), counts: menuCounts }),
  }),
  notifications: defineEndpoint(['GET', '/notices', 'customer'], {
    query: z.strictObject({ ...pageFields, unread: z.literal('true').optional() }),
    response: pageOf(notification).extend({ unread: z.int() }),
  }),
  /** Without ids: all notifications. */
  markNotificationsRead: defineEndpoint(['POST', '/notices/read', 'customer'], {
    body: z.strictObject({ ids: z.array(z.string().max(100)).max(1000).optional() }),
    response: z.object({ read: z.int() }),
  }),
  preferences: defineEndpoint(['GET', '/notices/preferences', 'customer'], { response: preferences }),
  setPreferences: defineEndpoint(['PATCH', '/notices/preferences', 'customer'], {
    body: preferences,
    response: preferences,
  }),
} as const

/**
 * `POST /api/console/chat/completions`: requests and responses as on `/v1/chat/completions`, including streams, but
 * authenticated by session and charged to its account. Non-streaming responses carry `x-request-id` and `x-sluice-cost`.
 */
export const playgroundPath = '/chat/completions'

export type Model = z.infer<typeof model>
export type MenuCounts = z.infer<typeof menuCounts>
export type Notification = z.infer<typeof notification>
