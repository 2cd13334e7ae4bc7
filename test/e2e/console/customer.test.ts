// @backend both
/** The console API for customers: keys, requests with exact costs, caps, statements, limits. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accountEndpoints } from '../../../src/http/console/account/account.ts'
import { keyEndpoints } from '../../../src/http/console/account/keys.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import { overviewEndpoints } from '../../../src/http/console/usage/overview.ts'
import { requestEndpoints, type RequestDetail } from '../../../src/http/console/usage/requests.ts'
import { usageEndpoints } from '../../../src/http/console/usage/usage.ts'
import { chatRequest } from '../../support/server/account.ts'
import { assertBillAddsUp } from '../../support/client/bills.ts'
import {
  signUpCustomer,
  setUpOperator,
  readError,
  type ConsoleSession,
} from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100, cached: 300 }))
await server.model('m', {
  upstreams: [upstream],
  prices: { input: '0.002', output: '0.003', cached_input: '0.0005', per_request: '0.01' },
})
const operator = await setUpOperator(server)
let customerCount = 0

async function createCustomer(balance = '1'): Promise<{ session: ConsoleSession; id: string }> {
  const session = await signUpCustomer(server, `customer-${++customerCount}@example.com`)
  const id = (await session.session()).account?.id ?? ''
  const credit = { amount: balance, reason: 'test', idempotency_key: id }
  if (balance !== '0') await operator.admin('POST', `/accounts/${id}/credits`, credit)
  return { session, id }
}

function sendRequest(secret: string, model = 'm', fields: object = {}): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatRequest(model, fields)),
  })
}

/** Waits for the details of a request; the record of a rejected one is written after its response. */
function waitForDetail(session: ConsoleSession, response: Response): Promise<RequestDetail> {
  const id = response.headers.get('x-request-id') ?? ''
  return waitUntil(async () => {
    const { status } = await session.send(requestEndpoints.request, { id })
    return status === 200 ? session.call(requestEndpoints.request, { id }) : undefined
  }, `the details of ${id}`)
}

describe('Customer console API', () => {
  test('Web searches – are a separate line of the bill with a price per search', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 100, server_tool_use: { web_search_requests: 2 } }
    const searchUpstream = await server.upstream(respondWith('Hello!', { raw: usage }))
    const prices = { input: '0.002', output: '0.003', per_search: '0.07' }
    await server.model('searching', { upstreams: [searchUpstream], prices })
    const { session } = await createCustomer()
    const { secret } = await session.call(keyEndpoints.create, { body: { name: 'searching' } })
    const { bill } = await waitForDetail(
      session,
      await sendRequest(secret, 'searching', { web_search_options: {} }),
    )
    assert.ok(bill)
    assertBillAddsUp(bill)
    assert.deepEqual(
      bill.lines.map(({ kind, count, price, amount }) => [kind, count, price, amount]),
      [
        ['input', 1000, '0.002', '0.002'],
        ['output', 100, '0.003', '0.0003'],
        ['search', 2, '0.07', '0.14'],
      ],
    )
    assert.equal(bill.charged, '0.1423')
  })

  test('Cost of a request – adds up to the last digit, and every page shows the same', async () => {
    const { session, id } = await createCustomer()
    await operator.admin('PATCH', `/accounts/${id}`, { price_factor: '1.3333' })
    const { secret, ...key } = await session.call(keyEndpoints.create, { body: { name: 'first' } })
    assert.match(secret, /^sk-slu-/)
    const response = await sendRequest(secret)
    assert.equal(response.status, 200)
    const requestId = response.headers.get('x-request-id') ?? ''
    const detail = await session.call(requestEndpoints.request, { id: requestId })
    assert.ok(detail.bill)
    assertBillAddsUp(detail.bill)
    assert.deepEqual(
      detail.bill.lines.map(({ kind, count }) => [kind, count]),
      [
        ['input', 700],
        ['cached_input', 300],
        ['output', 100],
        ['request', 1],
      ],
    )
    assert.equal(detail.bill.charged, response.headers.get('x-sluice-cost'))
    assert.equal(detail.cost, detail.bill.charged)
    const [overview, wallet, list, entries, keys, series, byKey] = await Promise.all([
      session.call(overviewEndpoints.overview),
      session.call(billingEndpoints.wallet),
      session.call(requestEndpoints.requests),
      session.call(billingEndpoints.entries),
      session.call(keyEndpoints.list),
      session.call(usageEndpoints.series),
      session.call(usageEndpoints.breakdown, { query: { group: 'key' } }),
    ])
    const { cost } = detail
    const { today, month: thisMonth } = overview
    const costs = [today.cost, thisMonth.cost, wallet.spent_today, keys.data[0]?.spent.today]
    costs.push(series.total.cost, byKey.data[0]?.cost)
    assert.deepEqual(
      costs,
      Array.from({ length: 6 }, () => cost),
    )
    assert.equal(overview.days.at(-1)?.cost, cost)
    assert.equal(overview.hours.length, 24)
    assert.equal(series.data.length >= 30, true)
    assert.deepEqual([byKey.data[0]?.id, byKey.data[0]?.name], [key.id, 'first'])
    assert.equal(overview.balance, detail.bill.balance_after)
    assert.deepEqual(
      entries.data.map(({ kind, amount, balance, reference }) => [kind, amount, balance, reference]),
      [
        ['charge', `-${cost}`, overview.balance, requestId],
        ['credit', '1', '1', null],
      ],
    )
    assert.deepEqual(
      list.data.map((row) => [row.request_id, row.key_name, row.cost]),
      [[requestId, 'first', cost]],
    )
    assert.deepEqual(overview.steps, { has_balance: true, has_key: true, has_request: true })
    assert.equal(overview.example_model, 'm')
    const month = (await session.call(billingEndpoints.statements)).data[0] ?? ''
    const statement = await session.call(billingEndpoints.statement, { id: month })
    assert.deepEqual(
      [statement.opening, statement.credits, statement.charges, statement.closing],
      ['0', '1', cost, overview.balance],
    )
    assert.equal(statement.models[0]?.model, 'm')
    for (const other of ['2020-01', '2999-01', '2026-13', 'none']) {
      const response = await session.send(billingEndpoints.statement, { id: other })
      assert.deepEqual([response.status, (await readError(response)).code], [404, 'not_found'], other)
    }
  })

  test('Failed request – shows stage and responsibility, and costs nothing', async () => {
    const { session } = await createCustomer('0')
    const { secret } = await session.call(keyEndpoints.create, { body: { name: 'poor' } })
    const response = await sendRequest(secret)
    assert.equal(response.status, 402)
    const detail = await waitForDetail(session, response)
    assert.deepEqual(detail.failure, { cause: 'insufficient_quota', stage: 'money', owner: 'caller' })
    assert.deepEqual([detail.bill, detail.cost], [null, '0'])
    const failures = await session.call(requestEndpoints.requests, { query: { errors: 'true' } })
    assert.deepEqual(
      failures.data.map((row) => row.request_id),
      [detail.request_id],
    )
    upstream.next(respondWithError(500, 'down'))
    const rich = await createCustomer()
    const { secret: other } = await rich.session.call(keyEndpoints.create, { body: { name: 'rich' } })
    const failed = await sendRequest(other)
    const { failure } = await waitForDetail(rich.session, failed)
    assert.deepEqual(failure, { cause: 'unavailable', stage: 'upstream', owner: 'upstream' })
  })

  test('API key – is restricted, disabled, rotated with a grace period, and deleted', async () => {
    const { session } = await createCustomer()
    const caps = { daily: '0.5', total: '9' }
    const { secret, ...key } = await session.call(keyEndpoints.create, {
      body: { name: 'k', caps, models: ['m'], limits: { rpm: 5 } },
    })
    assert.deepEqual(
      [key.caps, key.models, key.limits.rpm],
      [{ daily: '0.5', monthly: null, total: '9' }, ['m'], 5],
    )
    const invalid = await session.expectError(keyEndpoints.create, { body: { name: 'k', ips: ['nonsense'] } })
    assert.deepEqual([invalid.status, invalid.param], [400, 'ips[0]'])
    await session.call(keyEndpoints.update, { id: key.id, body: { status: 'disabled' } })
    assert.equal((await sendRequest(secret)).status, 401)
    await session.call(keyEndpoints.update, {
      id: key.id,
      body: { status: 'active', name: 'renamed', caps: { daily: null } },
    })
    assert.equal((await sendRequest(secret)).status, 200)
    const rotated = await session.call(keyEndpoints.rotate, { id: key.id, body: { grace_hours: 1 } })
    assert.deepEqual([rotated.key.name, rotated.key.caps.total, rotated.old.id], ['renamed', '9', key.id])
    assert.ok(Date.parse(rotated.old.expires_at ?? '') - Date.now() <= 3_600_000)
    for (const each of [secret, rotated.key.secret]) assert.equal((await sendRequest(each)).status, 200)
    await session.call(keyEndpoints.rotate, { id: rotated.key.id, body: { grace_hours: 0 } })
    assert.equal((await sendRequest(rotated.key.secret)).status, 401)
    await session.call(keyEndpoints.delete, { id: key.id })
    assert.equal((await sendRequest(secret)).status, 401)
    assert.equal((await session.expectError(keyEndpoints.read, { id: key.id })).status, 404)
  })

  test('Playground – uses the session, is charged, and its key is not exposed', async () => {
    const { session, id } = await createCustomer()
    const path = '/api/console/chat/completions'
    const response = await session.fetch('POST', path, chatRequest('m'))
    assert.equal(response.status, 200)
    const cost = response.headers.get('x-sluice-cost') ?? ''
    const requestId = response.headers.get('x-request-id') ?? ''
    const detail = await session.call(requestEndpoints.request, { id: requestId })
    assert.deepEqual([detail.cost, detail.key_name], [cost, 'Console'])
    assert.deepEqual((await session.call(keyEndpoints.list)).data, [])
    assert.deepEqual((await operator.admin<{ data: object[] }>('GET', `/accounts/${id}/keys`)).data, [])
    const streamed = await session.fetch('POST', path, chatRequest('m', { stream: true }))
    assert.match(await streamed.text(), /data: \[DONE\]/)
    const crossSite = await session.fetch('POST', path, chatRequest('m'), { origin: 'https://evil.example' })
    assert.equal((await readError(crossSite)).code, 'cross_site')
    assert.equal((await readError(await operator.fetch('POST', path, chatRequest('m')))).code, 'no_account')
    await operator.fetch('POST', `/api/console/operator/accounts/${id}/act`, {})
    assert.equal(
      (await readError(await operator.fetch('POST', path, chatRequest('m')))).code,
      'permission_denied',
    )
    await operator.fetch('POST', '/api/console/operator/act/end', {})
    const anonymous = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { origin: server.url },
      body: '{}',
    })
    assert.equal((await readError(anonymous)).code, 'session_required')
  })

  test('Lists – continue at their cursor, and the CSV export has every row once', async () => {
    const { session } = await createCustomer()
    const { secret } = await session.call(keyEndpoints.create, { body: { name: '=cmd|x,"y"' } })
    for (let count = 0; count < 5; count += 1) assert.equal((await sendRequest(secret)).status, 200)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await session.call(requestEndpoints.requests, {
        query: { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
      })
      seen.push(...page.data.map((row) => row.request_id))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    assert.equal(new Set(seen).size, 5)
    const response = await session.fetch('GET', '/api/console/requests.csv')
    assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
    const lines = (await response.text()).trimEnd().split('\r\n')
    assert.equal(lines.length, 6)
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(',')[1]),
      seen,
    )
    assert.ok(lines[1]?.includes(`"'=cmd|x,""y"""`))
    const entries = (await (await session.fetch('GET', '/api/console/billing/entries.csv')).text())
      .trimEnd()
      .split('\r\n')
    assert.equal(entries.length, 7)
  })

  test('Models – show the account’s own prices; limits can be requested', async () => {
    const { session, id } = await createCustomer()
    await operator.admin('PATCH', `/accounts/${id}`, { price_factor: '0.5' })
    const [model] = (await session.call(accountEndpoints.models)).data
    assert.deepEqual([model?.id, model?.prices.input, model?.prices.per_request], ['m', '0.001', '0.005'])
    const before = await session.call(accountEndpoints.limits)
    assert.deepEqual([before.tier, before.limits.rpm, before.price_factor], ['new', 60, '0.5'])
    const body = { wanted: { rpm: 500 }, reason: 'A fair is coming.' }
    assert.equal((await session.call(accountEndpoints.requestLimits, { body })).status, 'open')
    assert.equal((await session.expectError(accountEndpoints.requestLimits, { body })).code, 'conflict')
    assert.deepEqual((await session.call(accountEndpoints.announcements)).data, [])
    const notifications = await session.call(accountEndpoints.notifications)
    assert.equal(Number.isInteger(notifications.unread), true)
    const { channels } = await session.call(accountEndpoints.setPreferences, {
      body: { channels: { balance: [] } },
    })
    assert.deepEqual(channels['balance'], [])
  })
  test('Input – is rejected if the endpoint does not declare it; an empty body is an empty object', async () => {
    const { session } = await createCustomer('0')
    const query = await readError(await session.fetch('GET', '/api/console/limits?page=2'))
    assert.deepEqual([query.status, query.code, query.param], [400, 'invalid_request', 'page'])
    const body = await readError(await session.fetch('POST', '/api/console/keys/clean', { all: true }))
    assert.deepEqual([body.status, body.code, body.param], [400, 'invalid_request', 'all'])
    assert.equal((await session.fetch('POST', '/api/console/keys/clean')).status, 200)
    assert.equal((await session.fetch('POST', '/api/console/keys/clean', '')).status, 200)
    const broken = await readError(await session.fetch('POST', '/api/console/keys/clean', '{'))
    assert.deepEqual([broken.status, broken.code], [400, 'invalid_json'])
  })
})
