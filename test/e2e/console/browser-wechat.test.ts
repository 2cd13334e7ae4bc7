// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** WeChat Pay in a browser: pay and get the money back; a QR code that expires, and is paid all the same. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import type { List } from '../../support/client/admin-api.ts'
import { browserSkipReason, sharedBrowserServer, type BrowserSession } from '../../support/console/browser.ts'
import {
  findFigure,
  goToPage,
  openAsNewCustomer,
  openAsOperator,
} from '../../support/console/console-steps.ts'
import {
  approveRefund,
  checkPayment,
  orderRecharge,
  requestRefund,
  waitForOrder,
} from '../../support/console/recharge-steps.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import { executeSql } from '../../support/server/database-access.ts'

const skip = { skip: browserSkipReason }
const wechat = await startProvider.wechat()
after(() => wechat[Symbol.asyncDispose]())
const testServer = await sharedBrowserServer({ env: settingsOf([wechat]) })

/** Orders a recharge as a new customer; resolves when the code is shown. */
async function orderByQr(
  t: TestContext,
  email: string,
  amount: string,
): Promise<readonly [BrowserSession, string]> {
  const browser = await openAsNewCustomer(t, testServer(), email)
  await browser.open('/billing/recharge')
  const id = await orderRecharge(browser.page, 'WeChat Pay', amount)
  await browser.page.getByRole('img', { name: 'Scan the code to pay' }).waitFor()
  return [browser, id]
}

describe('WeChat Pay in a browser', () => {
  test('Payment – raises the balance, and a refund that an operator approves lowers it', skip, async (t) => {
    const [browser, id] = await orderByQr(t, 'wechat@example.com', '20')
    const { page } = browser
    await page.getByText('scan this code with WeChat from another screen').waitFor()
    wechat.pay(id)
    await deliverNotice(testServer().url, 'wechat', wechat.notice(id))
    await page.getByText('¥20.00 were added to your balance.').waitFor()
    await goToPage(page, 'Billing')
    const balance = findFigure(page, 'Balance').locator('strong')
    assert.equal(await balance.textContent(), '¥20.00')
    const refund = { amount: '5', reason: 'Ordered too much' }
    await requestRefund(page, { method: 'WeChat Pay', refundable: '¥20.00', ...refund })
    await page.getByText('Awaiting approval').waitFor()
    const operator = await openAsOperator(t, testServer())
    await operator.open('/operator/payments')
    await approveRefund(operator.page, refund.reason)
    await operator.page.getByRole('table', { name: 'Refunds' }).getByText('Refunded').waitFor()
    await browser.open('/billing')
    await page.getByRole('table', { name: 'Refunds' }).getByText('Refunded').waitFor()
    assert.equal(await balance.textContent(), '¥15.00')
    assert.equal(wechat.payments.find(({ order }) => order === id)?.refundedMinor, 500n)
  })

  test('Expired code – one click gives a new order, and the old one is credited if paid', skip, async (t) => {
    const [browser, old] = await orderByQr(t, 'expired@example.com', '30')
    const { page } = browser
    await executeSql(testServer().relay, `update payment_orders set expires_at = 1 where id = '${old}'`)
    await page.getByText('This order can no longer be paid').waitFor()
    await page.getByRole('button', { name: 'New order' }).click()
    const next = await waitForOrder(page, old)
    await page.getByRole('img', { name: 'Scan the code to pay' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'New order' }).click()
    assert.equal(await waitForOrder(page, old), next, 'a second click makes no second order')
    wechat.pay(old)
    await deliverNotice(testServer().url, 'wechat', wechat.notice(old))
    await browser.open(`/billing/orders/${old}`)
    await page.getByText('¥30.00 were added to your balance.').waitFor()
    await browser.open(`/billing/orders/${next}`)
    wechat.pay(next)
    await checkPayment(page)
    await page.getByText('¥30.00 were added to your balance.').waitFor()
    const { data } = await testServer().admin<List>('GET', `/orders?q=${next}`)
    const orders = await testServer().admin<List>('GET', `/orders?account=${String(data[0]?.['account'])}`)
    assert.deepEqual(
      orders.data.map(({ id, state }) => [id, state]),
      [
        [next, 'paid'],
        [old, 'paid'],
      ],
    )
  })
})
