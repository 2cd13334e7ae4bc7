/** Endpoints of an account: models and prices, limits, notifications, announcements. */
import { z } from 'zod'
import {
  countOpenLimitRequests,
  createLimitRequest,
  listLimitRequests,
} from '../../../accounts/limit-requests.ts'
import { listKeys } from '../../../accounts/keys.ts'
import { apiError } from '../../../errors.ts'
import { formatFactor } from '../../../lib/money.ts'
import { currentAnnouncements } from '../../../notifications/announcements.ts'
import {
  listNotifications,
  markNotificationsRead,
  countUnread,
} from '../../../notifications/notifications.ts'
import { operatorAudience } from '../../../notifications/notification-kinds.ts'
import { preferencesOf, setPreferences, type Preferences } from '../../../notifications/preferences.ts'
import { announcement, serializeAnnouncement } from '../../api/announcements.ts'
import { limitRequest, limitRequestView, serializeLimitRequest } from '../../api/limit-requests.ts'
import { limits, pageFields, pageOf } from '../../api/json-schemas.ts'
import { decodeCursor, encodeCursor } from '../../api/json-values.ts'
import { notificationSchema, serializeNotification } from '../../api/notifications.ts'
import { listOpenIncidents } from '../../api/open-incidents.ts'
import { getActiveAccountId } from '../auth/authorize.ts'
import { resolvePriceFactorPpm, listOfferedModels, modelSchema } from './models.ts'
import { person, customer, type ConsoleContext } from '../context.ts'

const maxRequestsShown = 20

const preferencesSchema = z.object({
  /** By kind of notification, the channels in addition to the console. */
  channels: z.record(z.string(), z.array(z.string())),
})

/** What is unread or open, for the menu. */
const menuCountsSchema = z.object({
  /** Unread notifications of the account. */
  notices: z.int(),
  /** null: not an operator, or impersonating a customer. */
  operator: z.object({ notices: z.int(), incidents: z.int(), limit_requests: z.int() }).nullable(),
})
export type MenuCounts = z.infer<typeof menuCountsSchema>

async function readOperatorCounts(ctx: ConsoleContext['ctx']): Promise<MenuCounts['operator']> {
  const [notices, incidents, limitRequests] = await Promise.all([
    countUnread(ctx.db, operatorAudience),
    listOpenIncidents(ctx),
    countOpenLimitRequests(ctx.db),
  ])
  return { notices, incidents: incidents.length, limit_requests: limitRequests }
}

async function readMenuCounts({ ctx, authenticated }: ConsoleContext): Promise<MenuCounts> {
  const { user, session } = authenticated
  const accountId = getActiveAccountId(authenticated)
  const isOperator = user.role === 'operator' && session.impersonatedAccount === null
  const [notices, operator] = await Promise.all([
    accountId === null ? 0 : countUnread(ctx.db, accountId),
    isOperator ? readOperatorCounts(ctx) : null,
  ])
  return { notices, operator }
}

function serializePreferences(preferences: Preferences) {
  const channels: Record<string, string[]> = {}
  for (const [kind, names] of Object.entries(preferences)) channels[kind] = [...names]
  return { channels }
}

export const accountEndpoints = {
  models: customer.get('/models', {
    response: z.object({ data: z.array(modelSchema) }),
    handle: async ({ ctx, account }) => ({ data: await listOfferedModels(ctx, account) }),
  }),
  limits: customer.get('/limits', {
    response: z.object({
      tier: z.string(),
      limits,
      /** The account's price factor. */
      price_factor: z.string(),
      keys: z.object({ held: z.int(), most: z.int() }),
      /** Newest first. */
      requests: z.array(limitRequest),
    }),
    handle: async ({ ctx, account }) => {
      const { db, config, directory } = ctx
      const [requests, keys] = await Promise.all([
        listLimitRequests(db, { account: account.id, limit: maxRequestsShown }),
        listKeys(db, account.id),
      ])
      const effective = directory.limitsOfAccount(account.id)
      if (effective === undefined) throw apiError('no_account')
      return {
        tier: account.tier,
        limits: effective,
        price_factor: formatFactor(resolvePriceFactorPpm(ctx, account)),
        keys: { held: keys.length, most: config.keysPerAccount },
        requests: requests.data.map((each) => serializeLimitRequest(each, account.email)),
      }
    },
  }),
  /** At most one can be open at a time. */
  requestLimits: customer.post('/limits/requests', {
    body: z.strictObject({
      wanted: z.strictObject({
        rpm: z.int().min(1).optional(),
        tpm: z.int().min(1).optional(),
        rpd: z.int().min(1).optional(),
        concurrency: z.int().min(1).optional(),
      }),
      reason: z.string().trim().min(1).max(2000),
    }),
    response: limitRequestView,
    handle: ({ ctx, accountId, by, body }) => createLimitRequest(ctx.db, { accountId, ...body }, by),
  }),
  announcements: person.get('/announcements', {
    response: z.object({ data: z.array(announcement), counts: menuCountsSchema }),
    handle: async (context) => ({
      data: (await currentAnnouncements(context.ctx.db)).map(serializeAnnouncement),
      counts: await readMenuCounts(context),
    }),
  }),
  notifications: customer.get('/notices', {
    query: { ...pageFields, unread: z.literal('true').optional() },
    response: pageOf(notificationSchema).extend({ unread: z.int() }),
    handle: async ({ ctx: { db }, accountId, user, query }) => {
      const { limit, cursor, unread } = query
      const page = { limit, cursor: decodeCursor(cursor, /^\d{1,15}$/) }
      const filter = { audience: accountId, unread: unread === 'true' }
      const [{ data, next }, count] = await Promise.all([
        listNotifications(db, filter, page),
        countUnread(db, accountId),
      ])
      return {
        data: data.map((notification) => serializeNotification(notification, user.language)),
        next: encodeCursor(next),
        unread: count,
      }
    },
  }),
  /** Without ids: all notifications. */
  markNotificationsRead: customer.post('/notices/read', {
    body: z.strictObject({ ids: z.array(z.string().max(100)).max(1000).optional() }),
    response: z.object({ read: z.int() }),
    handle: async ({ ctx, accountId, body }) => ({
      read: await markNotificationsRead(ctx.db, { audience: accountId, ids: body.ids }),
    }),
  }),
  preferences: customer.get('/notices/preferences', {
    response: preferencesSchema,
    handle: async ({ ctx, accountId }) => serializePreferences(await preferencesOf(ctx.db, accountId)),
  }),
  setPreferences: customer.patch('/notices/preferences', {
    body: preferencesSchema,
    response: preferencesSchema,
    handle: async ({ ctx, accountId, by, body }) =>
      serializePreferences(await setPreferences(ctx.db, accountId, body.channels, by)),
  }),
}
