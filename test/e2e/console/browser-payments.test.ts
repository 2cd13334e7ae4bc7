// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
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
  openAsNewCustomer,
  openAsOperator,
  signUp,
  waitForToast,
} from '../../support/console/console-steps.ts'
import {
  approveRefund,
  bankTransfers,
  checkPayment,
  goToRecharge,
  orderRecharge,
  payByCard,
  requestRefund,
} from '../../support/console/recharge-steps.ts'
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
    ...bankTransfers,
    PAYMENT_FEES: 'epay:1%',
    REFERRAL_REWARD_REFERRER: '20',
    REFERRAL_REWARD_INVITED: '10% max 5',
  },
})

/** Opens the recharge page as a new customer. */
async function openRecharge(t: TestContext, email: string): Promise<Page> {
  const { page } = await openAsNewCustomer(t, testServer(), email)
  await goToRecharge(page)
  return page
}

const isPaid = (page: Page): Promise<void> => page.getByText('Payment received').waitFor()

describe('Payments in a browser', () => {
  test('QR code – is paid, found by a check, and the balance is there', skip, async (t) => {
    const page = await openRecharge(t, 'qr@example.com')
    const id = await orderRecharge(page, 'Alipay', '20')
    await page.getByRole('img', { name: 'Scan the code to pay' }).waitFor()
    alipay.pay(id)
    await checkPayment(page)
    await page.getByText('¥20.00 were added to your balance.').waitFor()
    await goToPage(page, 'Billing')
    await page.getByRole('row').filter({ hasText: 'Paid' }).getByText('¥20.00').first().waitFor()
  })

  test('Order – is found again in the list, and its page sees the payment by itself', skip, async (t) => {
    const page = await openRecharge(t, 'back@example.com')
    const id = await orderRecharge(page, 'Online payment', '50')
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
    const id = await orderRecharge(page, 'Alipay', '10')
    await page.getByRole('button', { name: 'Cancel order' }).click()
    await page.getByText('This order can no longer be paid').waitFor()
    alipay.pay(id)
    await deliverNotice(testServer().url, 'alipay', alipay.notice(id))
    await page.reload()
    await isPaid(page)
  })

  test('Hosted page – is opened at once, and the order is paid when the payer returns', skip, async (t) => {
    const page = await openRecharge(t, 'card@example.com')
    await payByCard(page, testServer(), stripe)
  })

  test('Bank transfer – is confirmed by an operator, and refunded by another transfer', skip, async (t) => {
    const page = await openRecharge(t, 'bank@example.com')
    const id = await orderRecharge(page, 'Bank transfer', '100')
    await page.getByText('6222 0000 1234 5678').waitFor()
    const operator = await openAsOperator(t, testServer())
    await operator.open(`/operator/payments?confirm=${id}`)
    const dialog = findDialog(operator.page, 'Confirm transfer')
    await dialog.getByLabel('Amount received').fill('100')
    await dialog.getByLabel('Bank’s serial number').fill('B-1')
    await dialog.getByRole('button', { name: 'Confirm transfer' }).click()
    await waitForToast(operator.page, 'Transfer recorded')
    await isPaid(page)
    const refund = { amount: '40', reason: 'Too much' }
    await requestRefund(page, { method: 'Bank transfer', refundable: '¥100.00', ...refund })
    await page.getByText('Awaiting approval').waitFor()
    await operator.open('/operator/payments')
    await approveRefund(operator.page, refund.reason)
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
    const inviter = await openAsNewCustomer(t, testServer(), 'inviter@example.com')
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
