import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { operatorAudience } from './notification-kinds.ts'
import {
  listNotifications,
  markNotificationsRead,
  raiseNotification,
  countUnread,
  type NotificationInput,
} from './notifications.ts'
import { preferencesOf, setPreferences } from './preferences.ts'
import {
  languages,
  notificationTexts,
  renderText,
  type NotificationCode,
} from './locales/notification-texts.ts'

function lowBalance(audience: string, fields: Partial<NotificationInput> = {}): NotificationInput {
  return {
    audience,
    kind: 'balance',
    severity: 'warning',
    subject: 'balance',
    period: 'first',
    code: 'balance_low',
    params: { balance: '1.5', currency: 'CNY' },
    ...fields,
  }
}

describe('notifications', () => {
  test('raiseNotification – raises once per audience, kind, subject and period, also concurrently', async (t) => {
    const db = await openTemporaryDb(t)
    const raised = await Promise.all(
      Array.from({ length: 50 }, () => raiseNotification(db, lowBalance('acc_a'), lowBalance('acc_b'))),
    )
    assert.equal(
      raised.reduce((sum, each) => sum + each, 0),
      2,
    )
    assert.equal(await raiseNotification(db, lowBalance('acc_a', { period: 'second' })), 1)
    assert.equal(await raiseNotification(db, lowBalance('acc_a', { subject: 'other' })), 1)
    assert.equal(await raiseNotification(db), 0)
    const { data } = await listNotifications(db, { audience: 'acc_a' }, { limit: 10 })
    assert.deepEqual(
      data.map((notification) => [notification.subject, notification.period]),
      [
        ['other', 'first'],
        ['balance', 'second'],
        ['balance', 'first'],
      ],
    )
  })

  test('listNotifications – returns newest first, each once over pages, filtered', async (t) => {
    const db = await openTemporaryDb(t)
    for (const period of ['1', '2', '3', '4', '5'])
      await raiseNotification(db, lowBalance('acc_a', { period }))
    await raiseNotification(db, lowBalance('acc_b', { severity: 'critical' }))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listNotifications(db, { audience: 'acc_a' }, { limit: 2, cursor })
      seen.push(...page.data.map((notification) => notification.period))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    assert.deepEqual(seen, ['5', '4', '3', '2', '1'])
    const { data } = await listNotifications(db, { severity: 'critical' }, { limit: 10 })
    assert.deepEqual(
      data.map((notification) => notification.audience),
      ['acc_b'],
    )
  })

  test('markNotificationsRead – affects only the audience’s own, once', async (t) => {
    const db = await openTemporaryDb(t)
    await raiseNotification(
      db,
      lowBalance('acc_a'),
      lowBalance('acc_a', { period: 'second' }),
      lowBalance('acc_b'),
    )
    const { data } = await listNotifications(db, {}, { limit: 10 })
    const ids = data.map((notification) => notification.id)
    assert.equal(await markNotificationsRead(db, { audience: 'acc_b', ids }), 1)
    assert.equal(await markNotificationsRead(db, { audience: 'acc_b', ids }), 0)
    assert.deepEqual([await countUnread(db, 'acc_a'), await countUnread(db, 'acc_b')], [2, 0])
    assert.equal(await markNotificationsRead(db, { audience: 'acc_a' }), 2)
    assert.deepEqual((await listNotifications(db, { unread: true }, { limit: 10 })).data, [])
  })
})

describe('preferences', () => {
  test('setPreferences – changes the given kinds and rejects those of another audience', async (t) => {
    const db = await openTemporaryDb(t)
    assert.deepEqual(await preferencesOf(db, 'acc_a'), {
      spend_cap: ['email'],
      balance: ['email'],
      account: ['email'],
      key: ['email'],
      incident: [],
      payment: ['email'],
    })
    await setPreferences(db, 'acc_a', { balance: ['email', 'telegram', 'email'] }, 'acc_a')
    const preferences = await setPreferences(db, 'acc_a', { spend_cap: [] }, 'acc_a')
    assert.deepEqual(preferences, {
      spend_cap: [],
      balance: ['email', 'telegram'],
      account: ['email'],
      key: ['email'],
      incident: [],
      payment: ['email'],
    })
    for (const [audience, patch, param] of [
      ['acc_a', { promotion: [] }, 'kind'],
      [operatorAudience, { balance: [] }, 'kind'],
      ['acc_a', { balance: ['E Mail'] }, 'balance'],
    ] as const) {
      await assert.rejects(
        setPreferences(db, audience, patch, 'x'),
        (error) => error instanceof ApiError && error.detail.param === param,
      )
    }
  })
})

describe('texts', () => {
  test('all texts – exist in every language with the same parameters', () => {
    const placesOf = (text: string): string[] => (text.match(/\{\w+(:time)?\}/g) ?? []).toSorted()
    for (const [code, texts] of Object.entries(notificationTexts)) {
      const { en, 'zh-CN': chinese } = texts
      assert.ok(en.title !== '' && en.text !== '', code)
      assert.match(chinese.title + chinese.text, /\p{Script=Han}/u, code)
      assert.doesNotMatch(en.title + en.text, /\p{Script=Han}/u, code)
      assert.deepEqual(placesOf(chinese.title), placesOf(en.title), code)
      assert.deepEqual(placesOf(chinese.text), placesOf(en.text), code)
    }
  })

  test('renderText – fills in parameters and shows times in the local zone', () => {
    const params = {
      spent: '0.8',
      cap: '1',
      currency: 'CNY',
      key: '{cap} of {spent}',
      resumes_at: '2026-11-21T16:00:00.000Z',
      timezone: 'Asia/Shanghai',
    }
    const code: NotificationCode = 'key_daily_cap_100'
    assert.deepEqual(renderText({ code, params }, 'en'), {
      title: 'The daily spend cap of key “{cap} of {spent}” has been reached',
      text: 'You have spent 0.8 of 1 CNY. Requests are rejected until 2026-11-22 00:00 (Asia/Shanghai).',
    })
    for (const language of languages)
      assert.doesNotMatch(renderText({ code, params }, language).text, /\{|\}/)
  })
})
