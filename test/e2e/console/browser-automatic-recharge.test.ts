// @backend sqlite – the console is the same on both
// @suite all – runs a browser
/** Automatic recharge in a browser: consent, a card that is declined and then works, and the operator’s switch. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { List } from '../../support/client/admin-api.ts'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import { findDialog, openAsOperator, signUp, waitForToast } from '../../support/console/console-steps.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { Account, chatRequest } from '../../support/server/account.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const stripe = await StripeServer.start()
after(() => stripe[Symbol.asyncDispose]())
const preload = new URL('../../support/server/preload/shifted-clock.ts', import.meta.url).href
const testServer = await sharedBrowserServer({
  env: { ...settingsOf([stripe]), NODE_OPTIONS: `--import=${preload}` },
})
const hour = 3_600_000

/** Pays 30 by card and saves it; resolves to the customer’s account. */
async function payAndSaveCard(page: Page): Promise<string> {
  // The scripted provider has no page of its own.
  await page.route(/checkout\.stripe\.com/, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<h1>Checkout</h1>' }),
  )
  await page.getByLabel('Other amount').fill('30')
  await page.getByLabel('Save this card for automatic recharge').check()
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
  await page.getByRole('heading', { name: 'Checkout' }).waitFor()
  const { data } = await testServer().admin<List<{ id: string; account: string }>>('GET', '/orders?limit=1')
  assert.ok(data[0])
  stripe.pay(data[0].id)
  await page.goto(`${testServer().url}/console/billing/orders/${data[0].id}`)
  await page.getByRole('button', { name: 'I have paid: check now' }).click()
  await page.getByText('Payment received').waitFor()
  return data[0].account
}

async function spend(account: Account): Promise<void> {
  const upstream = await testServer().upstream(respondWith('Hello!', { input: 10, output: 10 }))
  await testServer().model('m', { upstreams: [upstream], prices: ['1', '1'], max_output_tokens: 16 })
  await account.newKey()
  assert.equal((await account.post(chatRequest('m'))).status, 200)
}

async function agree(page: Page): Promise<void> {
  const section = page.getByRole('region', { name: 'Automatic recharge' })
  await section.getByLabel('When the balance is below').fill('29.99')
  await section.getByLabel('Recharge by').fill('20')
  await section.getByLabel('At most per month').fill('50')
  const button = section.getByRole('button', { name: 'Turn on' })
  assert.ok(await button.isDisabled())
  await section.getByLabel(/I agree .* charges my saved card ¥20\.00, .* at most ¥50\.00/).check()
  await button.click()
}

async function openCustomer(t: TestContext) {
  const browser = await openBrowser(t, testServer().url)
  await signUp(browser, 'saved-card@example.com')
  await browser.open('/billing/recharge')
  return browser
}

describe('Automatic recharge in a browser', () => {
  test(
    'Card – is declined and says why, then works; an operator switches off',
    { skip: browserSkipReason },
    async (t) => {
      const { page, open } = await openCustomer(t)
      await agree(page)
      await waitForToast(page, 'Waiting for a card')
      const account = new Account(testServer(), await payAndSaveCard(page))
      await open('/billing/recharge')
      const section = page.getByRole('region', { name: 'Automatic recharge' })
      await section.getByText('ending in 4242').waitFor()
      await section.getByText('On', { exact: true }).waitFor()
      stripe.state.cardOutcome = 'insufficient_funds'
      await spend(account)
      await section.getByText('The card has insufficient funds').waitFor()
      await section.getByText('Next attempt').waitFor()
      stripe.state.cardOutcome = 'succeeded'
      await page.goto('about:blank')
      await testServer().restart({ CLOCK_AHEAD_MS: String(hour + 1000) })
      await open('/billing/recharge')
      await section.getByText('¥20.00 of ¥50.00').waitFor()
      assert.equal(await section.getByText('The card has insufficient funds').count(), 0)
      await open('/billing')
      const rows = page.getByRole('row').filter({ hasText: 'Automatic recharge' })
      await rows.filter({ hasText: 'Paid' }).getByText('¥20.00').first().waitFor()
      await rows.filter({ hasText: 'Refused' }).first().waitFor()
      const operator = await openAsOperator(t, testServer())
      await operator.open(`/operator/accounts/${account.id}`)
      await operator.page.getByRole('button', { name: 'Switch off' }).click()
      await findDialog(operator.page).getByRole('button', { name: 'Switch off' }).click()
      await waitForToast(operator.page, 'Automatic recharge is off')
      await open('/billing/recharge')
      await section.getByText('Off', { exact: true }).waitFor()
      await section.getByRole('button', { name: 'Remove card' }).click()
      await findDialog(page).getByRole('button', { name: 'Remove card' }).click()
      await waitForToast(page, 'Card removed')
      assert.equal(stripe.state.detached.length, 1)
    },
  )
})
