/** What an account gets to know: models and prices, limits, notices, announcements. */
import { askLimits, listLimitRequests, type LimitRequest } from '../../accounts/limit-requests.ts'
import { listKeys } from '../../accounts/keys.ts'
import { refuse } from '../../errors.ts'
import { factorOf } from '../../lib/money.ts'
import { currentAnnouncements, type Announcement } from '../../notifications/announcements.ts'
import {
  listNotices,
  markNoticesRead,
  unreadNotices,
  type Notice,
} from '../../notifications/notifications.ts'
import { preferencesOf, setPreferences, type Preferences } from '../../notifications/preferences.ts'
import { textOf } from '../../notifications/locales/notification-texts.ts'
import type { Language } from '../../users/users.ts'
import { openedCursor, sealedCursor, timeOf } from '../admin/schemas.ts'
import {
  accountCalls,
  type Announcement as AnnouncementView,
  type LimitRequest as LimitRequestView,
  type Notice as NoticeView,
} from './contract/account.ts'
import { factorPpmOfAccount, modelViews } from './account/models.ts'
import { bound, type Bound, type Visit } from './visit.ts'

const requestsShown = 20

export function limitRequestView(asked: LimitRequest, email: string): LimitRequestView {
  return {
    id: asked.id,
    account: asked.accountId,
    account_email: email,
    wanted: asked.wanted,
    reason: asked.reason,
    status: asked.status,
    answer: asked.answer,
    created_at: timeOf(asked.createdAt),
    answered_at: timeOf(asked.answeredAt),
  }
}

async function limits({ house, account }: Visit) {
  const { db, config, directory } = house
  const [asked, keys] = await Promise.all([
    listLimitRequests(db, { account: account.id, limit: requestsShown }),
    listKeys(db, account.id),
  ])
  const effective = directory.limitsOfAccount(account.id)
  if (effective === undefined) throw refuse('no_account')
  return {
    tier: account.tier,
    limits: effective,
    price_factor: factorOf(factorPpmOfAccount(house, account)),
    keys: { held: keys.length, most: config.keysPerAccount },
    requests: asked.data.map((each) => limitRequestView(each, account.email)),
  }
}

async function ask({ house, account, by, body }: Visit<typeof accountCalls.askLimits>) {
  const asked = await askLimits(house.db, { accountId: account.id, ...body }, by)
  return limitRequestView(asked, account.email)
}

export function announcementView({ id, title, text, severity, from, to }: Announcement): AnnouncementView {
  return { id, title, text, severity, from: timeOf(from), to: timeOf(to) }
}

function noticeView(notice: Notice, language: Language): NoticeView {
  const { id, kind, severity, code, params, createdAt, readAt } = notice
  const { title, text } = textOf(notice, language)
  return { id, time: timeOf(createdAt), kind, severity, code, params, title, text, read: readAt !== null }
}

async function notices({ house: { db }, accountId, person, query }: Visit<typeof accountCalls.notices>) {
  const { limit, cursor, unread } = query
  const page = { limit, cursor: openedCursor(cursor, /^\d{1,15}$/) }
  const filter = { audience: accountId, unread: unread === 'true' }
  const [{ data, next }, count] = await Promise.all([
    listNotices(db, filter, page),
    unreadNotices(db, accountId),
  ])
  return {
    data: data.map((notice) => noticeView(notice, person.language)),
    next: sealedCursor(next),
    unread: count,
  }
}

function preferencesView(preferences: Preferences) {
  const channels: Record<string, string[]> = {}
  for (const [kind, names] of Object.entries(preferences)) channels[kind] = [...names]
  return { channels }
}

export const customerCalls: readonly Bound[] = [
  bound(accountCalls.models, async ({ house, account }) => ({ data: await modelViews(house, account) })),
  bound(accountCalls.limits, limits),
  bound(accountCalls.askLimits, ask),
  bound(accountCalls.announcements, async ({ house }) => ({
    data: (await currentAnnouncements(house.db)).map(announcementView),
  })),
  bound(accountCalls.notices, notices),
  bound(accountCalls.readNotices, async ({ house, accountId, body }) => ({
    read: await markNoticesRead(house.db, { audience: accountId, ids: body.ids }),
  })),
  bound(accountCalls.preferences, async ({ house, accountId }) =>
    preferencesView(await preferencesOf(house.db, accountId)),
  ),
  bound(accountCalls.setPreferences, async ({ house, accountId, by, body }) =>
    preferencesView(await setPreferences(house.db, accountId, body.channels, by)),
  ),
]
