import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryDb } from '../db/store.fixture.ts'
import type { Db } from '../db/db.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { channelStates } from './channel-states.ts'
import { createChannel, deleteChannel, loadChannelTarget, type ChannelInput } from './channels.ts'
import { renderMessage } from './render-message.ts'
import { listNotifications, raiseNotification, type NotificationInput } from './notifications.ts'
import {
  accountOfEmailChannel,
  dueMessages,
  deleteOldMessages,
  createMessages,
  emailChannelId,
  maxAttempts,
  recordAttempt,
  notificationsInMessage,
  notificationsPerMessage,
  backoffMs,
  queueNotifications,
} from './outbox.ts'
import { setPreferences } from './preferences.ts'

function notification(
  audience: string,
  period: string,
  kind: NotificationInput['kind'] = 'balance',
): NotificationInput {
  const params = { balance: '1', currency: 'CNY' }
  return { audience, kind, severity: 'warning', subject: 'x', period, code: 'balance_low', params }
}

async function createWebhook(db: Db, fields: Partial<ChannelInput> = {}) {
  const context = { db, sealer: createSealer(generateDataKey()), allow: parseCidrs('') }
  const input = {
    audience: 'operator',
    name: 'hook',
    kind: 'webhook',
    address: 'https://hook.example/x',
  } as const
  const { channel } = await createChannel(context, { ...input, ...fields }, 'x')
  return { means: context, channel }
}

/** The channels with a due message, and the number of notifications in each. */
async function dueCounts(db: Db): Promise<[string, number][]> {
  const due = await dueMessages(db, Date.now(), 100)
  const counts = due.map(async ({ id, channelId }): Promise<[string, number]> => [
    channelId,
    (await notificationsInMessage(db, id)).length,
  ])
  return (await Promise.all(counts)).toSorted(([left], [right]) => (left < right ? -1 : 1))
}

describe('outbox', () => {
  test('queueNotifications – queues once per channel, and e-mail only with a mail server', async (t) => {
    const db = await openTemporaryDb(t)
    const { channel } = await createWebhook(db, { kinds: ['promotion'] })
    await createWebhook(db, { name: 'other', kinds: ['address'] })
    await raiseNotification(
      db,
      notification('acc_a', '1'),
      notification('acc_b', '1'),
      notification('operator', '1', 'promotion'),
    )
    await setPreferences(db, 'acc_b', { balance: [] }, 'x')
    assert.equal(await queueNotifications(db, true), true)
    assert.equal(await queueNotifications(db, true), false)
    await raiseNotification(db, notification('acc_c', '1'))
    await queueNotifications(db, false)
    await createMessages(db, 0)
    assert.deepEqual(await dueCounts(db), [
      [channel.id, 1],
      [emailChannelId('acc_a'), 1],
    ])
    assert.deepEqual(
      [accountOfEmailChannel(emailChannelId('acc_a')), accountOfEmailChannel(channel.id)],
      ['acc_a', null],
    )
  })

  test('an incident – reaches an account only by channels that it has chosen', async (t) => {
    const db = await openTemporaryDb(t)
    const { channel } = await createWebhook(db, { audience: 'acc_a' })
    await raiseNotification(db, notification('acc_a', '1', 'incident'))
    await queueNotifications(db, true)
    await createMessages(db, 0)
    assert.deepEqual(await dueCounts(db), [])
    await setPreferences(db, 'acc_a', { incident: ['hook'] }, 'x')
    await raiseNotification(db, notification('acc_a', '2', 'incident'))
    await queueNotifications(db, true)
    await createMessages(db, 0)
    assert.deepEqual(await dueCounts(db), [[channel.id, 1]])
  })

  test('notifications that arrive while a channel is busy or cooling down – go out as one message', async (t) => {
    const db = await openTemporaryDb(t)
    const { channel } = await createWebhook(db)
    const raise = async (from: number, count: number): Promise<void> => {
      const all = Array.from({ length: count }, (_, index) =>
        notification('operator', String(from + index), 'promotion'),
      )
      await raiseNotification(db, ...all)
      while (await queueNotifications(db, false));
      await createMessages(db, Date.now() - 60_000)
    }
    await raise(0, 1)
    await raise(1, notificationsPerMessage + 50)
    const [first] = await dueMessages(db, Date.now(), 10)
    assert.ok(first)
    assert.deepEqual(await dueCounts(db), [[channel.id, 1]])
    await recordAttempt(db, first, { problem: null, retryAfterMs: null })
    await createMessages(db, Date.now() - 60_000)
    assert.deepEqual(await dueCounts(db), [], 'the channel cools down')
    await createMessages(db, Date.now() + 1)
    assert.deepEqual(await dueCounts(db), [[channel.id, notificationsPerMessage]])
    const state = (await channelStates(db, [channel.id])).get(channel.id)
    assert.deepEqual([state?.waiting, state?.problem], [50, null])
    assert.ok(state?.lastSentAt)
  })

  test('a channel that accepts nothing – keeps at most 1,000 waiting; the oldest are dropped', async (t) => {
    const db = await openTemporaryDb(t)
    const { channel } = await createWebhook(db)
    for (let block = 0; block < 6; block += 1) {
      const all = Array.from({ length: 200 }, (_, index) =>
        notification('operator', `${block}-${index}`, 'promotion'),
      )
      await raiseNotification(db, ...all)
      while (await queueNotifications(db, false));
    }
    await createMessages(db, 0)
    const state = (await channelStates(db, [channel.id])).get(channel.id)
    assert.equal(state?.waiting, 1000 - notificationsPerMessage)
  })

  test('a failed message – is retried under its id with backoff, and given up eventually', async (t) => {
    const db = await openTemporaryDb(t)
    const { channel } = await createWebhook(db)
    await raiseNotification(db, notification('operator', '1', 'promotion'))
    await queueNotifications(db, false)
    await createMessages(db, 0)
    const [first] = await dueMessages(db, Date.now(), 10)
    assert.ok(first)
    const failed = { problem: 'HTTP 500', retryAfterMs: null }
    await recordAttempt(db, first, failed)
    assert.deepEqual(await dueMessages(db, Date.now(), 10), [])
    const later = Date.now() + 3_600_000
    const [second] = await dueMessages(db, later, 10)
    assert.deepEqual([second?.id, second?.attempts], [first.id, 1])
    assert.equal((await channelStates(db, [channel.id])).get(channel.id)?.problem, 'HTTP 500')
    await recordAttempt(db, { ...first, attempts: maxAttempts - 1 }, failed)
    assert.deepEqual(await dueMessages(db, later, 10), [])
    await deleteOldMessages(db, Date.now() + 31 * 86_400_000)
    assert.deepEqual(await notificationsInMessage(db, first.id), [])
    assert.equal(
      (await listNotifications(db, {}, { limit: 10 })).data.length,
      1,
      'the notification itself stays',
    )
    assert.deepEqual(
      [1, 2, 3, 20].map((attempts) => backoffMs(attempts, null)),
      [10_000, 20_000, 40_000, 3_600_000],
    )
    assert.equal(backoffMs(1, 60_000), 60_000)
  })

  test('a channel – stores its address and secret encrypted; deleting it drops what was queued', async (t) => {
    const db = await openTemporaryDb(t)
    const { means: context, channel } = await createWebhook(db)
    assert.match((await loadChannelTarget(db, context.sealer, channel.id)).secret ?? '', /^whsec_/)
    assert.ok(!JSON.stringify(channel).includes('whsec_'))
    await raiseNotification(db, notification('operator', '1', 'promotion'))
    await queueNotifications(db, false)
    await createMessages(db, 0)
    await deleteChannel(db, channel.id, 'x')
    assert.deepEqual(await dueMessages(db, Date.now(), 10), [])
  })

  test('many notifications – become one message in one language that counts the rest', async (t) => {
    const db = await openTemporaryDb(t)
    await raiseNotification(
      db,
      ...Array.from({ length: 30 }, (_, index) => notification('acc_a', String(index))),
    )
    const { data } = await listNotifications(db, {}, { limit: 100 })
    const message = renderMessage('msg_1', data, 'zh-CN')
    assert.equal(message.title, '30 条通知')
    assert.match(message.text, /还有 10 条/)
    assert.doesNotMatch(message.text, /Your|left/)
  })
})
