/** What a customer does in the console: keys, a first request, what it cost to the last digit, caps, statements, limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountCalls } from '../src/http/console/contract/account.ts'
import { billingCalls } from '../src/http/console/contract/billing.ts'
import { keyCalls } from '../src/http/console/contract/keys.ts'
import { usageCalls, type RequestDetail } from '../src/http/console/contract/usage.ts'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { assertAddsUp } from './bills.ts'
import { customerOf, operatorOf, refusalIn, type Browser } from './browser.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const upstream = await house.upstream(saying('Hello!', { input: 1000, output: 100, cached: 300 }))
await house.model('m', {
  upstreams: [upstream],
  prices: { input: '0.002', output: '0.003', cached_input: '0.0005', per_request: '0.01' },
})
const boss = await operatorOf(house)
let people = 0

async function customer(balance = '1'): Promise<{ browser: Browser; id: string }> {
  const browser = await customerOf(house, `customer-${++people}@example.com`)
  const id = (await browser.session()).account?.id ?? ''
  const credit = { amount: balance, reason: 'story', idempotency_key: id }
  if (balance !== '0') await boss.admin('POST', `/accounts/${id}/credits`, credit)
  return { browser, id }
}

function ask(secret: string, model = 'm'): Promise<Response> {
  return fetch(`${house.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(question(model)),
  })
}

/** A request's page, as soon as its row is there: of a refused one it is written behind the answer. */
function detailOf(browser: Browser, reply: Response): Promise<RequestDetail> {
  const id = reply.headers.get('x-request-id') ?? ''
  return eventually(`the page of ${id}`, async () => {
    const { status } = await browser.send(usageCalls.request, { id })
    return status === 200 ? browser.ask(usageCalls.request, { id }) : undefined
  })
}

test('searches of the web are a line of their own on the bill, priced by the piece', async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 100, server_tool_use: { web_search_requests: 2 } }
  const searching = await house.upstream(saying('Hello!', { raw: usage }))
  const prices = { input: '0.002', output: '0.003', per_search: '0.07' }
  await house.model('searching', { upstreams: [searching], prices })
  const { browser } = await customer()
  const { secret } = await browser.ask(keyCalls.create, { body: { name: 'searching' } })
  const { bill } = await detailOf(browser, await ask(secret, 'searching'))
  assert.ok(bill)
  assertAddsUp(bill)
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

test('from the key to the bill: a request’s cost adds up to the last digit, and every page says the same', async () => {
  const { browser, id } = await customer()
  await boss.admin('PATCH', `/accounts/${id}`, { price_factor: '1.3333' })
  const { secret, ...key } = await browser.ask(keyCalls.create, { body: { name: 'first' } })
  assert.match(secret, /^sk-slu-/)
  const reply = await ask(secret)
  assert.equal(reply.status, 200)
  const requestId = reply.headers.get('x-request-id') ?? ''
  const detail = await browser.ask(usageCalls.request, { id: requestId })
  assert.ok(detail.bill)
  assertAddsUp(detail.bill)
  assert.deepEqual(
    detail.bill.lines.map(({ kind, count }) => [kind, count]),
    [
      ['input', 700],
      ['cached_input', 300],
      ['output', 100],
      ['request', 1],
    ],
  )
  assert.equal(detail.bill.charged, reply.headers.get('x-sluice-cost'))
  assert.equal(detail.cost, detail.bill.charged)
  const [overview, wallet, list, entries, keys, series, byKey] = await Promise.all([
    browser.ask(usageCalls.overview),
    browser.ask(billingCalls.wallet),
    browser.ask(usageCalls.requests),
    browser.ask(billingCalls.entries),
    browser.ask(keyCalls.list),
    browser.ask(usageCalls.series),
    browser.ask(usageCalls.by, { query: { group: 'key' } }),
  ])
  const { cost } = detail
  assert.deepEqual(
    [
      overview.today.cost,
      overview.month.cost,
      wallet.spent_today,
      keys.data[0]?.spent.today,
      series.total.cost,
      byKey.data[0]?.cost,
    ],
    Array.from({ length: 6 }, () => cost),
  )
  assert.equal(overview.days.at(-1)?.cost, cost)
  assert.equal(overview.hours.length, 24)
  assert.equal(series.data.length >= 30, true)
  assert.deepEqual([byKey.data[0]?.id, byKey.data[0]?.name], [key.id, 'first'])
  assert.equal(overview.balance, detail.bill.balance_after)
  assert.deepEqual(
    entries.data.map(({ kind, amount, balance, request_id: request }) => [kind, amount, balance, request]),
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
  const month = (await browser.ask(billingCalls.statements)).data[0] ?? ''
  const statement = await browser.ask(billingCalls.statement, { id: month })
  assert.deepEqual(
    [statement.opening, statement.credits, statement.charges, statement.closing],
    ['0', '1', cost, overview.balance],
  )
  assert.equal(statement.models[0]?.model, 'm')
})

test('a request that was refused says at which stage and who can mend it, and costs nothing', async () => {
  const { browser } = await customer('0')
  const { secret } = await browser.ask(keyCalls.create, { body: { name: 'poor' } })
  const reply = await ask(secret)
  assert.equal(reply.status, 402)
  const detail = await detailOf(browser, reply)
  assert.deepEqual(detail.failure, { cause: 'insufficient_quota', stage: 'money', who: 'caller' })
  assert.deepEqual([detail.bill, detail.cost], [null, '0'])
  const failures = await browser.ask(usageCalls.requests, { query: { errors: 'true' } })
  assert.deepEqual(
    failures.data.map((row) => row.request_id),
    [detail.request_id],
  )
  upstream.next(failing(500, 'down'))
  const rich = await customer()
  const { secret: other } = await rich.browser.ask(keyCalls.create, { body: { name: 'rich' } })
  const failed = await ask(other)
  const { failure } = await detailOf(rich.browser, failed)
  assert.deepEqual(failure, { cause: 'unavailable', stage: 'upstream', who: 'provider' })
})

test('a key is restricted, disabled, exchanged with a grace, and deleted', async () => {
  const { browser } = await customer()
  const caps = { daily: '0.5', total: '9' }
  const { secret, ...key } = await browser.ask(keyCalls.create, {
    body: { name: 'k', caps, models: ['m'], limits: { rpm: 5 } },
  })
  assert.deepEqual(
    [key.caps, key.models, key.limits.rpm],
    [{ daily: '0.5', monthly: null, total: '9' }, ['m'], 5],
  )
  const wrong = await browser.refused(keyCalls.create, { body: { name: 'k', ips: ['nonsense'] } })
  assert.deepEqual([wrong.status, wrong.param], [400, 'ips[0]'])
  await browser.ask(keyCalls.change, { id: key.id, body: { status: 'disabled' } })
  assert.equal((await ask(secret)).status, 401)
  await browser.ask(keyCalls.change, {
    id: key.id,
    body: { status: 'active', name: 'renamed', caps: { daily: null } },
  })
  assert.equal((await ask(secret)).status, 200)
  const rotated = await browser.ask(keyCalls.rotate, { id: key.id, body: { grace_hours: 1 } })
  assert.deepEqual([rotated.key.name, rotated.key.caps.total, rotated.old.id], ['renamed', '9', key.id])
  assert.ok(Date.parse(rotated.old.expires_at ?? '') - Date.now() <= 3_600_000)
  for (const each of [secret, rotated.key.secret]) assert.equal((await ask(each)).status, 200)
  await browser.ask(keyCalls.rotate, { id: rotated.key.id, body: { grace_hours: 0 } })
  assert.equal((await ask(rotated.key.secret)).status, 401)
  await browser.ask(keyCalls.remove, { id: key.id })
  assert.equal((await ask(secret)).status, 401)
  assert.equal((await browser.refused(keyCalls.read, { id: key.id })).status, 404)
})

test('a cap stops the service, a voucher does not lift it, and a higher cap does', async () => {
  const { browser } = await customer()
  const { secret } = await browser.ask(keyCalls.create, { body: { name: 'capped' } })
  assert.equal((await ask(secret)).status, 200)
  const wallet = await browser.ask(billingCalls.setCaps, { body: { daily: '0.0121' } })
  assert.deepEqual(wallet.caps, { daily: '0.0121', monthly: null })
  const stopped = await ask(secret)
  assert.equal((await refusalIn(stopped)).code, 'spend_cap_exceeded')
  const { codes } = await boss.admin<{ codes: string[] }>('POST', '/vouchers', { amount: '5', count: 1 })
  const body = { code: codes[0] ?? '' }
  const redeemed = await browser.ask(billingCalls.redeem, { body })
  assert.equal(redeemed.amount, '5')
  assert.equal((await ask(secret)).status, 402)
  await browser.ask(billingCalls.setCaps, { body: { daily: null } })
  assert.equal((await ask(secret)).status, 200)
  const credits = await browser.ask(billingCalls.entries, { query: { kind: 'credit' } })
  assert.deepEqual(
    credits.data.map(({ amount, balance }) => [amount, balance]),
    [
      ['5', null],
      ['1', null],
    ],
  )
  assert.notEqual((await browser.refused(billingCalls.redeem, { body })).status, 200)
})

test('the playground calls by session, is charged like every call, and nobody has its key', async () => {
  const { browser, id } = await customer()
  const path = '/api/console/chat/completions'
  const reply = await browser.fetch('POST', path, question('m'))
  assert.equal(reply.status, 200)
  const cost = reply.headers.get('x-sluice-cost') ?? ''
  const requestId = reply.headers.get('x-request-id') ?? ''
  const detail = await browser.ask(usageCalls.request, { id: requestId })
  assert.deepEqual([detail.cost, detail.key_name], [cost, 'Console'])
  assert.deepEqual((await browser.ask(keyCalls.list)).data, [])
  assert.deepEqual((await boss.admin<{ data: object[] }>('GET', `/accounts/${id}/keys`)).data, [])
  const streamed = await browser.fetch('POST', path, question('m', { stream: true }))
  assert.match(await streamed.text(), /data: \[DONE\]/)
  const foreign = await browser.fetch('POST', path, question('m'), { origin: 'https://evil.example' })
  assert.equal((await refusalIn(foreign)).code, 'cross_site')
  assert.equal((await refusalIn(await boss.fetch('POST', path, question('m')))).code, 'no_account')
  await boss.fetch('POST', `/api/console/operator/accounts/${id}/act`, {})
  assert.equal((await refusalIn(await boss.fetch('POST', path, question('m')))).code, 'permission_denied')
  await boss.fetch('POST', '/api/console/operator/act/end', {})
  const stranger = await fetch(`${house.url}${path}`, {
    method: 'POST',
    headers: { origin: house.url },
    body: '{}',
  })
  assert.equal((await refusalIn(stranger)).code, 'session_required')
})

test('lists go on where they stopped, and CSV has every row once', async () => {
  const { browser } = await customer()
  const { secret } = await browser.ask(keyCalls.create, { body: { name: '=cmd|x,"y"' } })
  for (let count = 0; count < 5; count += 1) assert.equal((await ask(secret)).status, 200)
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await browser.ask(usageCalls.requests, {
      query: { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
    })
    seen.push(...page.data.map((row) => row.request_id))
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  assert.equal(new Set(seen).size, 5)
  const reply = await browser.fetch('GET', '/api/console/requests.csv')
  assert.match(reply.headers.get('content-type') ?? '', /^text\/csv/)
  const lines = (await reply.text()).trimEnd().split('\r\n')
  assert.equal(lines.length, 6)
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(',')[1]),
    seen,
  )
  assert.ok(lines[1]?.includes(`"'=cmd|x,""y"""`))
  const entries = (await (await browser.fetch('GET', '/api/console/billing/entries.csv')).text())
    .trimEnd()
    .split('\r\n')
  assert.equal(entries.length, 7)
})

test('models are shown with the account’s own prices, and limits can be asked for', async () => {
  const { browser, id } = await customer()
  await boss.admin('PATCH', `/accounts/${id}`, { price_factor: '0.5' })
  const [model] = (await browser.ask(accountCalls.models)).data
  assert.deepEqual([model?.id, model?.prices.input, model?.prices.per_request], ['m', '0.001', '0.005'])
  const before = await browser.ask(accountCalls.limits)
  assert.deepEqual([before.tier, before.limits.rpm, before.price_factor], ['new', 60, '0.5'])
  const body = { wanted: { rpm: 500 }, reason: 'A fair is coming.' }
  assert.equal((await browser.ask(accountCalls.askLimits, { body })).status, 'open')
  assert.equal((await browser.refused(accountCalls.askLimits, { body })).code, 'conflict')
  assert.deepEqual((await browser.ask(accountCalls.announcements)).data, [])
  const notices = await browser.ask(accountCalls.notices)
  assert.equal(Number.isInteger(notices.unread), true)
  const { channels } = await browser.ask(accountCalls.setPreferences, { body: { channels: { balance: [] } } })
  assert.deepEqual(channels['balance'], [])
})
