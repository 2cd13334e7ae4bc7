// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Automatic recharge in a browser: consent, a card that is declined and then works, and the operator’s switch. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import {
  findDialog,
  openAsNewCustomer,
  openAsOperator,
  waitForToast,
} from '../../support/console/console-steps.ts'
import { payByCard } from '../../support/console/recharge-steps.ts'
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
  const consent = section.getByLabel(/I agree .* charges my saved card ¥20\.00, .* at most ¥50\.00/)
  await consent.check()
  // An agreement to other amounts is none to these.
  await section.getByLabel('At most per month').fill('60')
  assert.ok(await button.isDisabled())
  await section.getByLabel('At most per month').fill('50')
  await consent.check()
  await button.click()
}

describe('Automatic recharge in a browser', () => {
  test(
    'Card – is declined and says why, then works; an operator switches off',
    { skip: browserSkipReason },
    async (t) => {
      const { page, open } = await openAsNewCustomer(t, testServer(), 'saved-card@example.com')
      await open('/billing/recharge')
      await agree(page)
      await waitForToast(page, 'Waiting for a card')
      await page.getByLabel('Save this card for automatic recharge').check()
      const paid = await payByCard(page, testServer(), stripe)
      const account = new Account(testServer(), paid.account)
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
