/**
 * Every door refuses a stranger unless it is on the public list, and nobody opens what is another's: generated from the
 * route tables themselves, so a new route is in it from its first day.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundCalls } from '../src/http/console/app.ts'
import type { Call } from '../src/http/console/contract/call.ts'
import { entriesCsvPath } from '../src/http/console/contract/billing.ts'
import { playgroundPath } from '../src/http/console/contract/account.ts'
import { keyCalls } from '../src/http/console/contract/keys.ts'
import { requestsCsvPath, usageCalls } from '../src/http/console/contract/usage.ts'
import { question } from './support/server/account.ts'
import { Browser, customerOf, operatorOf } from './browser.ts'
import { callsOf } from './contract.ts'
import { shareHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

/** What anybody may ask for: how to come in. */
const publicCalls = [
  'GET /session',
  'POST /password-reset',
  'POST /password-reset/confirm',
  'POST /set-up',
  'POST /sign-in',
  'POST /sign-in/passkey',
  'POST /sign-in/passkey/options',
  'POST /sign-in/second-factor',
  'POST /sign-out',
  'POST /sign-up',
  'POST /verify-email',
]

const calls = boundCalls.map(({ call }) => call)
const rawPaths: [string, string][] = [
  ['GET', requestsCsvPath],
  ['GET', entriesCsvPath],
  ['POST', playgroundPath],
]

const house = await shareHouse()
const upstream = await house.upstream(saying('Hello!'))
await house.model('m', { upstreams: [upstream] })
const boss = await operatorOf(house)

function nameOf({ method, path }: Call): string {
  return `${method} ${path}`
}

async function statusOf(
  browser: Browser,
  [method, path]: readonly [string, string],
  headers = {},
): Promise<number> {
  const body = method === 'GET' ? undefined : {}
  const reply = await browser.fetch(method, path, body, headers)
  await reply.text()
  return reply.status
}

function addressOf(call: Call, id = 'x'): [string, string] {
  return [call.method, `/api/console${call.path.replace(/:\w+/, id)}`]
}

test('the public list is what it is, and no call is bound twice', () => {
  const anyones = calls.filter(({ who }) => who === 'anyone').map(nameOf)
  assert.deepEqual(anyones.toSorted(), publicCalls)
  assert.equal(new Set(calls.map(nameOf)).size, calls.length)
})

test('a stranger is refused by every other call: without anything, with a key, with the operator’s key', async () => {
  const alice = await house.account({ balance: '1' })
  const doors = [
    ...calls.filter(({ who }) => who !== 'anyone').map((call) => addressOf(call)),
    ...rawPaths.map(([method, path]): [string, string] => [method, `/api/console${path}`]),
  ]
  const stranger = new Browser(house.url)
  for (const door of doors) {
    for (const secret of [undefined, alice.key.secret, house.relay.adminKey]) {
      const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
      assert.equal(await statusOf(stranger, door, headers), 401, door.join(' '))
    }
  }
})

test('a customer is refused by every call of operators, in the console and in the automation contract', async () => {
  const ann = await customerOf(house, 'ann@example.com')
  for (const call of calls.filter(({ who }) => who === 'operator')) {
    assert.equal(await statusOf(ann, addressOf(call)), 403, nameOf(call))
  }
  for (const [method, path] of await callsOf(house)) {
    assert.equal(await statusOf(ann, [method, path]), 401, `${method} ${path}`)
  }
})

test('an operator without an account has no customer’s pages', async () => {
  for (const call of calls.filter(({ who }) => who === 'customer')) {
    assert.equal(await statusOf(boss, addressOf(call)), 403, nameOf(call))
  }
})

test('what is another customer’s does not exist: no call reads or changes it, no list shows it', async () => {
  const ann = await customerOf(house, 'owner@example.com')
  const mallory = await customerOf(house, 'mallory@example.com')
  const { account, person } = await ann.session()
  const credit = { amount: '1', reason: 'story', idempotency_key: 'once' }
  await boss.admin('POST', `/accounts/${account?.id}/credits`, credit)
  const { secret, ...key } = await ann.ask(keyCalls.create, { body: { name: 'mine' } })
  const reply = await fetch(`${house.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(question('m')),
  })
  const requestId = reply.headers.get('x-request-id') ?? ''
  await reply.text()
  const [session] = (
    await ann
      .fetch('GET', '/api/console/me/sessions')
      .then((each) => each.json() as Promise<{ data: { id: string }[] }>)
  ).data
  const objects = [key.id, requestId, account?.id ?? '', person?.id ?? '', session?.id ?? '']
  // When it was last used is written down now and then, and nothing of the stranger's doing.
  const keyOfAnn = async () => ({ ...(await ann.ask(keyCalls.read, { id: key.id })), last_used_at: null })
  const before = await keyOfAnn()
  for (const call of calls) {
    if (call.who === 'operator' || call.who === 'anyone') continue
    const ids = call.path.includes(':') ? objects : ['']
    for (const id of ids) {
      const [method, path] = addressOf(call, id)
      const answer = await mallory.fetch(method, path, method === 'GET' ? undefined : {})
      const text = await answer.text()
      if (call.path.includes(':')) assert.ok(answer.status >= 400, `${nameOf(call)} ${id} → ${answer.status}`)
      for (const object of objects) {
        if (!path.includes(object)) assert.ok(!text.includes(object), `${nameOf(call)} tells ${object}`)
      }
    }
  }
  for (const query of [`?key=${key.id}`, `?request_id=${requestId}`, `?model=m`]) {
    const list = await mallory.fetch('GET', `/api/console/requests${query}`)
    assert.deepEqual(((await list.json()) as { data: object[] }).data, [], query)
    const csv = await mallory.fetch('GET', `/api/console/requests.csv${query}`)
    assert.equal((await csv.text()).trimEnd().split('\r\n').length, 1, query)
  }
  const by = await mallory.ask(usageCalls.by, { query: { group: 'key', key: key.id } })
  assert.deepEqual(by.data, [])
  assert.deepEqual(await keyOfAnn(), before)
  assert.equal((await ann.session()).person?.id, person?.id)
})
