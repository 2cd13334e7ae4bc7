/** Notices leave the house: to every kind of channel as its service demands it, once as a rule, and again until taken. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openHouse, shareHouse, type House } from './support/server/test-server.ts'
import { fieldsOf, openService, pathOf, secrets, services } from './chat-robots.ts'
import { openMailbox, openReceiver, type Received } from './support/sinks/webhook-sinks.ts'
import { bytesInDatabase } from './support/server/database-access.ts'

interface Channel {
  id: string
  name: string
  address: string
  secret: string | null
  waiting: number
  last_sent_at: string | null
  problem: string | null
}

const mailbox = await openMailbox()
const env = {
  CHANNEL_ALLOW: '127.0.0.0/8',
  SMTP_URL: mailbox.url,
  MAIL_FROM: 'Relay <relay@mail.example>',
  NOTICE_PAUSE: '2s',
}
const house = await shareHouse({ env })

async function until<Found>(what: string, look: () => Found | Promise<Found>): Promise<NonNullable<Found>> {
  for (const start = performance.now(); performance.now() - start < 60_000; await delay(25)) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
  }
  assert.fail(`not within 25 seconds: ${what}`)
}

/** Something for the operators to hear of. */
async function tell(title: string, message: string, at: House = house, isPublic = false): Promise<void> {
  await at.admin('POST', '/incidents', { title, message, public: isPublic, models: ['none'] })
}

function channel(fields: object, at: House = house): Promise<Channel> {
  return at.admin<Channel>('POST', '/channels', fields)
}

for (const kind of Object.keys(services)) {
  test(`a notice reaches ${kind}, signed and written as that service demands it`, async () => {
    const receiver = await openService(kind)
    const where =
      kind === 'telegram'
        ? { address: '-1001', server: receiver.url }
        : { address: `${receiver.url}${pathOf[kind]}` }
    const secret = Object.entries(secrets).find(([name]) => name === kind)?.[1] ?? null
    const made = await channel({
      name: `to-${kind}`,
      kind,
      ...where,
      secret,
      notices: ['incident'],
      language: 'zh-CN',
    })
    const trial = await house.admin<{ ok: boolean }>('POST', `/channels/${made.id}/test`)
    assert.equal(trial.ok, true)
    const text = `<at user_id="all"></at> & <b>${kind}</b> 你好`
    await tell(`Title <${kind}> @all`, text)
    const received = await until('the notice', () => receiver.received[1])
    assert.ok(services[kind]?.isGood(received), received.body)
    const words = JSON.stringify(fieldsOf(received))
    assert.ok(words.includes('正在调查：Title'), words)
    assert.ok(words.includes('你好'), words)
    const { data } = await house.admin<{ data: Channel[] }>('GET', '/channels')
    const told = JSON.stringify([made, data])
    assert.equal(made.secret, null)
    for (const hidden of ['path-of', 'token-of', 'key-of', ...Object.values(secrets)])
      assert.ok(!told.includes(hidden), `${hidden} was told`)
    await house.admin('DELETE', `/channels/${made.id}`)
  })
}

test('a channel whose secret is wrong says so, without the secret; nothing that was said is lost once it is right', async () => {
  const receiver = await openService('feishu')
  const address = `${receiver.url}${pathOf['feishu']}`
  const made = await channel({
    name: 'wrong',
    kind: 'feishu',
    address,
    secret: 'another-secret',
    notices: ['incident'],
  })
  const trial = await house.admin<{ ok: boolean; message: string }>('POST', `/channels/${made.id}/test`)
  assert.equal(trial.ok, false)
  assert.match(trial.message, /19021 sign match fail/)
  await tell('Wrong secret', 'Still here')
  const state = () => house.admin<Channel>('GET', `/channels/${made.id}`)
  await until('the problem', async () => (await state()).problem)
  await house.admin('PATCH', `/channels/${made.id}`, { secret: secrets.feishu })
  await until('the notice', () => receiver.received.some((one) => services['feishu']?.isGood(one)))
  await until('no problem', async () => (await state()).problem === null)
  await house.admin('DELETE', `/channels/${made.id}`)
})

test('mail reaches the operators’ address in words of their language, and is sent again under its id when refused for now', async () => {
  const made = await channel({
    name: 'post',
    kind: 'email',
    address: 'operator@example.com',
    notices: ['incident'],
    language: 'zh-CN',
  })
  mailbox.refusals = 1
  await tell('Mail', 'Grüße 你好\n.\nA line after a dot')
  const letter = await until('the letter', () =>
    mailbox.letters.find(({ to }) => to === 'operator@example.com'),
  )
  assert.equal(letter.from, 'relay@mail.example')
  assert.equal(letter.headers['subject'], '正在调查：Mail')
  assert.match(letter.headers['message-id'] ?? '', /^<msg_\w+@mail\.example>$/)
  assert.match(letter.text, /Grüße 你好/)
  await house.admin('DELETE', `/channels/${made.id}`)
})

test('what comes while a channel rests goes together as one message, and nothing twice', async () => {
  const receiver = await openReceiver()
  const made = await channel({
    name: 'grouped',
    kind: 'webhook',
    address: receiver.url,
    notices: ['incident'],
  })
  assert.match(made.secret ?? '', /^whsec_/)
  await tell('first', 'm')
  await until('the first', () => receiver.received[0])
  for (let index = 0; index < 12; index += 1) await tell(`later ${index}`, 'm')
  const titlesIn = (received: Received): string[] => {
    const { data } = fieldsOf(received) as { data: { params: { title: string } }[] }
    return data.map(({ params }) => params.title)
  }
  await until('all of them', () => receiver.received.flatMap(titlesIn).length >= 13)
  assert.equal(receiver.received.length <= 3, true, `${receiver.received.length} messages`)
  const titles = receiver.received.flatMap(titlesIn)
  assert.deepEqual(titles, ['first', ...Array.from({ length: 12 }, (_, index) => `later ${index}`)])
  await house.admin('DELETE', `/channels/${made.id}`)
})

test('a message outlives kill -9 and a receiver that fails, comes again under its id, and a mute receiver holds up nobody', async (t) => {
  const own = await openHouse(t, { env })
  const receiver = await openReceiver(() => ({ status: 500 }))
  const mute = await openReceiver(() => new Promise(() => undefined))
  const swift = await openReceiver()
  for (const [name, { url }] of Object.entries({ failing: receiver, mute, swift }))
    await channel({ name, kind: 'webhook', address: url, secret: secrets.webhook }, own)
  await tell('Before the crash', 'm', own)
  const first = await until('the first try', () => receiver.received[0])
  await until('the swift one', () => swift.received[0])
  await own.kill()
  receiver.answer = () => ({})
  await own.restart()
  const second = await until('the second try', () => receiver.received[1])
  assert.equal(second.headers['webhook-id'], first.headers['webhook-id'])
  assert.equal(second.body, first.body)
  await until('the mute one is asked', () => mute.received.length > 1)
  const askedMs = performance.now()
  await tell('After the crash', 'm', own)
  await until('the next', () => swift.received.find(({ body }) => body.includes('After the crash')))
  assert.ok(performance.now() - askedMs < 9000, 'it waited for the mute one to be given up')
  await own.nothingHeld()
})

test('private addresses are refused when saved and when a name leads to them, and redirects are not followed', async (t) => {
  const own = await openHouse(t, { env: { ...env, CHANNEL_ALLOW: '' } })
  const kinds = { webhook: {}, feishu: {}, dingtalk: {}, wecom: {}, slack: {} }
  for (const kind of Object.keys(kinds)) {
    for (const address of [
      'http://127.0.0.1/x',
      'http://[::ffff:10.0.0.1]/',
      'http://169.254.169.254/',
      'file:///x',
    ]) {
      const reply = await own.relay.adminReply('POST', '/channels', { name: 'no', kind, address })
      assert.equal(reply.status, 400, `${kind} ${address}`)
    }
  }
  const telegram = { name: 'no', kind: 'telegram', address: '1', secret: secrets.telegram }
  const server = { ...telegram, server: 'http://10.1.2.3' }
  assert.equal((await own.relay.adminReply('POST', '/channels', server)).status, 400)
  const named = await channel(
    { name: 'named', kind: 'webhook', address: 'http://localtest.localhost.invalid./' },
    own,
  )
  const trial = await own.admin<{ ok: boolean }>('POST', `/channels/${named.id}/test`)
  assert.equal(trial.ok, false)

  const target = await openReceiver()
  const moved = await openReceiver(() => ({ status: 307, headers: { location: target.url } }))
  const made = await channel({ name: 'moved', kind: 'webhook', address: moved.url })
  const told = await house.admin<{ ok: boolean; message: string }>('POST', `/channels/${made.id}/test`)
  assert.deepEqual([told.ok, told.message, target.received.length], [false, 'HTTP 307', 0])
  await house.admin('DELETE', `/channels/${made.id}`)
})

test('customers who asked for it hear of public incidents by mail and webhook; others, and of others, nothing', async () => {
  const [asked, quiet] = [await house.account({ balance: '¥1' }), await house.account({ balance: '¥1' })]
  const addresses = await Promise.all([asked, quiet].map(async (one) => (await one.state()).email))
  const receiver = await openReceiver()
  const hook = { account: asked.id, name: 'hook', kind: 'webhook', address: receiver.url }
  await channel(hook)
  await house.admin('PATCH', `/accounts/${asked.id}/notice-preferences`, { incident: ['email', 'hook'] })
  await tell('For operators alone', 'm')
  await tell('For everybody', 'We are sorry.', house, true)
  const letter = await until('the letter', () => mailbox.letters.find(({ to }) => to === addresses[0]))
  assert.match(letter.text, /We are sorry\./)
  const received = await until('the webhook', () => receiver.received[0])
  assert.ok(received.body.includes('For everybody') && !received.body.includes('For operators alone'))
  assert.ok(!mailbox.letters.some(({ to }) => to === addresses[1]))
  for (const [fields, status] of [
    [{ ...hook, name: 'x', kind: 'slack' }, 400],
    [{ ...hook, name: 'email' }, 400],
    [{ ...hook, name: 'x', account: 'acc_none' }, 404],
    [hook, 409],
  ] as const) {
    const reply = await house.relay.adminReply('POST', '/channels', fields)
    assert.equal(reply.status, status, JSON.stringify(fields))
  }
})

test('what is sealed is nowhere in the database as it is', async () => {
  const stored = await bytesInDatabase(house.relay)
  assert.ok(stored.includes('webhook'))
  for (const secret of ['path-of-', 'token-of-', 'key-of-', ...Object.values(secrets)])
    assert.ok(!stored.includes(secret), secret)
})
