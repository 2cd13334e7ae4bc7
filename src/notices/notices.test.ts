import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDb } from '../db/store.fixture.ts'
import { Refusal } from '../errors.ts'
import { operator } from '../notifications/notification-kinds.ts'
import {
  listNotices,
  markNoticesRead,
  raiseNotice,
  unreadNotices,
  type NoticeInput,
} from '../notifications/notifications.ts'
import { preferencesOf, setPreferences } from '../notifications/preferences.ts'
import {
  languages,
  noticeWords,
  textOf,
  type NoticeCode,
} from '../notifications/locales/notification-texts.ts'

function low(audience: string, fields: Partial<NoticeInput> = {}): NoticeInput {
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

test('a notice is raised once per audience, kind, subject and period, also by many at once', async (t) => {
  const db = await temporaryDb(t)
  const raised = await Promise.all(
    Array.from({ length: 50 }, () => raiseNotice(db, low('acc_a'), low('acc_b'))),
  )
  assert.equal(
    raised.reduce((sum, each) => sum + each, 0),
    2,
  )
  assert.equal(await raiseNotice(db, low('acc_a', { period: 'second' })), 1)
  assert.equal(await raiseNotice(db, low('acc_a', { subject: 'other' })), 1)
  assert.equal(await raiseNotice(db), 0)
  const { data } = await listNotices(db, { audience: 'acc_a' }, { limit: 10 })
  assert.deepEqual(
    data.map((notice) => [notice.subject, notice.period]),
    [
      ['other', 'first'],
      ['balance', 'second'],
      ['balance', 'first'],
    ],
  )
})

test('notices are listed newest first, each once over pages, by what is asked', async (t) => {
  const db = await temporaryDb(t)
  for (const period of ['1', '2', '3', '4', '5']) await raiseNotice(db, low('acc_a', { period }))
  await raiseNotice(db, low('acc_b', { severity: 'critical' }))
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await listNotices(db, { audience: 'acc_a' }, { limit: 2, cursor })
    seen.push(...page.data.map((notice) => notice.period))
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  assert.deepEqual(seen, ['5', '4', '3', '2', '1'])
  const { data } = await listNotices(db, { severity: 'critical' }, { limit: 10 })
  assert.deepEqual(
    data.map((notice) => notice.audience),
    ['acc_b'],
  )
})

test('reading concerns only one’s own notices, and is told once', async (t) => {
  const db = await temporaryDb(t)
  await raiseNotice(db, low('acc_a'), low('acc_a', { period: 'second' }), low('acc_b'))
  const { data } = await listNotices(db, {}, { limit: 10 })
  const ids = data.map((notice) => notice.id)
  assert.equal(await markNoticesRead(db, { audience: 'acc_b', ids }), 1)
  assert.equal(await markNoticesRead(db, { audience: 'acc_b', ids }), 0)
  assert.deepEqual([await unreadNotices(db, 'acc_a'), await unreadNotices(db, 'acc_b')], [2, 0])
  assert.equal(await markNoticesRead(db, { audience: 'acc_a' }), 2)
  assert.deepEqual((await listNotices(db, { unread: true }, { limit: 10 })).data, [])
})

test('preferences name channels by kind, change by what is named, and know no kind of another audience', async (t) => {
  const db = await temporaryDb(t)
  assert.deepEqual(await preferencesOf(db, 'acc_a'), {
    spend_cap: ['email'],
    balance: ['email'],
    account: ['email'],
    key: ['email'],
    incident: [],
  })
  await setPreferences(db, 'acc_a', { balance: ['email', 'telegram', 'email'] }, 'acc_a')
  const preferences = await setPreferences(db, 'acc_a', { spend_cap: [] }, 'acc_a')
  assert.deepEqual(preferences, {
    spend_cap: [],
    balance: ['email', 'telegram'],
    account: ['email'],
    key: ['email'],
    incident: [],
  })
  for (const [audience, patch, param] of [
    ['acc_a', { promotion: [] }, 'kind'],
    [operator, { balance: [] }, 'kind'],
    ['acc_a', { balance: ['E Mail'] }, 'balance'],
  ] as const) {
    await assert.rejects(
      setPreferences(db, audience, patch, 'x'),
      (error) => error instanceof Refusal && error.detail.param === param,
    )
  }
})

test('every notice says the same in every language, with the same parameters', () => {
  const placesOf = (text: string): string[] => (text.match(/\{\w+(:time)?\}/g) ?? []).toSorted()
  for (const [code, words] of Object.entries(noticeWords)) {
    const { en, 'zh-CN': chinese } = words
    assert.ok(en.title !== '' && en.text !== '', code)
    assert.match(chinese.title + chinese.text, /\p{Script=Han}/u, code)
    assert.doesNotMatch(en.title + en.text, /\p{Script=Han}/u, code)
    assert.deepEqual(placesOf(chinese.title), placesOf(en.title), code)
    assert.deepEqual(placesOf(chinese.text), placesOf(en.text), code)
  }
})

test('words are filled with the parameters, times as the clock on the wall shows them', () => {
  const params = {
    spent: '0.8',
    cap: '1',
    currency: 'CNY',
    key: '{cap} of {spent}',
    resumes_at: '2026-11-21T16:00:00.000Z',
    timezone: 'Asia/Shanghai',
  }
  const code: NoticeCode = 'key_daily_cap_100'
  assert.deepEqual(textOf({ code, params }, 'en'), {
    title: 'The daily spend cap of key “{cap} of {spent}” is reached',
    text: '0.8 of 1 CNY are spent, and requests are refused. Service resumes at 2026-11-22 00:00 (Asia/Shanghai).',
  })
  for (const language of languages) assert.doesNotMatch(textOf({ code, params }, language).text, /\{|\}/)
})
