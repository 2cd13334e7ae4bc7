// @backend both
/** Receipts of payments and monthly statements: their figures, and the same as PDF. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { invoiceEndpoints } from '../../../src/http/console/billing/invoices.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import type { Receipt } from '../../../src/http/api/receipts.ts'
import { parseAmount } from '../../../src/lib/money.ts'
import { expectError, expectResponse } from '../../support/client/admin-api.ts'
import { signUpCustomer, type ConsoleSession } from '../../support/console/console-session.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const provider = await StripeServer.start()
after(() => provider[Symbol.asyncDispose]())
const server = await sharedTestServer({
  env: { ...settingsOf([provider]), PAYMENT_FEES: 'stripe:2%' },
})
const promotion = {
  name: 'Recharge',
  on: 'recharge',
  starts_at: '2026-01-01T00:00:00Z',
  tiers: [{ min: '50', percent: '10' }],
}
await expectResponse(server, 201, ['POST', '/promotions', promotion])

async function pay(customer: ConsoleSession, amount: string): Promise<string> {
  const { id } = await customer.call(billingEndpoints.createOrder, { body: { method: 'stripe', amount } })
  provider.pay(id)
  await customer.call(billingEndpoints.checkOrder, { id })
  return id
}

async function assertPdf(response: Response, name: RegExp): Promise<void> {
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'application/pdf')
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  assert.match(response.headers.get('content-disposition') ?? '', name)
  const bytes = Buffer.from(await response.arrayBuffer())
  assert.equal(bytes.subarray(0, 5).toString('latin1'), '%PDF-')
  // The font has ten megabytes; only the characters in use are embedded.
  assert.ok(bytes.length < 200_000, `${bytes.length} bytes`)
}

describe('Receipts', () => {
  test('Receipt – has what was paid, credited and refunded, and the invoice title', async () => {
    const customer = await signUpCustomer(server, 'receipt@example.com')
    const order = await pay(customer, '100')
    const { account } = await customer.call(billingEndpoints.order, { id: order })
    const before = await customer.call(billingEndpoints.receipt, { id: order })
    assert.partialDeepStrictEqual(before, {
      number: order,
      buyer: null,
      method: 'stripe',
      amount: '100.00',
      fee: '2.00',
      credit: '98',
      bonus: '9.8',
      refunds: [],
      remaining: '100.00',
    })
    const title = { kind: 'enterprise', title: '示例科技有限公司', tax_number: '91350100M000100Y43' } as const
    await customer.call(invoiceEndpoints.addInvoiceTitle, { body: title })
    await expectResponse(server, 201, ['POST', `/orders/${order}/refunds`, { amount: '30', reason: 'x' }])
    const receipt = await expectResponse<Receipt>(server, 200, ['GET', `/orders/${order}/receipt`])
    assert.partialDeepStrictEqual(receipt, {
      account: { id: account, email: 'receipt@example.com' },
      buyer: { title: title.title, tax_number: title.tax_number },
      refunds: [{ amount: '30.00' }],
      remaining: '70.00',
    })
    assert.deepEqual(await customer.call(billingEndpoints.receipt, { id: order }), receipt)
  })

  test('PDF – is a small file in both languages, for its owner and for operators', async () => {
    const customer = await signUpCustomer(server, 'receipt-pdf@example.com')
    const order = await pay(customer, '20')
    for (const language of ['en', 'zh-CN'] as const)
      await assertPdf(
        await customer.send(billingEndpoints.receiptPdf, { id: order, query: { language } }),
        /^attachment; filename="receipt-S\w+\.pdf"$/,
      )
    await assertPdf(await server.relay.adminResponse('GET', `/orders/${order}/receipt.pdf`), /^attachment/)
    const other = await signUpCustomer(server, 'receipt-other@example.com')
    for (const call of [billingEndpoints.receipt, billingEndpoints.receiptPdf])
      assert.equal((await other.expectError(call, { id: order })).status, 404)
  })

  test('Unpaid order – has no receipt', async () => {
    const customer = await signUpCustomer(server, 'unpaid@example.com')
    const body = { method: 'stripe', amount: '20' } as const
    const { id } = await customer.call(billingEndpoints.createOrder, { body })
    assert.equal((await customer.expectError(billingEndpoints.receipt, { id })).status, 409)
    await expectError(server, 409, ['GET', `/orders/${id}/receipt.pdf`])
    await expectError(server, 404, ['GET', '/orders/SNONE/receipt'])
  })
})

describe('Statements', () => {
  test('Statement – adds up to the ledger, to the nano, by kind of entry', async () => {
    const customer = await signUpCustomer(server, 'statement@example.com')
    const order = await pay(customer, '100')
    const { account } = await customer.call(billingEndpoints.order, { id: order })
    const credit = { amount: '0.000000001', reason: 'a nano', idempotency_key: 'nano' }
    await expectResponse(server, 201, ['POST', `/accounts/${account}/credits`, credit])
    await expectResponse(server, 201, ['POST', `/orders/${order}/refunds`, { amount: '49', reason: 'x' }])
    const month = (await customer.call(billingEndpoints.statements)).data[0] ?? ''
    const statement = await customer.call(billingEndpoints.statement, { id: month })
    assert.partialDeepStrictEqual(statement, {
      opening: '0',
      payments: '98',
      bonuses: '9.8',
      paybacks: '-53.9',
      other_credits: '0.000000001',
      charges: '0',
      closing: '53.900000001',
    })
    const { data } = await customer.call(billingEndpoints.statementLines, { id: month })
    const sum = data
      .filter(({ kind }) => kind !== 'closing')
      .reduce((total, { amount }) => total + parseAmount(amount), 0n)
    assert.equal(sum, parseAmount(statement.closing))
    const entries = await customer.call(billingEndpoints.entries, { query: {} })
    assert.equal(entries.data[0]?.balance, statement.closing)
    const pdf = await customer.send(billingEndpoints.statementPdf, { id: month })
    await assertPdf(pdf, /^attachment; filename="statement-\d{4}-\d\d\.pdf"$/)
    assert.equal((await customer.expectError(billingEndpoints.statementPdf, { id: '2999-01' })).status, 404)
  })
})
