/** Steps of browser tests about recharges and their refunds. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { List } from '../client/admin-api.ts'
import type { ScriptedProvider } from '../payments/scripted-provider.ts'
import type { TestServer } from '../server/test-server.ts'
import { chooseAction, findDialog, goToPage } from './console-steps.ts'

/** The settings of bank transfers. */
export const bankTransfers = {
  BANK_TRANSFER: 'Sluice Ltd, Bank of Examples, 6222 0000 1234 5678',
  BANK_ACCOUNT: '6222000012345678',
}

/** Opens the page of recharges from the page of billing. */
export async function goToRecharge(page: Page): Promise<void> {
  await goToPage(page, 'Billing')
  await page.getByRole('button', { name: 'Recharge' }).click()
  await page.getByRole('heading', { name: 'Recharge', exact: true }).waitFor()
}

async function pay(page: Page, method: string, amount: string): Promise<void> {
  await page.getByRole('radio', { name: method }).check()
  await page.getByLabel('Other amount').fill(amount)
  await page.getByText('Credit', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
}

/** Orders an amount on the page of recharges; resolves to the order's id when its page is shown. */
export async function orderRecharge(page: Page, method: string, amount: string): Promise<string> {
  await pay(page, method, amount)
  return waitForOrder(page)
}

/** Waits for the page of an order, other than `old`; resolves to its id. */
export async function waitForOrder(page: Page, old = 'none'): Promise<string> {
  await page.waitForURL(({ href }) => /\/billing\/orders\/S/.test(href) && !href.includes(old))
  return /S[0-9A-Z]{26}/.exec(page.url())?.[0] ?? ''
}

/** Pays 30 at Stripe's page; resolves to the order when the payer is back and it is paid. */
export async function payByCard(
  page: Page,
  server: TestServer,
  stripe: ScriptedProvider,
): Promise<PaymentOrder> {
  // The scripted provider has no page of its own.
  await page.route(/checkout\.stripe\.com/, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<h1>Checkout</h1>' }),
  )
  await pay(page, 'Card (Stripe)', '30')
  await page.getByRole('heading', { name: 'Checkout' }).waitFor()
  const { data } = await server.admin<List<PaymentOrder>>('GET', '/orders?method=stripe&limit=1')
  const [order] = data
  assert.ok(order)
  stripe.pay(order.id)
  await page.goto(`${server.url}/console/billing/orders/${order.id}`)
  await checkPayment(page)
  return order
}

/** Asks the provider from the page of an order that is paid. */
export async function checkPayment(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'I have paid: check now' }).click()
  await page.getByText('Payment received').waitFor()
}

/** `method`: of one order only. `refundable`: all that can go back. */
export async function requestRefund(
  page: Page,
  { method, refundable, amount, reason }: Record<'method' | 'refundable' | 'amount' | 'reason', string>,
): Promise<void> {
  await goToPage(page, 'Billing')
  await chooseAction(page, page.getByRole('row').filter({ hasText: method }), 'Request refund')
  const dialog = findDialog(page, 'Request a refund')
  await dialog.getByText(`Up to ${refundable} can go back`).waitFor()
  await dialog.getByLabel('Amount to refund').fill(amount)
  await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: 'Request refund' }).click()
}

/** Approves the refund with this reason, on the operator's page of payments. */
export async function approveRefund(page: Page, reason: string): Promise<void> {
  await chooseAction(page, page.getByRole('row').filter({ hasText: reason }), 'Approve')
  await findDialog(page).getByRole('button', { name: 'Approve' }).click()
}
