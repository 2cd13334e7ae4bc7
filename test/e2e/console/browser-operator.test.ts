// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** An operator in a browser: from the printed set-up link to the audit log. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { chatRequest } from '../../support/server/account.ts'
import {
  setUpOperator,
  waitUntilSignedIn,
  openBrowser,
  operatorPassword,
  browserSkipReason,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import {
  chooseAction,
  createKey,
  customerPassword,
  findDialog,
  enterPassword,
  goToPage,
  confirmKeySaved,
  signInAsOperator,
  waitForToast,
} from '../../support/console/console-steps.ts'
import {
  addUpstream,
  changePrice,
  creditAccount,
  addModel,
  createAccount,
} from '../../support/console/operator-steps.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { scriptedDelay, waitUntil } from '../../support/wait.ts'

const testServer = await sharedBrowserServer({ env: { INCIDENT_RECOVERY: '2s' } })

/** Creates a one-time link for the account's user, who signs in with it. */
async function signInByLink(page: Page, customer: BrowserSession): Promise<void> {
  await page.getByRole('button', { name: 'Create one-time link' }).click()
  await findDialog(page, 'Create a one-time sign-in link for customer@example.com?')
    .getByRole('button', { name: 'Create one-time link' })
    .click()
  const secret = findDialog(page, 'One-time link').locator('.secret code')
  const link = new URL((await secret.textContent()) ?? '')
  await findDialog(page, 'One-time link').getByRole('button', { name: 'Done, I’ve saved it' }).click()
  await customer.open(`${link.pathname.replace('/console', '')}${link.hash}`)
  await customer.page.getByRole('textbox', { name: 'New password' }).fill(customerPassword)
  await customer.page.getByRole('button', { name: 'Save password' }).click()
  await customer.page.getByRole('link', { name: 'Sign in' }).click()
  await enterPassword(customer, 'customer@example.com', customerPassword)
  await waitUntilSignedIn(customer.page)
}

async function createAnnouncement(page: Page, title: string): Promise<void> {
  const dialog = findDialog(page)
  await goToPage(page, 'Announcements')
  await page.getByRole('button', { name: 'New announcement' }).first().click()
  await dialog.getByLabel('Title (English)').fill(title)
  await dialog.getByLabel('Text (English)').fill('Thank you for your patience.')
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
  await waitForToast(page, 'Announcement published.')
}

/** Finds a key among the keys of all accounts, disables, enables and deletes it. */
async function disableAndDeleteKey(page: Page, name: string, secret: string): Promise<void> {
  await goToPage(page, 'All API keys')
  const row = page.getByRole('table', { name: 'All API keys' }).getByRole('row', { name: new RegExp(name) })
  await page.getByLabel('Name, key or e-mail').fill(secret)
  await page.getByRole('button', { name: 'Apply' }).click()
  await row.getByRole('link', { name: 'customer@example.com' }).waitFor()
  await row
    .getByText(/^¥0\.\d/)
    .first()
    .waitFor()
  await page.getByLabel('Sort by').selectOption('Longest unused first')
  assert.equal(new URL(page.url()).search, `?q=${secret}&sort=longest_unused`)
  for (const [action, state, isAccepted] of [
    ['Disable', 'Disabled', false],
    ['Enable', 'Active', true],
  ] as const) {
    await chooseAction(page, row, action)
    await findDialog(page, `${action} “${name}”?`).getByRole('button', { name: action }).click()
    await row.getByText(state, { exact: true }).waitFor()
    assert.equal((await requestStatus(secret)) !== 401, isAccepted)
  }
  await chooseAction(page, row, 'Delete')
  const confirmation = findDialog(page, `Delete “${name}”?`)
  await confirmation.getByText('This key belongs to customer@example.com.').waitFor()
  await confirmation.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No matching API keys' }).waitFor()
  assert.equal(await requestStatus(secret), 401)
}

async function requestStatus(secret: string): Promise<number> {
  const response = await fetch(`${testServer().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatRequest('day-model')),
  })
  await response.arrayBuffer()
  return response.status
}

/**
 * Sends requests until the condition is true: outages and recoveries are detected from traffic. The pause keeps the
 * account within its request limit.
 */
async function pollUnderTraffic(secret: string, condition: () => Promise<boolean>): Promise<void> {
  await waitUntil(async () => {
    await requestStatus(secret)
    await scriptedDelay(100)
    return condition()
  }, 'the effect of the traffic')
}

describe('Operator in a browser', () => {
  test(
    'Printed set-up link – creates an operator, who signs out and in again with the password',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      const { page } = browser
      await setUpOperator(browser, testServer())
      assert.equal(new URL(page.url()).hash, '', 'the token is not kept in the history')
      await page.getByRole('button', { name: 'operator@example.com' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()

      await enterPassword(browser, 'operator@example.com', 'not the password')
      await page.getByRole('alert').getByText('Incorrect e-mail address or password.').waitFor()
      await signInAsOperator(browser)
    },
  )

  test(
    'Operator workflow – from upstream to credit, incident and audit log',
    { skip: browserSkipReason },
    async (t) => {
      const upstream = await startScriptedUpstream(respondWith('Hello!', { input: 1000, output: 100 }))
      t.after(() => upstream.close())
      const browser = await openBrowser(t, testServer().url)
      const { page } = browser
      await signInAsOperator(browser)
      await page.getByRole('heading', { name: 'Get started' }).waitFor()
      await addUpstream(page, 'first', upstream.url)
      await addModel(page, 'day-model')
      const { routes } = await testServer().admin<{ routes: object[] }>('GET', '/models/day-model')
      assert.partialDeepStrictEqual(routes, [{ model: 'real-day-model', expose_model: true }])
      await changePrice(page, '0.008')
      await createAccount(page, 'customer@example.com')
      await creditAccount(page, '12.5')
      const customer = await openBrowser(t, testServer().url)
      await signInByLink(page, customer)
      await goToPage(page, 'Dashboard')
      await page.getByRole('heading', { name: 'Get started' }).waitFor()

      // The customer subscribes to incidents and sends requests.
      await goToPage(customer.page, 'Notifications')
      // The box is checked only after the setting is saved.
      await customer.page.getByRole('checkbox', { name: 'Incidents' }).click()
      await customer.page.getByRole('checkbox', { name: 'Incidents', checked: true }).waitFor()
      await goToPage(customer.page, 'API keys')
      const secret = await createKey(customer.page, 'website')
      await confirmKeySaved(customer.page)
      assert.equal(await requestStatus(secret), 200)
      await page.getByRole('heading', { name: 'Get started' }).waitFor({ state: 'detached' })

      upstream.always(respondWithError(503))
      await goToPage(page, 'Incidents')
      const row = page
        .getByRole('table', { name: 'Incidents and availability' })
        .getByRole('row', { name: /day-model/ })
      await pollUnderTraffic(secret, () => row.getByText('Automatic').isVisible())
      await row.getByText('Critical', { exact: true }).waitFor()
      await chooseAction(page, row, 'Post update')
      const dialog = findDialog(page)
      await dialog.getByLabel('Status', { exact: true }).selectOption('identified')
      await dialog.getByLabel('Message', { exact: true }).fill('The provider is down; we wait for it.')
      await dialog.getByRole('button', { name: 'Post update' }).click()
      await row.getByText('Identified', { exact: true }).waitFor()
      await goToPage(customer.page, 'Notifications')
      const notifications = customer.page.getByRole('main').getByRole('list')
      await notifications.getByText('The provider is down; we wait for it.').first().waitFor()
      const status = await (await fetch(`${testServer().url}/status`)).text()
      assert.match(status, /The provider is down; we wait for it\./)

      upstream.always(respondWith('Hello!', { input: 1000, output: 100 }))
      await pollUnderTraffic(secret, () => row.getByText('Resolved', { exact: true }).isVisible())

      await disableAndDeleteKey(page, 'website', secret)
      await createAnnouncement(page, 'All is well again')
      await customer.open('/overview')
      await customer.page.getByRole('status').getByText('All is well again').waitFor()

      await goToPage(page, 'Audit log')
      const audit = page.getByRole('table', { name: 'Audit log' })
      for (const action of [
        'Upstream created',
        'Model created',
        'Account created',
        'Credit booked',
        'API key changed',
        'API key deleted',
        'Incident updated',
      ]) {
        const line = audit.getByRole('row', { name: new RegExp(action) }).first()
        await line.getByText('operator:operator@example.com').waitFor()
      }
    },
  )

  test(
    'Upstream that fails its test – cannot be enabled from the test dialog',
    { skip: browserSkipReason },
    async (t) => {
      const broken = await startScriptedUpstream(respondWithError(401))
      t.after(() => broken.close())
      const browser = await openBrowser(t, testServer().url)
      const { page, open } = browser
      await signInAsOperator(browser)
      await testServer().upstreamAt(broken.url, { name: 'broken', enabled: false })
      await open('/operator/upstreams')
      await chooseAction(page, page.getByRole('row', { name: /broken/ }), 'Test')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Test model').fill('any')
      await dialog.getByRole('button', { name: 'Test', exact: true }).click()
      await dialog.getByText(/Test failed/).waitFor()
      assert.equal(await dialog.getByRole('button', { name: 'Enable' }).isDisabled(), true)
    },
  )

  test(
    'New address of an upstream – is saved after the password was entered again',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      const { page, open } = browser
      await signInAsOperator(browser)
      const { id } = await testServer().upstreamAt('http://127.0.0.1:9000/v1', {
        name: 'moved',
        enabled: false,
      })
      await open(`/operator/upstreams?edit=${id}`)
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Base URL').fill('http://127.0.0.1:9001/v1')
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      const password = dialog.getByRole('textbox', { name: 'Password' })
      await password.fill('not the password')
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await dialog.getByText('Incorrect password.').waitFor()
      await password.fill(operatorPassword)
      await password.press('Enter')
      await dialog.getByLabel('Test model').waitFor()
      const upstream = await testServer().admin<{ base_url: string }>('GET', `/upstreams/${id}`)
      assert.equal(upstream.base_url, 'http://127.0.0.1:9001/v1')
    },
  )

  test(
    'Command palette – works with the keyboard alone; the language changes all texts at once',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      const { page } = browser
      await signInAsOperator(browser)
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search' }).waitFor()
      await page.keyboard.type('ledg')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Ledger' }).waitFor()
      await page.getByRole('button', { name: 'Verify now' }).click()
      await page.getByText('The ledger is balanced.').waitFor()

      await page.getByRole('button', { name: 'operator@example.com' }).click()
      await page.getByRole('menuitem', { name: '简体中文' }).click()
      await page.getByRole('heading', { name: '账本' }).waitFor()
      await page.getByRole('link', { name: '上游' }).waitFor()
      assert.equal(await page.getByText('Ledger').count(), 0)
    },
  )
})
