/** What an operator sees and answers: takings, failures by cause, search, settings, requests for limits, announcements. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountCalls } from '../src/http/console/contract/account.ts'
import {
  dashboard,
  failures,
  found,
  type Dashboard,
  type Failures,
} from '../src/http/console/contract/operator.ts'
import { z } from 'zod'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { customerOf, operatorOf } from './browser.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const password = 'smtp-canary-password'
const house = await shareHouse({ env: { SMTP_URL: `smtp://canary:${password}@127.0.0.1:1` } })
const upstream = await house.upstream(saying('Hello!', { input: 1000, output: 100 }), {
  prices: { input: '0.001', output: '0.001' },
})
await house.model('m', { upstreams: [upstream] })
await house.model('lonely', { upstreams: [] })
const boss = await operatorOf(house)

test('the dashboard has what was earned and what it cost, and failures are told by cause and place', async () => {
  const alice = await house.account({ balance: '1' })
  for (let count = 0; count < 3; count += 1) await (await alice.post(question('m'))).text()
  upstream.next(failing(500, 'down'))
  assert.equal((await alice.post(question('m'))).status, 503)
  assert.equal((await alice.post(question('nonsense'))).status, 404)
  const poor = await house.account()
  assert.equal((await poor.post(question('m'))).status, 402)
  // What was settled is rolled up a moment later.
  const shown = await eventually('six requests on the dashboard', async () => {
    const answer = dashboard.parse(await boss.admin<Dashboard>('GET', '/dashboard'))
    return answer.today.requests === 6 ? answer : undefined
  })
  assert.deepEqual(shown.today, {
    requests: 6,
    errors: 3,
    revenue: '0.0066',
    upstream_cost: '0.0033',
    margin: '0.0033',
  })
  assert.deepEqual(shown.month, shown.today)
  assert.equal(shown.hours.length, 24)
  assert.deepEqual(shown.models.find(({ model }) => model === 'm')?.revenue, '0.0066')
  assert.deepEqual(shown.unserved, [{ model: 'lonely', missing: 'route' }])
  assert.deepEqual(shown.steps, { has_upstream: true, has_model: true, has_account: true, has_request: true })
  const told = failures.parse(await boss.admin<Failures>('GET', '/failures'))
  assert.deepEqual([told.requests, told.failures], [6, 3])
  const groups = told.data.map(({ cause, stage, who, upstream: at, model, count }) => [
    cause,
    stage,
    who,
    at,
    model,
    count,
  ])
  assert.deepEqual(
    groups.toSorted((left, right) => String(left[0]).localeCompare(String(right[0]))),
    [
      ['insufficient_quota', 'money', 'caller', null, 'm', 1],
      ['model_not_found', 'request', 'caller', null, '', 1],
      ['unavailable', 'upstream', 'provider', upstream.id, 'm', 1],
    ],
  )
  const sample = told.data.find(({ cause }) => cause === 'unavailable')
  assert.equal(sample?.upstream_name, upstream.name)
  assert.equal((await house.requests({ request_id: sample?.sample_request_id ?? '' })).length, 1)
})

test('anything that a customer quotes is found', async () => {
  const alice = await house.account({ balance: '1' })
  const reply = await alice.post(question('m'))
  await reply.text()
  const { email } = await alice.state()
  const requestId = reply.headers.get('x-request-id') ?? ''
  const answer = z.object({ data: z.array(found) })
  const kindsFor = async (q: string): Promise<unknown[]> => {
    const { data } = answer.parse(await boss.admin('GET', `/search?q=${encodeURIComponent(q)}`))
    return data.map(({ kind, id }) => [kind, id])
  }
  assert.deepEqual(await kindsFor(email.slice(0, -4)), [['account', alice.id]])
  assert.deepEqual(await kindsFor(alice.id), [['account', alice.id]])
  assert.deepEqual(await kindsFor(alice.key.secret.slice(0, 11)), [['key', alice.key.id]])
  assert.deepEqual(await kindsFor(alice.key.id), [['key', alice.key.id]])
  assert.deepEqual(await kindsFor(requestId), [['request', requestId]])
  assert.deepEqual(await kindsFor(upstream.name), [['upstream', upstream.id]])
  assert.deepEqual(await kindsFor('lonely'), [['model', 'lonely']])
  assert.deepEqual(await kindsFor('%%'), [])
})

test('settings are shown as they are, secrets only as being there', async () => {
  const { data } = await boss.admin<{ data: { env: string; value: string | null }[] }>('GET', '/settings')
  const valueOf = (env: string) => data.find((each) => each.env === env)?.value
  assert.deepEqual(
    [valueOf('HOST'), valueOf('SMTP_URL'), valueOf('ENCRYPTION_KEY')],
    ['127.0.0.1', '•••', null],
  )
  assert.ok(!JSON.stringify(data).includes(password) && !JSON.stringify(data).includes(house.relay.adminKey))
})

test('a request for limits is granted or declined once, and what is granted holds', async () => {
  await house.restart({ SMTP_URL: '' })
  const ann = await customerOf(house, 'ann@example.com')
  const asked = await ann.ask(accountCalls.askLimits, {
    body: { wanted: { rpm: 500, rpd: 9000 }, reason: 'A fair.' },
  })
  const open = await boss.admin<{ data: { id: string; account_email: string }[] }>(
    'GET',
    '/limit-requests?status=open',
  )
  assert.deepEqual(
    open.data.map(({ id, account_email: email }) => [id, email]),
    [[asked.id, 'ann@example.com']],
  )
  const body = { decision: 'grant', answer: 'Good luck!' }
  await boss.admin('POST', `/limit-requests/${asked.id}`, body)
  const again = await boss.fetch('POST', `/api/admin/limit-requests/${asked.id}`, body)
  assert.equal(again.status, 409)
  const { limits, requests } = await ann.ask(accountCalls.limits)
  assert.deepEqual([limits.rpm, limits.tpm, limits.rpd], [500, 100_000, 9000])
  assert.deepEqual([requests[0]?.status, requests[0]?.answer], ['granted', 'Good luck!'])
  const second = await ann.ask(accountCalls.askLimits, { body: { wanted: { rpm: 5000 }, reason: 'More.' } })
  await boss.admin('POST', `/limit-requests/${second.id}`, { decision: 'decline' })
  assert.equal((await ann.ask(accountCalls.limits)).limits.rpm, 500)
})

test('an announcement is shown in its time to whoever signs in', async () => {
  const bob = await customerOf(house, 'bob@example.com')
  const words = {
    title: { en: 'Maintenance', 'zh-CN': '维护' },
    text: { en: 'Tonight.' },
    severity: 'warning',
  }
  const { id } = await boss.admin<{ id: string }>('POST', '/announcements', words)
  const later = { ...words, from: new Date(Date.now() + 3_600_000).toISOString() }
  await boss.admin('POST', '/announcements', later)
  const shown = (await bob.ask(accountCalls.announcements)).data
  assert.deepEqual(
    shown.map((each) => [each.id, each.title['zh-CN']]),
    [[id, '维护']],
  )
  await boss.admin('PATCH', `/announcements/${id}`, { to: new Date(Date.now() - 1000).toISOString() })
  assert.deepEqual((await bob.ask(accountCalls.announcements)).data, [])
  await boss.admin('DELETE', `/announcements/${id}`)
  assert.equal((await boss.admin<{ data: object[] }>('GET', '/announcements')).data.length, 1)
})
