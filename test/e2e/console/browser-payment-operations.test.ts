// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** The operator's pages of payments: promotions, rates, bank lists, searches, revenue; on desktop and phone, in both languages. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { List } from '../../support/client/admin-api.ts'
import { browserSkipReason, sharedBrowserServer, type BrowserSession } from '../../support/console/browser.ts'
import {
  chooseAction,
  findDialog,
  openAsNewCustomer,
  openAsOperator,
  waitForToast,
} from '../../support/console/console-steps.ts'
import { bankTransfers } from '../../support/console/recharge-steps.ts'
import { checkAllViews, findEnglishTexts, inTwoBrowsers, setView } from '../../support/console/page-checks.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import type { Account } from '../../support/server/account.ts'

const skip = { skip: browserSkipReason }
const stripe = await startProvider.stripe()
after(() => stripe[Symbol.asyncDispose]())
const testServer = await sharedBrowserServer({
  env: {
    ...settingsOf([stripe]),
    STRIPE_CURRENCY: 'USD',
    ...bankTransfers,
  },
})
let account: Account | undefined

async function order(method: 'stripe' | 'bank', amount: string): Promise<PaymentOrder> {
  return testServer().admin<PaymentOrder>('POST', `/accounts/${account?.id ?? ''}/orders`, { method, amount })
}
const referenceOf = ({ pay }: PaymentOrder): string => /Reference: (\w{8})/.exec(pay?.text ?? '')?.[1] ?? ''

before(async () => {
  if (browserSkipReason !== false) return
  account = await testServer().account()
})

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

/** A rate by the button next to the problem of the method that has none. */
async function setRate({ page, open }: BrowserSession): Promise<void> {
  await open('/operator/payments')
  const method = page.getByRole('row').filter({ hasText: 'Card (Stripe)' })
  await method.getByText('There is no rate from USD to CNY.').waitFor()
  await method.getByRole('button', { name: 'Set rate' }).click()
  const dialog = findDialog(page, 'Set rate')
  assert.equal(await dialog.getByLabel('Currency').inputValue(), 'USD')
  await dialog.getByLabel('Rate').fill('7.1')
  await dialog.getByRole('button', { name: 'Set rate' }).click()
  await waitForToast(page, 'Rate set')
  await section(page, 'Exchange rates').getByText('1 USD = 7.1 CNY').waitFor()
  await method.getByText('Working').waitFor()
}

describe('Payment operations in a browser', () => {
  test('Rate – is set where a method needs one, and its payment appears in the revenue', skip, async (t) => {
    const operator = await openAsOperator(t, testServer())
    await setRate(operator)
    const paid = await order('stripe', '10')
    stripe.pay(paid.id)
    await deliverNotice(testServer().url, 'stripe', stripe.notice(paid.id))
    await operator.open('/operator/payments')
    const { page } = operator
    const revenue = page.getByRole('table', { name: 'Revenue by method' }).getByRole('row')
    const row = revenue.filter({ hasText: 'Card (Stripe)' })
    assert.deepEqual(await row.locator('.num').allTextContents(), [
      '$10.00',
      '$0.00',
      '$0.00',
      '$10.00',
      '¥71.00',
      '¥0.00',
    ])
    await page.getByLabel('Show').selectOption('Repaired')
    await page.getByText('Nothing was repaired').waitFor()
  })

  test('Bank list – is pasted, its rows are matched, and one click each confirms them', skip, async (t) => {
    const [whole, part] = [await order('bank', '100'), await order('bank', '200')]
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/payments')
    await page.getByRole('link', { name: 'Bank list' }).click()
    const lines = [
      'Date,Serial,Amount,Payer,Remark',
      `2026-11-28,B-1,100.00,Ann,${referenceOf(whole)}`,
      `2026-11-28,B-2,150.00,Ann,${referenceOf(part)}`,
      '2026-11-28,B-3,about 5,Bob,',
    ]
    await page.getByLabel('List as CSV').fill('no list')
    await page.getByRole('button', { name: 'Find orders' }).click()
    await page.getByText('names a column of amounts').waitFor()
    await page.getByLabel('List as CSV').fill(lines.join('\n'))
    await page.getByRole('button', { name: 'Find orders' }).click()
    await page.getByText('The amount cannot be read in line 4.').waitFor()
    const row = (amount: string) => page.getByRole('row').filter({ hasText: amount })
    await row('¥150.00').getByText('Ordered: ¥200.00').waitFor()
    await row('¥100.00').getByRole('button', { name: 'Confirm' }).click()
    const dialog = findDialog(page, 'Confirm transfer')
    assert.equal(await dialog.getByLabel('Amount received').inputValue(), '100.00')
    assert.equal(await dialog.getByLabel('Bank’s serial number').inputValue(), 'B-1')
    await dialog.getByRole('button', { name: 'Confirm transfer' }).click()
    await row('¥100.00').getByText('Recorded').waitFor()
    assert.equal(await row('¥100.00').getByRole('button', { name: 'Confirm' }).count(), 0)
    await row('¥150.00').getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByLabel('If another amount arrived').selectOption('credit')
    await dialog.getByRole('button', { name: 'Confirm transfer' }).click()
    await row('¥150.00').getByText('Recorded').waitFor()
    const { data } = await testServer().admin<List>('GET', '/orders?method=bank&state=paid')
    assert.deepEqual(data.map(({ credit }) => String(credit)).toSorted(), ['100', '150'])
  })

  test('Order – is found by the reference of its transfer', skip, async (t) => {
    const [wanted, other] = [await order('bank', '41'), await order('bank', '42')]
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/payments')
    const orders = section(page, 'Payments')
    await orders.getByText('¥42.00').first().waitFor()
    await orders.getByLabel('ID, reference or transaction').fill(referenceOf(wanted).toLowerCase())
    await orders.getByRole('button', { name: 'Apply' }).click()
    await orders.getByText('¥42.00').first().waitFor({ state: 'detached' })
    await orders.getByText('¥41.00').first().waitFor()
    await orders.getByLabel('Status').selectOption('Paid')
    await orders.getByText('No matching orders').waitFor()
    assert.notEqual(referenceOf(wanted), referenceOf(other))
  })

  test('Bonus for recharges – is created with tiers, offered, used, paused and resumed', skip, async (t) => {
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/promotions')
    await page.getByRole('button', { name: 'New recharge bonus' }).first().click()
    const dialog = findDialog(page, 'New recharge bonus')
    await dialog.getByLabel('Name').fill('Spring')
    await dialog.getByRole('textbox', { name: 'From' }).fill('50')
    await dialog.getByLabel('Value').fill('5')
    await dialog.getByLabel('At most').fill('20')
    await dialog.getByRole('button', { name: 'Add tier' }).click()
    await dialog.getByRole('textbox', { name: 'From' }).nth(1).fill('1000')
    await dialog.getByLabel('Bonus').nth(1).selectOption('Fixed amount')
    await dialog.getByLabel('Value').nth(1).fill('80')
    await dialog.getByLabel('Total budget').fill('500')
    await dialog.getByLabel('Limit per account').fill('50')
    await dialog.getByRole('button', { name: 'New recharge bonus' }).click()
    const row = page.getByRole('row').filter({ hasText: 'Spring' })
    await row.getByText('From ¥50.00: 5%, at most ¥20.00').waitFor()
    await row.getByText('From ¥1,000.00: ¥80.00').waitFor()

    const customer = await openAsNewCustomer(t, testServer(), 'bonus@example.com')
    await customer.open('/billing/recharge')
    await customer.page.getByText('From ¥50.00: 5%, at most ¥20.00').waitFor()
    await customer.page.getByText('You can still get ¥50.00.').waitFor()
    await customer.page.getByRole('radio', { name: 'Bank transfer' }).check()
    await customer.page.getByLabel('Other amount').fill('100')
    await customer.page.getByText('¥5.00', { exact: true }).waitFor()
    await customer.page.getByRole('button', { name: 'Pay', exact: true }).click()
    await customer.page.waitForURL(/\/billing\/orders\/S/)

    await open('/operator/promotions')
    await row.getByText('¥5.00', { exact: true }).waitFor()
    await chooseAction(page, row, 'Pause')
    await findDialog(page).getByText('Used so far: ¥5.00.').waitFor()
    await findDialog(page).getByRole('button', { name: 'Pause' }).click()
    await row.getByText('Paused').waitFor()
    await chooseAction(page, row, 'Resume')
    await row.getByText('Running').waitFor()
    await chooseAction(page, row, 'Edit')
    await findDialog(page).getByLabel('Name').fill('Summer')
    await findDialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row').filter({ hasText: 'Summer' }).waitFor()
  })

  test('Comparison that failed – is shown with its method, and its problem', skip, async (t) => {
    stripe.faults = { bill: 'html' }
    t.after(() => {
      stripe.faults = {}
    })
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
    const body = { method: 'stripe', from: day, to: day }
    const run = await testServer().admin<{ problem: string }>('POST', '/payments/reconcile', body)
    assert.ok(run.problem)
    const { page, open } = await openAsOperator(t, testServer())
    await open('/operator/payments')
    const methods = page.getByRole('table', { name: 'Methods' }).getByRole('row')
    const method = methods.filter({ hasText: 'Card (Stripe)' })
    await method.getByText('Last comparison failed').waitFor()
    await method.getByText(run.problem).waitFor()
    stripe.faults = {}
    await testServer().admin('POST', '/payments/reconcile', body)
    await open('/operator/payments')
    await method.getByRole('time').waitFor()
    assert.equal(await method.getByText('Last comparison failed').count(), 0)
  })

  test(
    'Pages with content – are accessible, fit, and are Chinese in the Chinese console',
    skip,
    async (t) => {
      const line = `2026-11-28,B-9,75.00,Ann,${referenceOf(await order('bank', '80'))}`
      const browser = await openAsOperator(t, testServer())
      const { page } = browser
      const paths = [
        '/operator/payments',
        '/operator/payments?differences=resolved&method=bank',
        '/operator/payments?rate=USD',
        '/operator/promotions',
        '/operator/promotions?add=recharge',
      ]
      const problems = await inTwoBrowsers(t, browser, paths)
      await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
      await browser.navigate('/operator/payments/bank')
      await page
        .getByLabel('List as CSV')
        .fill(`Date,Serial,Amount,Payer,Remark\n${line}\n2026-11-28,B-10,five,Ann,`)
      await page.getByRole('button', { name: 'Find orders' }).click()
      await page.getByText('Another amount').waitFor()
      problems.push(...(await checkAllViews(browser, 'bank list')))
      // The last view is the Chinese one.
      problems.push(...(await findEnglishTexts(page)))
      for (const path of paths) {
        await browser.navigate(path)
        problems.push(...(await findEnglishTexts(page)).map((text) => `${path}: ${text}`))
      }
      assert.deepEqual(problems, [])
    },
  )
})
