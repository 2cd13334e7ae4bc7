// @backend both
/** What a customer's overview warns of: reached caps and open incidents. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keyEndpoints } from '../../../src/http/console/account/keys.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import { overviewEndpoints } from '../../../src/http/console/usage/overview.ts'
import { chatRequest } from '../../support/server/account.ts'
import {
  signUpCustomer,
  setUpOperator,
  readError,
  type ConsoleSession,
} from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100, cached: 300 }))
await server.model('m', {
  upstreams: [upstream],
  prices: { input: '0.002', output: '0.003', cached_input: '0.0005', per_request: '0.01' },
})
const operator = await setUpOperator(server)

function sendRequest(secret: string): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatRequest('m')),
  })
}

async function createCustomer(email: string): Promise<ConsoleSession> {
  const session = await signUpCustomer(server, email)
  const id = (await session.session()).account?.id ?? ''
  const credit = { amount: '1', reason: 'test', idempotency_key: id }
  await operator.admin('POST', `/accounts/${id}/credits`, credit)
  return session
}

describe('Overview of a customer', () => {
  test('Reached cap – stops requests; a voucher does not lift it, a higher cap does', async () => {
    const session = await createCustomer('cap@example.com')
    const { secret } = await session.call(keyEndpoints.create, { body: { name: 'capped' } })
    assert.equal((await sendRequest(secret)).status, 200)
    const wallet = await session.call(billingEndpoints.setCaps, { body: { daily: '0.0121' } })
    assert.deepEqual(wallet.caps, { daily: '0.0121', monthly: null })
    const rejected = await sendRequest(secret)
    assert.equal((await readError(rejected)).code, 'spend_cap_exceeded')
    const caps = await waitUntil(async () => {
      const overview = await session.call(overviewEndpoints.overview)
      return overview.caps.daily.reached ? overview.caps : undefined
    }, 'the reached cap on the overview')
    assert.deepEqual([caps.daily.share, caps.monthly.reached], [0.9793, false])
    const { codes } = await operator.admin<{ codes: string[] }>('POST', '/vouchers', {
      amount: '5',
      count: 1,
    })
    const body = { code: codes[0] ?? '' }
    const redeemed = await session.call(billingEndpoints.redeem, { body })
    assert.equal(redeemed.amount, '5')
    assert.equal((await sendRequest(secret)).status, 402)
    await session.call(billingEndpoints.setCaps, { body: { daily: '9' } })
    assert.equal((await session.call(overviewEndpoints.overview)).caps.daily.reached, false)
    assert.equal((await sendRequest(secret)).status, 200)
    const credits = await session.call(billingEndpoints.entries, { query: { kind: 'credit' } })
    assert.deepEqual(
      credits.data.map(({ amount, balance }) => [amount, balance]),
      [
        ['5', null],
        ['1', null],
      ],
    )
    assert.notEqual((await session.expectError(billingEndpoints.redeem, { body })).status, 200)
  })

  test('Open public incidents – are listed for models that customers see, in each language', async () => {
    const session = await createCustomer('incident@example.com')
    await server.model('secret', { upstreams: [upstream], listed: false })
    const open = (fields: object) => operator.admin<{ id: string }>('POST', '/incidents', fields)
    const { id } = await open({ title: 'Slow', models: ['m', 'secret'], severity: 'major' })
    await open({ title: 'Internal', models: ['m'], public: false })
    await open({ title: 'Unlisted', models: ['secret'] })
    await open({ title: 'Past', models: ['m'], status: 'resolved' })
    const { incidents, status_page: hasStatusPage } = await session.call(overviewEndpoints.overview)
    assert.equal(hasStatusPage, true)
    assert.deepEqual(
      incidents.map((incident) => ({ ...incident, opened_at: '' })),
      [{ id, title: { en: 'Slow', 'zh-CN': 'Slow' }, severity: 'major', models: ['m'], opened_at: '' }],
    )
    await operator.admin('PATCH', `/incidents/${id}`, { status: 'resolved' })
    assert.deepEqual((await session.call(overviewEndpoints.overview)).incidents, [])
  })
})
