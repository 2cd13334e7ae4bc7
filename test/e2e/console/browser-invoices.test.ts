// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Receipts and invoices in a browser: a payment is invoiced, issued, downloaded, printed; its refund waits. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import {
  chooseAction,
  findDialog,
  goToPage,
  openAsNewCustomer,
  openAsOperator,
  waitForToast,
} from '../../support/console/console-steps.ts'
import {
  approveRefund,
  bankTransfers,
  goToRecharge,
  orderRecharge,
  requestRefund,
} from '../../support/console/recharge-steps.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer({ env: bankTransfers })

const pdf = Buffer.from('%PDF-1.7\nan invoice\n')
const number = '26112000000000000001'

/** Recharges by bank transfer, which has arrived; resolves on the page of the order. */
async function recharge(page: Page, amount: string): Promise<void> {
  await goToRecharge(page)
  const id = await orderRecharge(page, 'Bank transfer', amount)
  const transfer = { received: amount, transaction: `T-${id}`, date: '2026-11-28' }
  await testServer().admin('POST', `/orders/${id}/confirm`, transfer)
  await page.getByText('Payment received').waitFor()
}

async function downloadFrom(page: Page, name: RegExp): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name }).first().click(),
  ])
  return readFileSync(await download.path())
}

describe('Receipts and invoices in a browser', () => {
  test('Receipt – is shown, printed without the console around it, and downloaded', skip, async (t) => {
    const { page } = await openAsNewCustomer(t, testServer(), 'receipt@example.com')
    await recharge(page, '100')
    await page.getByRole('link', { name: 'Receipt' }).click()
    await page.getByRole('heading', { name: 'Receipt' }).waitFor()
    await page.getByText('Paid after refunds').waitFor()
    assert.equal((await downloadFrom(page, /Download PDF/)).subarray(0, 5).toString(), '%PDF-')
    await page.emulateMedia({ media: 'print' })
    assert.ok(!(await page.getByRole('button', { name: 'Print' }).isVisible()))
    assert.ok(!(await page.locator('.sidebar').isVisible()))
    assert.ok(await page.locator('header.print-only .brand').isVisible())
    const printed = await page.pdf({ preferCSSPageSize: true })
    assert.equal(printed.subarray(0, 5).toString(), '%PDF-')
  })

  test('Invoice – is requested, issued with a file, and downloaded; a refund waits', skip, async (t) => {
    const { page } = await openAsNewCustomer(t, testServer(), 'invoice@example.com')
    await recharge(page, '80')
    await goToPage(page, 'Billing')
    await page.getByRole('button', { name: 'Invoices' }).click()
    await page.getByRole('button', { name: 'Add title' }).click()
    const title = findDialog(page, 'Add title')
    await title.getByLabel('Name').fill('示例科技有限公司')
    await title.getByLabel('Tax number').fill('91350100M000100Y44')
    await title.getByRole('button', { name: 'Add title' }).click()
    await title.getByText('check digit').waitFor()
    await title.getByLabel('Tax number').fill('91350100M000100Y43')
    await title.getByRole('button', { name: 'Add title' }).click()
    await waitForToast(page, 'Title added')
    await page.getByRole('button', { name: 'Request invoice' }).click()
    const request = findDialog(page, 'Request invoice')
    await request.getByRole('checkbox').check()
    await request.getByText('Invoice amount: ¥80.00').waitFor()
    await request.getByRole('button', { name: 'Request invoice' }).click()
    await waitForToast(page, 'Invoice requested')

    const operator = await openAsOperator(t, testServer())
    await goToPage(operator.page, 'Invoices')
    const row = operator.page.getByRole('row').filter({ hasText: '示例科技有限公司' })
    await chooseAction(operator.page, row, 'Issue')
    const issue = findDialog(operator.page, 'Issue')
    await issue.getByLabel('Number').fill(number)
    await issue
      .getByLabel('File')
      .setInputFiles({ name: 'invoice.pdf', mimeType: 'application/pdf', buffer: pdf })
    await issue.getByRole('button', { name: 'Issue' }).click()
    await waitForToast(operator.page, 'Invoice recorded')

    await page.reload()
    await page.getByText(number).waitFor()
    assert.deepEqual(await downloadFrom(page, /Download/), pdf)
    const refund = { amount: '40', reason: 'Too much' }
    await requestRefund(page, { method: 'Bank transfer', refundable: '¥80.00', ...refund })
    await page.getByText('Invoiced: the credit note comes first').waitFor()

    await chooseAction(operator.page, row, 'Reverse')
    const reverse = findDialog(operator.page, 'Reverse')
    await reverse.getByLabel('Reason').fill('Refund')
    await reverse.getByRole('button', { name: 'Reverse' }).click()
    await waitForToast(operator.page, 'Invoice reversed')
    await goToPage(operator.page, 'Payments')
    await approveRefund(operator.page, refund.reason)
    await operator.page.getByText('On its way').waitFor()
  })

  test('Statement – prints with its kinds of credits, and is downloaded', skip, async (t) => {
    const { page } = await openAsNewCustomer(t, testServer(), 'statement@example.com')
    await recharge(page, '60')
    await goToPage(page, 'Billing')
    await page.locator('a.tag').first().click()
    await page.getByRole('heading', { name: /Statement for/ }).waitFor()
    await page.locator('.tile').filter({ hasText: 'Payments' }).getByText('¥60.00').waitFor()
    assert.equal((await downloadFrom(page, /Download PDF/)).subarray(0, 5).toString(), '%PDF-')
    assert.match((await downloadFrom(page, /CSV/)).toString(), /opening,,0,CNY/)
  })
})
