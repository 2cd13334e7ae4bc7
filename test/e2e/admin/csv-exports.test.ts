// @backend both
/** Every list that can be exported: its columns, its rows, its filters, and texts that a spreadsheet would execute. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { adminExports } from '../../../src/http/admin/endpoints.ts'
import { accountEndpoints } from '../../../src/http/console/account/account.ts'
import { invoiceEndpoints } from '../../../src/http/console/billing/invoices.ts'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { keyEndpoints } from '../../../src/http/console/account/keys.ts'
import { chatRequest } from '../../support/server/account.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import { referralEndpoints } from '../../../src/http/console/billing/referral.ts'
import {
  ConsoleSession,
  signUpCustomer,
  setUpOperator,
  validPassword,
} from '../../support/console/console-session.ts'
import type { List } from '../../support/client/admin-api.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const formula = '=cmd|x'
const provider = await StripeServer.start()
after(() => provider[Symbol.asyncDispose]())
const server = await sharedTestServer({
  env: { ...settingsOf([provider]), REFERRAL_REWARD_REFERRER: '20' },
})
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
  prices: { input: '0.001', output: '0.001', currency: 'USD', rate: '7.2' },
})
await server.model('a', { upstreams: [] })
await server.model('m', { upstreams: [upstream], prices: { input: '0.002', output: '0.003' } })
const operator = await setUpOperator(server)
const customer = await signUpCustomer(server, 'customer@example.com')
const accountId = (await customer.session()).account?.id ?? ''

/** The rows of a CSV file; cells may contain line breaks. */
function parseCsv(text: string): string[][] {
  assert.ok(text.endsWith('\r\n'))
  return text
    .slice(0, -2)
    .split(/\r\n(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .map((line) =>
      Array.from(line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g), ([, cell = '']) =>
        cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
      ).slice(0, line.endsWith(',') ? undefined : -1),
    )
}

/** The rows of an export as fields by column. */
async function exportRows(path: string): Promise<Record<string, string>[]> {
  const session = path.startsWith('/api/admin') ? operator : customer
  const response = await session.fetch('GET', path)
  assert.equal(response.status, 200, `${path}: ${response.statusText}`)
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.match(response.headers.get('content-disposition') ?? '', /filename="[a-z-]+-\d{4}-\d\d-\d\d\.csv"$/)
  const bytes = Buffer.from(await response.arrayBuffer())
  assert.equal(bytes.subarray(0, 3).toString('hex'), 'efbbbf', 'a byte order mark for spreadsheets')
  const [head = [], ...rows] = parseCsv(bytes.subarray(3).toString())
  for (const row of rows) {
    assert.equal(row.length, head.length, `${path}: ${row.join(' · ')}`)
    for (const cell of row) assert.doesNotMatch(cell, /^(?!-?\d+(\.\d+)?$)[=+\-@]/, path)
  }
  return rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index] ?? ''])))
}

const hourMs = 3_600_000
const anHourAgo = new Date(Date.now() - hourMs).toISOString()

const invoicePayment = await customer.call(orderEndpoints.createOrder, {
  body: { method: 'stripe', amount: '10' },
})
provider.pay(invoicePayment.id)
await customer.call(orderEndpoints.checkOrder, { id: invoicePayment.id })
const title = await customer.call(invoiceEndpoints.addInvoiceTitle, {
  body: { kind: 'person', title: formula },
})
await customer.call(invoiceEndpoints.requestInvoice, {
  body: { title: title.id, orders: [invoicePayment.id] },
})
const { secret } = await customer.call(keyEndpoints.create, { body: { name: formula } })
await operator.admin('PATCH', `/accounts/${accountId}`, { name: formula })
await operator.admin('POST', `/accounts/${accountId}/credits`, {
  amount: '5',
  reason: formula,
  idempotency_key: 'one',
})
await operator.admin('POST', '/tiers', { name: 'a-tier', rpm: 60 })
await operator.admin('POST', '/vouchers', { amount: '20', count: 2 })
await operator.admin('POST', '/promotions', { name: formula, amount: '3' })
await operator.admin('POST', '/incidents', { title: formula, message: '+1', models: ['m'], public: false })
await operator.admin('POST', '/invites', { note: formula })
await customer.call(accountEndpoints.requestLimits, { body: { wanted: { rpm: 900 }, reason: formula } })
const { offer } = await customer.call(referralEndpoints.referral)
const invited = { email: 'invited@example.com', password: validPassword, referral: offer?.code ?? '' }
await new ConsoleSession(server.url).call(signUpEndpoints.signUp, { body: invited })
const [referral] = (await operator.admin<List>('GET', '/referrals')).data
await operator.admin('POST', `/referrals/${String(referral?.['id'])}/refuse`, { reason: formula })
const payer = await server.account()
for (const amountMinor of [1000n, 999n]) {
  const body = { method: 'stripe', amount: '10' }
  const { id } = await operator.admin<{ id: string }>('POST', `/accounts/${payer.id}/orders`, body)
  provider.pay(id, { amountMinor })
  await deliverNotice(server.url, 'stripe', provider.notice(id))
  if (amountMinor === 1000n)
    await operator.admin('POST', `/orders/${id}/refunds`, { amount: '1', reason: formula })
}
for (const model of ['m', formula]) {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatRequest(model)),
  })
  await response.text()
}
// The record of a rejected request is written after its response, and its roll-up after that.
await waitUntil(async () => {
  const { data } = await operator.admin<List>('GET', '/requests')
  const failures = await operator.admin<List>('GET', '/failures')
  return data.length === 2 && failures.data.length === 1 ? data : undefined
}, 'both records')

/** For each export: a filter, and fields of the first row that it selects. */
const expected: Readonly<Record<string, readonly [query: string, first: Readonly<Record<string, string>>]>> =
  {
    '/accounts': ['q=customer@', { id: accountId, name: `'${formula}`, balance: '14.9977', currency: 'CNY' }],
    [`/accounts/${accountId}/entries`]: ['', { kind: 'charge', amount: '-0.0023', currency: 'CNY' }],
    '/keys': ['q=customer@', { name: `'${formula}`, spent_total: '0.0023', currency: 'CNY' }],
    '/models': ['q=M', { id: 'm', prices_input: '0.002', prices_output: '0.003', currency: 'CNY' }],
    '/upstreams': ['', { name: upstream.name, prices_input: '0.001', currency: 'USD', prices_rate: '7.2' }],
    '/vouchers': ['status=unused', { status: 'unused', amount: '20', currency: 'CNY' }],
    '/promotions': ['', { name: `'${formula}`, amount: '3', currency: 'CNY', state: 'running' }],
    '/tiers': ['', { name: 'a-tier', rpm: '60', tpm: '', price_factor: '1' }],
    '/people': ['role=operator', { role: 'operator', account: '' }],
    '/invites': ['', { note: `'${formula}`, uses_left: '1' }],
    '/limit-requests': ['status=open', { account_email: 'customer@example.com', wanted_rpm: '900' }],
    '/requests': [
      `outcome=ok&account=${accountId}`,
      { model: 'm', cost: '0.0023', attempts: '1', account_email: 'customer@example.com' },
    ],
    '/usage': [`group=model&account=${accountId}`, { model: 'm', requests: '1', cost: '0.0023' }],
    '/failures': [`from=${anHourAgo}`, { cause: 'model_not_found', count: '1' }],
    '/incidents': ['open=true', { title: `'${formula}`, models: 'm', latest_message: "'+1" }],
    '/orders': ['state=paid', { method: 'stripe', amount: '10.00', credit: '10', currency: 'CNY' }],
    '/refunds': ['', { state: 'done', amount: '1.00', reason: `'${formula}` }],
    '/referrals': ['state=refused', { referrer: accountId, reason: `'${formula}`, currency: 'CNY' }],
    '/invoices': [
      'state=asked',
      { account: accountId, buyer_title: `'${formula}`, amount: '10.00', payments: invoicePayment.id },
    ],
    '/payments/differences': ['', { kind: 'amount', amount: '9.99', expected: '10.00', state: 'open' }],
    '/payments/revenue': [
      '',
      { method: 'stripe', payments: '2', amount: '20.00', refunds: '1.00', net: '19.00', credit: '20' },
    ],
    '/audit': [`object=${accountId}`, { action: 'account.credit', object: accountId }],
  }

describe('CSV exports of the admin API', () => {
  for (const { path: pattern, columns } of adminExports) {
    const path = pattern.replace('{id}', accountId)
    test(`${pattern} – exports the rows that the list selects, with its columns`, async () => {
      const [query, first] = expected[path] ?? assert.fail(`${path} has no expectation`)
      const list = await operator.admin<List>('GET', `${path}?${query}`)
      const rows = await exportRows(`/api/admin${path}.csv?${query}`)
      assert.deepEqual(
        Object.keys(rows[0] ?? {}),
        columns.map(({ name }) => name),
      )
      assert.equal(rows.length, list.data.length)
      assert.partialDeepStrictEqual(rows[0], first)
    })
  }

  test('An export – needs the authorization of its list, and rejects filters that the list rejects', async () => {
    for (const { path } of adminExports) {
      const url = `${server.url}/api/admin${path.replace('{id}', accountId)}.csv`
      assert.equal((await fetch(url)).status, 401, path)
      assert.equal((await operator.fetch('GET', `${new URL(url).pathname}?colour=red`)).status, 400, path)
    }
    assert.equal((await operator.fetch('GET', '/api/admin/accounts/acc_x/entries.csv')).status, 404)
    assert.equal((await operator.fetch('GET', '/api/admin/requests.csv?account=acc_x')).status, 404)
  })
})

describe('CSV exports of the console API', () => {
  const day = new Intl.DateTimeFormat('sv', { timeZone: 'Asia/Shanghai' }).format(Date.now())
  const exports: readonly (readonly [string, number, Readonly<Record<string, string>>])[] = [
    ['/requests.csv?outcome=ok', 1, { model: 'm', key_name: `'${formula}`, cost: '0.0023', currency: 'CNY' }],
    ['/requests.csv', 2, { model: `'${formula}`, outcome: 'refused', day }],
    ['/usage/by.csv?group=model', 2, { name: 'm', requests: '1', cost: '0.0023', currency: 'CNY' }],
    ['/usage/by.csv?group=key', 1, { name: `'${formula}`, requests: '2', errors: '1' }],
    [`/usage/series.csv?from=${encodeURIComponent(`${day}T00:00:00+08:00`)}`, 1, { day, requests: '2' }],
    ['/billing/entries.csv?kind=credit', 2, { amount: '5', reason: `'${formula}`, currency: 'CNY', day }],
    ['/billing/invoices.csv', 1, { state: 'asked', buyer_title: `'${formula}`, currency: 'CNY' }],
    [
      `/billing/statements/${day.slice(0, 7)}/lines.csv`,
      5,
      { kind: 'opening', amount: '0', currency: 'CNY' },
    ],
    ['/billing/entries.csv', 3, { kind: 'charge', amount: '-0.0023', balance: '14.9977' }],
    ['/keys.csv', 1, { name: `'${formula}`, spent_total: '0.0023', currency: 'CNY' }],
  ]
  for (const [path, count, first] of exports) {
    test(`${path.replace(/from=.*/, 'from=…')} – exports the rows that the list selects`, async () => {
      const rows = await exportRows(`/api/console${path}`)
      assert.equal(rows.length, count)
      assert.partialDeepStrictEqual(rows[0], first)
      assert.equal((await fetch(`${server.url}/api/console${path}`)).status, 401)
    })
  }
})
