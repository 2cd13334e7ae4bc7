// @backend sqlite – the console is the same on both
// @suite all – runs a browser
/** Recharges in a browser, by each kind of method: begin, pay, see the balance; leave and come back; cancel; refund. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { List } from '../../support/client/admin-api.ts'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import {
  chooseAction,
  findDialog,
  goToPage,
  openAsOperator,
  signUp,
  waitForToast,
} from '../../support/console/console-steps.ts'
import { deliverNotice, type ScriptedProvider } from '../../support/payments/scripted-provider.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'

const skip = { skip: browserSkipReason }
const [stripe, alipay, epay] = await Promise.all([
  startProvider.stripe(),
  startProvider.alipay(),
  startProvider.epay(),
])
const providers: readonly ScriptedProvider[] = [stripe, alipay, epay]
after(() => Promise.all(providers.map((provider) => provider[Symbol.asyncDispose]())))
const testServer = await sharedBrowserServer({
  env: {
    ...settingsOf(providers),
    BANK_TRANSFER: 'Sluice Ltd, Bank of Examples, 6222 0000 1234 5678',
    BANK_ACCOUNT: '6222000012345678',
    PAYMENT_FEES: 'epay:1%',
    REFERRAL_REWARD_REFERRER: '20',
    REFERRAL_REWARD_INVITED: '10% max 5',
  },
})

/** Opens the recharge page as a new customer. */
async function openRecharge(t: TestContext, email: string): Promise<Page> {
  const browser = await openBrowser(t, testServer().url)
  await signUp(browser, email)
  await browser.open('/billing')
  await browser.page.getByRole('button', { name: 'Recharge' }).click()
  await browser.page.getByRole('heading', { name: 'Recharge', exact: true }).waitFor()
  return browser.page
}

/** Orders an amount; resolves to the order's id when its page is shown. */
async function order(page: Page, method: string, amount: string): Promise<string> {
  await page.getByRole('radio', { name: method }).check()
  await page.getByLabel('Other amount').fill(amount)
  await page.getByText('Credit', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
  await page.waitForURL(/\/billing\/orders\/S/)
  return /S[0-9A-Z]{26}/.exec(page.url())?.[0] ?? ''
}

const isPaid = (page: Page): Promise<void> => page.getByText('Payment received').waitFor()

describe('Payments in a browser', () => {
  test('QR code – is paid, found by a check, and the balance is there', skip, async (t) => {
    const page = await openRecharge(t, 'qr@example.com')
    const id = await order(page, 'Alipay', '20')
    await page.getByRole('img', { name: 'Scan the code to pay' }).waitFor()
    alipay.pay(id)
    await page.getByRole('button', { name: 'I have paid: check now' }).click()
    await isPaid(page)
    await page.getByText('¥20.00 were added to your balance.').waitFor()
    await goToPage(page, 'Billing')
    await page.getByRole('row').filter({ hasText: 'Paid' }).getByText('¥20.00').first().waitFor()
  })

  test('Order – is found again in the list, and its page sees the payment by itself', skip, async (t) => {
    const page = await openRecharge(t, 'back@example.com')
    const id = await order(page, 'Online payment', '50')
    await page.getByText('¥0.50').first().waitFor()
    await goToPage(page, 'Billing')
    await page.getByRole('row').filter({ hasText: 'Awaiting payment' }).getByRole('link').click()
    await page.getByRole('button', { name: 'I have paid: check now' }).waitFor()
    epay.pay(id)
    await deliverNotice(testServer().url, 'epay', epay.notice(id))
    await isPaid(page)
    await page.getByText('¥49.50 were added to your balance.').waitFor()
  })

  test('Canceled order – can no longer be paid, and is credited if it is', skip, async (t) => {
    const page = await openRecharge(t, 'cancel@example.com')
    const id = await order(page, 'Alipay', '10')
    await page.getByRole('button', { name: 'Cancel order' }).click()
    await page.getByText('This order can no longer be paid').waitFor()
    alipay.pay(id)
    await deliverNotice(testServer().url, 'alipay', alipay.notice(id))
    await page.reload()
    await isPaid(page)
  })

  test('Hosted page – is opened at once, and the order is paid when the payer returns', skip, async (t) => {
    const page = await openRecharge(t, 'card@example.com')
    // The scripted provider has no page of its own.
    await page.route(/checkout\.stripe\.com|\/pay\//, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<h1>Checkout</h1>' }),
    )
    await page.getByRole('radio', { name: 'Card (Stripe)' }).check()
    await page.getByLabel('Other amount').fill('30')
    await page.getByText('Credit', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await page.getByRole('heading', { name: 'Checkout' }).waitFor()
    const { data } = await testServer().admin<List>('GET', '/orders?method=stripe')
    const id = String(data[0]?.['id'])
    stripe.pay(id)
    await page.goto(`${testServer().url}/console/billing/orders/${id}`)
    await page.getByRole('button', { name: 'I have paid: check now' }).click()
    await isPaid(page)
  })

  test('Bank transfer – is confirmed by an operator, and refunded by another transfer', skip, async (t) => {
    const page = await openRecharge(t, 'bank@example.com')
    const id = await order(page, 'Bank transfer', '100')
    await page.getByText('6222 0000 1234 5678').waitFor()
    const operator = await openAsOperator(t, testServer())
    await operator.open(`/operator/payments?confirm=${id}`)
    const dialog = findDialog(operator.page, 'Confirm transfer')
    await dialog.getByLabel('Amount received').fill('100')
    await dialog.getByLabel('Bank’s serial number').fill('B-1')
    await dialog.getByRole('button', { name: 'Confirm transfer' }).click()
    await waitForToast(operator.page, 'Transfer recorded')
    await isPaid(page)
    await goToPage(page, 'Billing')
    await chooseAction(page, page.getByRole('row').filter({ hasText: 'Bank transfer' }), 'Request refund')
    const request = findDialog(page, 'Request a refund')
    await request.getByLabel('Amount to refund').fill('40')
    await request.getByLabel('Reason').fill('Too much')
    await request.getByRole('button', { name: 'Request refund' }).click()
    await page.getByText('Awaiting approval').waitFor()
    await operator.open('/operator/payments')
    await chooseAction(
      operator.page,
      operator.page.getByRole('row').filter({ hasText: 'Too much' }),
      'Approve',
    )
    await findDialog(operator.page).getByRole('button', { name: 'Approve' }).click()
    await operator.page.getByText('On its way').waitFor()
    await chooseAction(
      operator.page,
      operator.page.getByRole('row').filter({ hasText: 'Too much' }),
      'Mark as refunded',
    )
    const sent = findDialog(operator.page, 'Mark as refunded')
    await sent.getByLabel('Transaction').fill('B-2')
    await sent.getByRole('button', { name: 'Mark as refunded' }).click()
    await operator.page.getByText('Refunded').first().waitFor()
    const { data } = await testServer().admin<List>('GET', `/refunds?order=${id}`)
    assert.partialDeepStrictEqual(data, [{ state: 'done', amount: '40.00', transaction: 'B-2' }])
  })

  test('Referral – its link leads to the sign-up, and an operator can refuse it', skip, async (t) => {
    const inviter = await openBrowser(t, testServer().url)
    await signUp(inviter, 'inviter@example.com')
    await inviter.open('/billing')
    const section = inviter.page.getByRole('region', { name: 'Referrals' })
    await section
      .getByText('you get ¥20.00 and it gets 10% of the payment (at most ¥5.00) 14 days after')
      .waitFor()
    const link = section.getByTitle(/sign-up\?referral=/)
    const code = /referral=(\w+)/.exec((await link.textContent()) ?? '')?.[1] ?? ''
    const guest = await openBrowser(t, testServer().url)
    await signUp(guest, 'guest@example.com', { referral: code })
    await inviter.page.reload()
    await section.getByRole('row').filter({ hasText: 'No payment yet' }).waitFor()
    const operator = await openAsOperator(t, testServer())
    await operator.open('/operator/payments')
    const row = operator.page.getByRole('row').filter({ hasText: 'No payment yet' })
    await chooseAction(operator.page, row, 'Refuse')
    const dialog = findDialog(operator.page, 'Refuse the rewards')
    await dialog.getByLabel('Reason').fill('The same office')
    await dialog.getByRole('button', { name: 'Refuse' }).click()
    await waitForToast(operator.page, 'Rewards refused')
    await operator.page.getByText('The same office').waitFor()
  })
})
