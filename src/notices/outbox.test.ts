import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDb } from '../db/store.fixture.ts'
import type { Db } from '../db/db.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { newDataKey, sealerOf } from '../lib/encryption.ts'
import { channelStates } from '../notifications/channel-states.ts'
import { createChannel, deleteChannel, openChannel, type ChannelInput } from '../notifications/channels.ts'
import { messageOf } from './message.ts'
import { listNotices, raiseNotice, type NoticeInput } from '../notifications/notifications.ts'
import {
  accountOfMail,
  dueMessages,
  forgetMessages,
  gatherMessages,
  mailOf,
  mostAttempts,
  noteAttempt,
  noticesIn,
  noticesPerMessage,
  pauseAfter,
  queueNotices,
} from '../notifications/outbox.ts'
import { setPreferences } from '../notifications/preferences.ts'

function notice(audience: string, period: string, kind: NoticeInput['kind'] = 'balance'): NoticeInput {
  const params = { balance: '1', currency: 'CNY' }
  return { audience, kind, severity: 'warning', subject: 'x', period, code: 'balance_low', params }
}

async function hook(db: Db, fields: Partial<ChannelInput> = {}) {
  const means = { db, sealer: sealerOf(newDataKey()), allow: parseCidrs('') }
  const input = {
    audience: 'operator',
    name: 'hook',
    kind: 'webhook',
    address: 'https://hook.example/x',
  } as const
  const { channel } = await createChannel(means, { ...input, ...fields }, 'x')
  return { means, channel }
}

/** Ids of the channels that something is due for, and how many notices each gets. */
async function dueIn(db: Db): Promise<[string, number][]> {
  const due = await dueMessages(db, Date.now(), 100)
  const counts = due.map(async ({ id, channelId }): Promise<[string, number]> => [
    channelId,
    (await noticesIn(db, id)).length,
  ])
  return (await Promise.all(counts)).toSorted(([left], [right]) => (left < right ? -1 : 1))
}

test('a notice is queued once for each channel that brings it, and by mail only where there is a mail server', async (t) => {
  const db = await temporaryDb(t)
  const { channel } = await hook(db, { kinds: ['promotion'] })
  await hook(db, { name: 'other', kinds: ['address'] })
  await raiseNotice(db, notice('acc_a', '1'), notice('acc_b', '1'), notice('operator', '1', 'promotion'))
  await setPreferences(db, 'acc_b', { balance: [] }, 'x')
  assert.equal(await queueNotices(db, true), true)
  assert.equal(await queueNotices(db, true), false)
  await raiseNotice(db, notice('acc_c', '1'))
  await queueNotices(db, false)
  await gatherMessages(db, 0)
  assert.deepEqual(await dueIn(db), [
    [channel.id, 1],
    [mailOf('acc_a'), 1],
  ])
  assert.deepEqual([accountOfMail(mailOf('acc_a')), accountOfMail(channel.id)], ['acc_a', null])
})

test('of incidents an account hears only by what it has chosen', async (t) => {
  const db = await temporaryDb(t)
  const { channel } = await hook(db, { audience: 'acc_a' })
  await raiseNotice(db, notice('acc_a', '1', 'incident'))
  await queueNotices(db, true)
  await gatherMessages(db, 0)
  assert.deepEqual(await dueIn(db), [])
  await setPreferences(db, 'acc_a', { incident: ['hook'] }, 'x')
  await raiseNotice(db, notice('acc_a', '2', 'incident'))
  await queueNotices(db, true)
  await gatherMessages(db, 0)
  assert.deepEqual(await dueIn(db), [[channel.id, 1]])
})

test('while a message is under way, or a channel rests, what comes waits and goes as one message', async (t) => {
  const db = await temporaryDb(t)
  const { channel } = await hook(db)
  const raise = async (from: number, count: number): Promise<void> => {
    const all = Array.from({ length: count }, (_, index) =>
      notice('operator', String(from + index), 'promotion'),
    )
    await raiseNotice(db, ...all)
    while (await queueNotices(db, false));
    await gatherMessages(db, Date.now() - 60_000)
  }
  await raise(0, 1)
  await raise(1, noticesPerMessage + 50)
  const [first] = await dueMessages(db, Date.now(), 10)
  assert.ok(first)
  assert.deepEqual(await dueIn(db), [[channel.id, 1]])
  await noteAttempt(db, first, { problem: null, retryAfterMs: null })
  await gatherMessages(db, Date.now() - 60_000)
  assert.deepEqual(await dueIn(db), [], 'it rests')
  await gatherMessages(db, Date.now() + 1)
  assert.deepEqual(await dueIn(db), [[channel.id, noticesPerMessage]])
  const state = (await channelStates(db, [channel.id])).get(channel.id)
  assert.deepEqual([state?.waiting, state?.problem], [50, null])
  assert.ok(state?.lastSentAt)
})

test('a receiver that takes nothing has a bound of what waits for it; the oldest go', async (t) => {
  const db = await temporaryDb(t)
  const { channel } = await hook(db)
  for (let block = 0; block < 6; block += 1) {
    const all = Array.from({ length: 200 }, (_, index) =>
      notice('operator', `${block}-${index}`, 'promotion'),
    )
    await raiseNotice(db, ...all)
    while (await queueNotices(db, false));
  }
  await gatherMessages(db, 0)
  const state = (await channelStates(db, [channel.id])).get(channel.id)
  assert.equal(state?.waiting, 1000 - noticesPerMessage)
})

test('a message is tried again under its id, ever later, and at last given up', async (t) => {
  const db = await temporaryDb(t)
  const { channel } = await hook(db)
  await raiseNotice(db, notice('operator', '1', 'promotion'))
  await queueNotices(db, false)
  await gatherMessages(db, 0)
  const [first] = await dueMessages(db, Date.now(), 10)
  assert.ok(first)
  const failed = { problem: 'HTTP 500', retryAfterMs: null }
  await noteAttempt(db, first, failed)
  assert.deepEqual(await dueMessages(db, Date.now(), 10), [])
  const later = Date.now() + 3_600_000
  const [second] = await dueMessages(db, later, 10)
  assert.deepEqual([second?.id, second?.attempts], [first.id, 1])
  assert.equal((await channelStates(db, [channel.id])).get(channel.id)?.problem, 'HTTP 500')
  await noteAttempt(db, { ...first, attempts: mostAttempts - 1 }, failed)
  assert.deepEqual(await dueMessages(db, later, 10), [])
  await forgetMessages(db, Date.now() + 31 * 86_400_000)
  assert.deepEqual(await noticesIn(db, first.id), [])
  assert.equal((await listNotices(db, {}, { limit: 10 })).data.length, 1, 'the notice itself stays')
  assert.deepEqual(
    [1, 2, 3, 20].map((attempts) => pauseAfter(attempts, null)),
    [10_000, 20_000, 40_000, 3_600_000],
  )
  assert.equal(pauseAfter(1, 60_000), 60_000)
})

test('a channel’s address and secret are sealed, and what was on its way goes with it', async (t) => {
  const db = await temporaryDb(t)
  const { means, channel } = await hook(db)
  assert.match((await openChannel(db, means.sealer, channel.id)).secret ?? '', /^whsec_/)
  assert.ok(!JSON.stringify(channel).includes('whsec_'))
  await raiseNotice(db, notice('operator', '1', 'promotion'))
  await queueNotices(db, false)
  await gatherMessages(db, 0)
  await deleteChannel(db, channel.id, 'x')
  assert.deepEqual(await dueMessages(db, Date.now(), 10), [])
})

test('many notices are one message that counts what it does not say, in one language', async (t) => {
  const db = await temporaryDb(t)
  await raiseNotice(db, ...Array.from({ length: 30 }, (_, index) => notice('acc_a', String(index))))
  const { data } = await listNotices(db, {}, { limit: 100 })
  const message = messageOf('msg_1', data, 'zh-CN')
  assert.equal(message.title, '30 条通知')
  assert.match(message.text, /另有 10 条/)
  assert.doesNotMatch(message.text, /Your|left/)
})
