// @backend both
/** Invoices: titles, requests, what operators do with them, their files, and refunds of what is invoiced. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accountEndpoints } from '../../../src/http/console/account/account.ts'
import { invoiceEndpoints } from '../../../src/http/console/billing/invoices.ts'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { refundEndpoints } from '../../../src/http/console/billing/payment-refunds.ts'
import type { InvoiceJson } from '../../../src/http/api/invoices.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { signUpCustomer, type ConsoleSession } from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer({
  env: {
    BANK_TRANSFER: 'Sluice Ltd, Bank of Examples',
    BANK_ACCOUNT: '6222000012345678',
    PAYMENT_FEES: 'bank:1%',
  },
})

let transfers = 0

/** A payment that has arrived; returns the id of its order. */
async function pay(customer: ConsoleSession, amount: string): Promise<string> {
  const { id } = await customer.call(orderEndpoints.createOrder, { body: { method: 'bank', amount } })
  transfers += 1
  const transfer = { received: amount, transaction: `T-${transfers}`, date: '2026-11-28' }
  await expectResponse(server, 200, ['POST', `/orders/${id}/confirm`, transfer])
  return id
}

const enterprise = {
  kind: 'enterprise',
  title: '示例科技有限公司',
  tax_number: '91350100M000100Y43',
} as const
const addTitle = async (customer: ConsoleSession, fields: object = {}): Promise<string> =>
  (await customer.call(invoiceEndpoints.addInvoiceTitle, { body: { ...enterprise, ...fields } })).id

async function customerWithTitle(email: string) {
  const customer = await signUpCustomer(server, email)
  return { customer, title: await addTitle(customer) }
}

let numbers = 0
const nextNumber = (): string => String((numbers += 1)).padStart(20, '2')
const pdf = Buffer.from('%PDF-1.7\nan invoice\n')

function issue(id: string, fields: object = {}) {
  const body = { number: nextNumber(), date: '2026-11-28', file: pdf.toString('base64'), ...fields }
  return ['POST', `/invoices/${id}/issue`, body] as const
}

describe('Invoice titles', () => {
  test('Tax number – is checked, and an old one is marked', async () => {
    const customer = await signUpCustomer(server, 'titles@example.com')
    const add = invoiceEndpoints.addInvoiceTitle
    const wrong = await customer.expectError(add, {
      body: { ...enterprise, tax_number: '91350100M000100Y44' },
    })
    assert.deepEqual([wrong.status, wrong.param], [400, 'tax_number'])
    const missing = await customer.expectError(add, { body: { kind: 'enterprise', title: 'A' } })
    assert.deepEqual([missing.status, missing.param], [400, 'tax_number'])
    const old = await customer.call(add, { body: { ...enterprise, tax_number: '350100100000001' } })
    assert.ok(old.old_tax_number)
    const person = await customer.call(add, { body: { kind: 'person', title: '张三' } })
    assert.deepEqual([person.tax_number, person.old_tax_number], [null, false])
    const other = await signUpCustomer(server, 'no-titles@example.com')
    const foreign = await other.expectError(invoiceEndpoints.deleteInvoiceTitle, { id: person.id })
    assert.equal(foreign.status, 404)
    await customer.call(invoiceEndpoints.deleteInvoiceTitle, { id: person.id })
    const { data } = await customer.call(invoiceEndpoints.invoiceTitles)
    assert.deepEqual(
      data.map(({ id }) => id),
      [old.id],
    )
  })
})

describe('Invoices', () => {
  test('Request – covers what was paid without the bonus, once, however often it is sent', async () => {
    const { customer, title } = await customerWithTitle('request@example.com')
    const orders = [await pay(customer, '100'), await pay(customer, '50.50')]
    const body = { title, orders }
    const request = () => customer.send(invoiceEndpoints.requestInvoice, { body })
    const responses = await Promise.all([request(), request(), request()])
    assert.deepEqual(responses.map(({ status }) => String(status)).toSorted(), ['200', '409', '409'])
    const { data } = await customer.call(invoiceEndpoints.invoices)
    assert.partialDeepStrictEqual(data, [
      { state: 'asked', amount: '150.50', currency: 'CNY', special: false, buyer: enterprise },
    ])
    assert.equal(data.length, 1)
    assert.deepEqual((await customer.call(invoiceEndpoints.invoiceablePayments)).data, [])
    const other = await customerWithTitle('request-other@example.com')
    const stolen = await other.customer.expectError(invoiceEndpoints.requestInvoice, {
      body: { title: other.title, orders: [orders[0] ?? ''] },
    })
    assert.deepEqual([stolen.status, stolen.param], [409, 'orders'])
    const notOurs = await other.customer.expectError(invoiceEndpoints.requestInvoice, { body })
    assert.equal(notOurs.status, 404)
  })

  test('Special VAT invoice – needs the bank and the address of an enterprise', async () => {
    const { customer, title } = await customerWithTitle('special@example.com')
    const orders = [await pay(customer, '30')]
    const request = (id: string) => ({ body: { title: id, orders, special: true } })
    const error = await customer.expectError(invoiceEndpoints.requestInvoice, request(title))
    assert.deepEqual([error.status, error.param], [400, 'title'])
    const complete = { address: '福州市', phone: '0591-1', bank: '示例银行', bank_account: '6222' }
    const full = await addTitle(customer, complete)
    const invoice = await customer.call(invoiceEndpoints.requestInvoice, request(full))
    assert.partialDeepStrictEqual(invoice, { special: true, buyer: complete })
  })

  test('Issued invoice – has a number of its own, and a file that only its owner gets', async () => {
    const { customer, title } = await customerWithTitle('issued@example.com')
    const [first, second] = [await pay(customer, '10'), await pay(customer, '20')]
    const ask = (orders: string[]) =>
      customer.call(invoiceEndpoints.requestInvoice, { body: { title, orders } })
    const [one, two] = [await ask([first]), await ask([second])]
    for (const fields of [
      { number: '1' },
      { file: 'PGh0bWw+' },
      { date: '2999-01-01' },
      { link: 'http://a' },
    ])
      assert.equal(await expectError(server, 400, issue(one.id, fields)), Object.keys(fields)[0])
    assert.equal(await expectError(server, 400, issue(one.id, { file: undefined })), 'file')
    const issued = await expectResponse<InvoiceJson>(server, 200, issue(one.id))
    assert.partialDeepStrictEqual(issued, { state: 'issued', file: 'pdf', date: '2026-11-28' })
    await expectError(server, 409, issue(one.id))
    assert.equal(await expectError(server, 409, issue(two.id, { number: issued.number })), 'number')
    const link = 'https://invoices.example/2'
    const linked = await expectResponse<InvoiceJson>(server, 200, issue(two.id, { file: undefined, link }))
    assert.deepEqual([linked.file, linked.link], [null, link])

    const file = await customer.send(invoiceEndpoints.invoiceFile, { id: one.id })
    assert.deepEqual(Buffer.from(await file.arrayBuffer()), pdf)
    assert.equal(file.headers.get('content-type'), 'application/pdf')
    assert.equal(file.headers.get('x-content-type-options'), 'nosniff')
    assert.match(
      file.headers.get('content-disposition') ?? '',
      /^attachment; filename="invoice-\d{20}\.pdf"$/,
    )
    const other = await signUpCustomer(server, 'issued-other@example.com')
    assert.equal((await other.expectError(invoiceEndpoints.invoiceFile, { id: one.id })).status, 404)
    assert.equal((await customer.expectError(invoiceEndpoints.invoiceFile, { id: two.id })).status, 404)
    const operators = await server.relay.adminResponse('GET', `/invoices/${one.id}/file`)
    assert.match(operators.headers.get('content-disposition') ?? '', /^attachment/)
    assert.deepEqual(Buffer.from(await operators.arrayBuffer()), pdf)

    const notifications = await customer.call(accountEndpoints.notifications)
    assert.ok(notifications.data.some(({ title: text }) => text.includes('invoice for 10.00 CNY was issued')))
    const audit = await expectResponse<List>(server, 200, ['GET', `/audit?object=${one.id}`])
    assert.deepEqual(
      audit.data.map(({ action }) => action),
      ['invoice.issue', 'invoice.request'],
    )
  })

  test('File – may have 5 MiB, more than other calls', async () => {
    const { customer, title } = await customerWithTitle('large@example.com')
    const invoice = await customer.call(invoiceEndpoints.requestInvoice, {
      body: { title, orders: [await pay(customer, '10')] },
    })
    const large = Buffer.alloc(5 * 1024 * 1024, ' ')
    large.write('%PDF-')
    const tooLarge = Buffer.concat([large, Buffer.from(' ')]).toString('base64')
    assert.equal(await expectError(server, 400, issue(invoice.id, { file: tooLarge })), 'file')
    await expectResponse(server, 200, issue(invoice.id, { file: large.toString('base64') }))
    const file = await customer.send(invoiceEndpoints.invoiceFile, { id: invoice.id })
    assert.deepEqual(Buffer.from(await file.arrayBuffer()), large)
    const other = ['POST', `/invoices/${invoice.id}/reverse`, { reason: 'x'.repeat(1_100_000) }] as const
    await expectError(server, 413, other)
  })

  test('Refused invoice – says why, and its payment can be invoiced again', async () => {
    const { customer, title } = await customerWithTitle('refused@example.com')
    const body = { title, orders: [await pay(customer, '10')] }
    const first = await customer.call(invoiceEndpoints.requestInvoice, { body })
    const refusal = ['POST', `/invoices/${first.id}/refuse`, { reason: 'wrong title' }] as const
    const refused = await expectResponse<InvoiceJson>(server, 200, refusal)
    assert.deepEqual([refused.state, refused.reason], ['refused', 'wrong title'])
    await expectError(server, 409, refusal)
    await expectError(server, 409, ['POST', `/invoices/${first.id}/reverse`, { reason: 'x' }])
    const second = await customer.call(invoiceEndpoints.requestInvoice, { body })
    assert.equal(second.amount, '10.00')
    const listed = await expectResponse<List>(server, 200, [
      'GET',
      `/invoices?account=${first.account}&state=refused`,
    ])
    assert.deepEqual(
      listed.data.map(({ id }) => id),
      [first.id],
    )
  })
})

describe('Refunds of what is invoiced', () => {
  test('Refund – waits for the credit note, and is approved after it', async () => {
    const { customer, title } = await customerWithTitle('refund@example.com')
    const order = await pay(customer, '100')
    const request = (amount: string) =>
      customer.call(refundEndpoints.requestRefund, { id: order, body: { amount, reason: 'unused' } })
    // What was refunded before is not invoiced, so that it needs no credit note.
    const before = await request('10')
    assert.ok(!before.credit_note_first)
    const ask = () => customer.call(invoiceEndpoints.requestInvoice, { body: { title, orders: [order] } })
    const invoice = await ask()
    assert.equal(invoice.amount, '90.00')
    await expectResponse(server, 200, ['POST', `/refunds/${before.id}/approve`])
    await expectResponse(server, 200, ['POST', `/refunds/${before.id}/done`, { transaction: 'back' }])

    const refund = await request('20')
    assert.ok(refund.credit_note_first)
    const approve = ['POST', `/refunds/${refund.id}/approve`] as const
    await expectError(server, 409, approve)
    await expectError(server, 409, ['POST', `/orders/${order}/refunds`, { amount: '5', reason: 'x' }])
    await expectResponse(server, 200, issue(invoice.id))
    await expectError(server, 409, approve)
    const reversal = { reason: 'refund', credit_note: nextNumber() }
    await expectResponse(server, 200, ['POST', `/invoices/${invoice.id}/reverse`, reversal])
    const approved = await expectResponse<PaymentRefund>(server, 200, approve)
    assert.deepEqual([approved.state, approved.credit_note_first], ['sent', false])
    assert.equal((await ask()).amount, '70.00')
    const one = await expectResponse<InvoiceJson>(server, 200, ['GET', `/invoices/${invoice.id}`])
    assert.deepEqual([one.state, one.credit_note], ['reversed', reversal.credit_note])
  })

  test('Invoice and refund at the same time – never exceed the payment together', async () => {
    const { customer, title } = await customerWithTitle('race@example.com')
    for (let round = 0; round < 5; round += 1) {
      const order = await pay(customer, '10')
      const body = { title, orders: [order] }
      const refundAll = ['POST', `/orders/${order}/refunds`, { reason: 'race' }] as const
      await Promise.all([
        customer.send(invoiceEndpoints.requestInvoice, { body }),
        server.relay.adminResponse(...refundAll),
      ])
      const { data } = await customer.call(invoiceEndpoints.invoices)
      const invoiced = data.find(({ payments }) => payments.some((each) => each.order === order))
      const refunds = await expectResponse<List<PaymentRefund>>(server, 200, [
        'GET',
        `/refunds?order=${order}`,
      ])
      const sent = refunds.data.find(({ state }) => state === 'sent' || state === 'done')
      const sum = Number(invoiced?.amount ?? 0) + Number(sent?.amount ?? 0)
      assert.ok(sum <= 10, `${sum} of 10`)
    }
  })
})
