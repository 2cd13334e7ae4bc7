// @backend both (cluster in long runs)
/** Delivery of notifications: to every kind of channel in its service's format, normally once, and retried until accepted. */

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  parseBody,
  startChatService,
  webhookPaths,
  secrets,
  chatServices,
} from '../../support/sinks/chat-webhooks.ts'
import { startMailbox, startWebhookSink, type ReceivedWebhook } from '../../support/sinks/webhook-sinks.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

interface Channel {
  id: string
  name: string
  address: string
  secret: string | null
  waiting: number
  last_sent_at: string | null
  problem: string | null
}

const pauseMs = 2000
const mailbox = await startMailbox()
const server = await sharedTestServer({
  env: {
    // Where the sinks listen. Every other private address is forbidden.
    CHANNEL_ALLOW: '127.0.0.1/32',
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'Relay <relay@mail.example>',
    NOTICE_PAUSE: `${pauseMs / 1000}s`,
  },
})

function waitFor<Found>(what: string, look: () => Found | Promise<Found>): Promise<NonNullable<Found>> {
  return waitUntil(async () => {
    const found = await look()
    return found === null || found === false ? undefined : (found ?? undefined)
  }, what)
}

/** Opens an incident, which notifies the operators. */
async function openIncident(title: string, message: string, isPublic = false): Promise<void> {
  await server.admin('POST', '/incidents', { title, message, public: isPublic, models: ['none'] })
}

function createChannel(fields: object): Promise<Channel> {
  return server.admin<Channel>('POST', '/channels', fields)
}

// At once, because each retry takes ten seconds. The tests open their incidents one after the other, so that a message
// is not about the incident of another test.
describe('Notification delivery and retries', { concurrency: true }, () => {
  const attempted = Promise.withResolvers<void>()
  const isRejected = Promise.withResolvers<void>()

  test('Channel with a wrong secret – reports its problem; waiting messages arrive once fixed', async (t) => {
    t.after(() => attempted.resolve())
    const sink = await startChatService('feishu')
    const address = `${sink.url}${webhookPaths['feishu']}`
    const channel = await createChannel({
      name: 'wrong',
      kind: 'feishu',
      address,
      secret: 'another-secret',
      notices: ['incident'],
    })
    const result = await server.admin<{ ok: boolean; message: string }>(
      'POST',
      `/channels/${channel.id}/test`,
    )
    assert.equal(result.ok, false)
    assert.match(result.message, /19021 sign match fail/)
    await openIncident('Wrong secret', 'Still here')
    const state = () => server.admin<Channel>('GET', `/channels/${channel.id}`)
    await waitFor('the problem', async () => (await state()).problem)
    attempted.resolve()
    await server.admin('PATCH', `/channels/${channel.id}`, { secret: secrets.feishu })
    await waitFor('the notification', () => sink.received.some((one) => chatServices['feishu']?.isValid(one)))
    await waitFor('no problem', async () => (await state()).problem === null)
    await server.admin('DELETE', `/channels/${channel.id}`)
  })

  test('E-mail channel – uses the operators’ language and retries with the same message id', async (t) => {
    t.after(() => isRejected.resolve())
    await attempted.promise
    const channel = await createChannel({
      name: 'post',
      kind: 'email',
      address: 'operator@example.com',
      notices: ['incident'],
      language: 'zh-CN',
    })
    mailbox.rejections = 1
    await openIncident('Mail', 'Grüße 你好\n.\nA line after a dot')
    await waitFor('the first attempt', () => mailbox.rejections === 0)
    isRejected.resolve()
    const email = await waitFor('the e-mail', () =>
      mailbox.emails.find(({ to }) => to === 'operator@example.com'),
    )
    assert.equal(email.from, 'relay@mail.example')
    assert.equal(email.headers['subject'], '调查中：Mail')
    assert.match(email.headers['message-id'] ?? '', /^<msg_\w+@mail\.example>$/)
    assert.match(email.text, /Grüße 你好/)
    await server.admin('DELETE', `/channels/${channel.id}`)
  })

  describe('Notification delivery', { concurrency: 1 }, () => {
    before(() => isRejected.promise)

    for (const kind of Object.keys(chatServices)) {
      test(`${kind} channel – receives a notification signed and formatted for its service`, async () => {
        const sink = await startChatService(kind)
        const destination =
          kind === 'telegram'
            ? { address: '-1001', server: sink.url }
            : { address: `${sink.url}${webhookPaths[kind]}` }
        const secret = Object.entries(secrets).find(([name]) => name === kind)?.[1] ?? null
        const channel = await createChannel({
          name: `to-${kind}`,
          kind,
          ...destination,
          secret,
          notices: ['incident'],
          language: 'zh-CN',
        })
        const result = await server.admin<{ ok: boolean }>('POST', `/channels/${channel.id}/test`)
        assert.equal(result.ok, true)
        const text = `<at user_id="all"></at> & <b>${kind}</b> 你好`
        await openIncident(`Title <${kind}> @all`, text)
        const received = await waitFor('the notification', () => sink.received[1])
        assert.ok(chatServices[kind]?.isValid(received), received.body)
        const body = JSON.stringify(parseBody(received))
        assert.ok(body.includes('调查中：Title'), body)
        assert.ok(body.includes('你好'), body)
        const { data } = await server.admin<{ data: Channel[] }>('GET', '/channels')
        const output = JSON.stringify([channel, data])
        assert.equal(channel.secret, null)
        for (const hidden of ['path-of', 'token-of', 'key-of', ...Object.values(secrets)])
          assert.ok(!output.includes(hidden), `${hidden} was returned`)
        await server.admin('DELETE', `/channels/${channel.id}`)
      })
    }

    test('Notifications during a pause – are grouped into one message, without duplicates', async () => {
      const sink = await startWebhookSink()
      const channel = await createChannel({
        name: 'grouped',
        kind: 'webhook',
        address: sink.url,
        notices: ['incident'],
      })
      assert.match(channel.secret ?? '', /^whsec_/)
      await openIncident('first', 'm')
      await waitFor('the first message', () => sink.received[0])
      const startedMs = performance.now()
      for (let index = 0; index < 12; index += 1) await openIncident(`later ${index}`, 'm')
      const pausesMeanwhile = Math.floor((performance.now() - startedMs) / pauseMs)
      const titlesIn = (received: ReceivedWebhook): string[] => {
        const { data } = parseBody(received) as { data: { params: { title: string } }[] }
        return data.map(({ params }) => params.title)
      }
      await waitFor('all messages', () => sink.received.flatMap(titlesIn).length >= 13)
      assert.ok(sink.received.length <= 3 + pausesMeanwhile, `${sink.received.length} messages`)
      const titles = sink.received.flatMap(titlesIn)
      assert.deepEqual(titles, ['first', ...Array.from({ length: 12 }, (_, index) => `later ${index}`)])
      await server.admin('DELETE', `/channels/${channel.id}`)
    })

    test('Subscribed customers – get public incidents by e-mail and webhook; others get nothing', async () => {
      const [subscribed, other] = [
        await server.account({ balance: '¥1' }),
        await server.account({ balance: '¥1' }),
      ]
      const addresses = await Promise.all([subscribed, other].map(async (one) => (await one.state()).email))
      const sink = await startWebhookSink()
      const hook = { account: subscribed.id, name: 'hook', kind: 'webhook', address: sink.url }
      await createChannel(hook)
      await server.admin('PATCH', `/accounts/${subscribed.id}/notice-preferences`, {
        incident: ['email', 'hook'],
      })
      await openIncident('For operators alone', 'm')
      await openIncident('For everybody', 'We are sorry.', true)
      const email = await waitFor('the e-mail', () => mailbox.emails.find(({ to }) => to === addresses[0]))
      assert.match(email.text, /We are sorry\./)
      const received = await waitFor('the webhook', () => sink.received[0])
      assert.ok(received.body.includes('For everybody') && !received.body.includes('For operators alone'))
      assert.ok(!mailbox.emails.some(({ to }) => to === addresses[1]))
      for (const [fields, status] of [
        [{ ...hook, name: 'x', kind: 'slack' }, 400],
        [{ ...hook, name: 'email' }, 400],
        [{ ...hook, name: 'x', account: 'acc_none' }, 404],
        [hook, 409],
      ] as const) {
        const response = await server.relay.adminResponse('POST', '/channels', fields)
        assert.equal(response.status, status, JSON.stringify(fields))
      }
    })

    test('Telegram channel with a new server – is rejected unless the token comes with it', async () => {
      const [own, thief] = [await startChatService('telegram'), await startChatService('telegram')]
      const target = { address: '-1001', server: own.url, secret: secrets.telegram }
      const channel = await createChannel({ name: 'moving', kind: 'telegram', ...target })
      const path = `/channels/${channel.id}`
      for (const other of [thief.url, null]) {
        const rejected = await server.relay.adminResponse('PATCH', path, { server: other })
        assert.match(await rejected.text(), /"param":"secret"/)
      }
      await server.admin('PATCH', path, { server: `${own.url}/`, language: 'en' })
      await server.admin('POST', `${path}/test`)
      assert.deepEqual([own.received.length, thief.received.length], [1, 0])
      await server.admin('PATCH', path, { server: thief.url, secret: secrets.telegram })
      await server.admin('POST', `${path}/test`)
      assert.equal(thief.received.length, 1)
      await server.admin('DELETE', path)
    })

    test('Private channel addresses – are rejected when saved and when resolved; no redirects', async () => {
      const kinds = { webhook: {}, feishu: {}, dingtalk: {}, wecom: {}, slack: {} }
      for (const kind of Object.keys(kinds)) {
        for (const address of [
          'http://127.0.0.2/x',
          'http://[::ffff:10.0.0.1]/',
          'http://169.254.169.254/',
          'file:///x',
        ]) {
          const response = await server.relay.adminResponse('POST', '/channels', {
            name: 'no',
            kind,
            address,
          })
          assert.equal(response.status, 400, `${kind} ${address}`)
        }
      }
      const telegram = { name: 'no', kind: 'telegram', address: '1', secret: secrets.telegram }
      const privateServer = { ...telegram, server: 'http://10.1.2.3' }
      assert.equal((await server.relay.adminResponse('POST', '/channels', privateServer)).status, 400)
      const named = await createChannel({
        name: 'named',
        kind: 'webhook',
        address: 'http://localtest.localhost.invalid./',
      })
      const result = await server.admin<{ ok: boolean }>('POST', `/channels/${named.id}/test`)
      assert.equal(result.ok, false)
      await server.admin('DELETE', `/channels/${named.id}`)

      const target = await startWebhookSink()
      const moved = await startWebhookSink(() => ({ status: 307, headers: { location: target.url } }))
      const channel = await createChannel({ name: 'moved', kind: 'webhook', address: moved.url })
      const test = await server.admin<{ ok: boolean; message: string }>(
        'POST',
        `/channels/${channel.id}/test`,
      )
      assert.deepEqual([test.ok, test.message, target.received.length], [false, 'HTTP 307', 0])
      await server.admin('DELETE', `/channels/${channel.id}`)
    })
  })
})

describe('Notifications after a crash', () => {
  test('Undelivered message – survives kill -9, keeps its id, and a silent channel blocks nobody', async () => {
    const sink = await startWebhookSink(() => ({ status: 500 }))
    const silent = await startWebhookSink(() => new Promise(() => undefined))
    const fast = await startWebhookSink()
    for (const [name, { url }] of Object.entries({ failing: sink, silent, fast }))
      await createChannel({ name, kind: 'webhook', address: url, secret: secrets.webhook })
    await openIncident('Before the crash', 'm')
    const first = await waitFor('the first attempt', () => sink.received[0])
    await waitFor('the fast channel', () => fast.received[0])
    await server.kill()
    sink.respond = () => ({})
    await server.restart()
    const second = await waitFor('the second attempt', () => sink.received[1])
    assert.equal(second.headers['webhook-id'], first.headers['webhook-id'])
    assert.equal(second.body, first.body)
    await waitFor('a request to the silent channel', () => silent.received.length > 1)
    for (let round = 1; ; round += 1) {
      await waitFor('an open request to the silent channel', () => silent.openRequests > 0)
      const title = `After the crash ${round}`
      await openIncident(title, 'm')
      await waitFor('the next message', () => fast.received.find(({ body }) => body.includes(title)))
      if (silent.openRequests > 0) break
      // A slow machine may take longer than the timeout of the silent channel, but not every time.
      assert.ok(round < 4, 'it waited for the timeout of the silent channel')
    }
  })

  test('Channel secrets and addresses – are encrypted in the database', async () => {
    const stored = await readDatabaseBytes(server.relay)
    assert.ok(stored.includes('webhook'))
    for (const secret of ['path-of-', 'token-of-', 'key-of-', ...Object.values(secrets)])
      assert.ok(!stored.includes(secret), secret)
  })
})
