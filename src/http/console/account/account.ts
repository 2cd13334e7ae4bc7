/** Endpoints of an account: models and prices, limits, notifications, announcements. */
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
  type Notification as StoredNotification,
} from '../../../notifications/notifications.ts'
import { operatorAudience } from '../../../notifications/notification-kinds.ts'
import { preferencesOf, setPreferences, type Preferences } from '../../../notifications/preferences.ts'
import { renderText } from '../../../notifications/locales/notification-texts.ts'
import type { Language } from '../../../users/users.ts'
import { serializeAnnouncement } from '../../api/announcements.ts'
import { serializeLimitRequest } from '../../api/limit-requests.ts'
import { decodeCursor, encodeCursor, formatTime } from '../../api/json-values.ts'
import { listOpenIncidents } from '../../api/open-incidents.ts'
import { accountContract, type MenuCounts, type Notification } from '../contract/account.ts'
import { resolvePriceFactorPpm, listOfferedModels } from './models.ts'
import { endpoint, getActiveAccountId, type Endpoint, type ConsoleContext } from '../context.ts'

const maxRequestsShown = 20

async function readLimits({ ctx, account }: ConsoleContext) {
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
}

async function requestLimits({
  ctx,
  account,
  by,
  body,
}: ConsoleContext<typeof accountContract.requestLimits>) {
  const request = await createLimitRequest(ctx.db, { accountId: account.id, ...body }, by)
  return serializeLimitRequest(request, account.email)
}

function serializeNotification(notification: StoredNotification, language: Language): Notification {
  const { id, kind, severity, code, params, createdAt, readAt } = notification
  const { title, text } = renderText(notification, language)
  return { id, time: formatTime(createdAt), kind, severity, code, params, title, text, read: readAt !== null }
}

async function readNotifications({
  ctx: { db },
  accountId,
  user,
  query,
}: ConsoleContext<typeof accountContract.notifications>) {
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
}

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

export const accountEndpoints: readonly Endpoint[] = [
  endpoint(accountContract.models, async ({ ctx, account }) => ({
    data: await listOfferedModels(ctx, account),
  })),
  endpoint(accountContract.limits, readLimits),
  endpoint(accountContract.requestLimits, requestLimits),
  endpoint(accountContract.announcements, async (context) => ({
    data: (await currentAnnouncements(context.ctx.db)).map(serializeAnnouncement),
    counts: await readMenuCounts(context),
  })),
  endpoint(accountContract.notifications, readNotifications),
  endpoint(accountContract.markNotificationsRead, async ({ ctx, accountId, body }) => ({
    read: await markNotificationsRead(ctx.db, { audience: accountId, ids: body.ids }),
  })),
  endpoint(accountContract.preferences, async ({ ctx, accountId }) =>
    serializePreferences(await preferencesOf(ctx.db, accountId)),
  ),
  endpoint(accountContract.setPreferences, async ({ ctx, accountId, by, body }) =>
    serializePreferences(await setPreferences(ctx.db, accountId, body.channels, by)),
  ),
]
