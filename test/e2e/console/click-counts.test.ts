// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** The number of mouse clicks that common tasks take after sign-in. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import {
  assertMaxClicks,
  createKey,
  findDialog,
  goToPage,
  openAsOperator,
  redeemVoucher,
  signUp,
} from '../../support/console/console-steps.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'

const skip = browserSkipReason
const testServer = await sharedBrowserServer()
let account: Account | undefined

if (browserSkipReason === false) {
  const server = testServer()
  const good = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
    prices: { input: '0.001', output: '0.002' },
  })
  await server.model('test-model', { prices: ['0.002', '0.004'], upstreams: [good] })
  account = await server.account({ balance: '10' })
}

describe('Click counts', () => {
  test('API key with a working snippet – takes three clicks', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page } = browser
    await signUp(browser, 'keys@example.com')
    const dialog = findDialog(page, 'Create API key')
    let secret = ''
    await assertMaxClicks(t, browser, 3, async () => {
      await goToPage(page, 'API keys')
      secret = await createKey(page, 'website')
      const snippet = (await dialog.locator('pre').textContent()) ?? ''
      for (const part of [`${testServer().url}/v1`, secret, 'test-model'])
        assert.ok(snippet.includes(part), snippet)
    })
    await dialog.getByRole('button', { name: 'Send a test request' }).waitFor()
  })

  test('Cost of one request with its bill – takes one click', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page, context } = browser
    await signUp(browser, 'cost@example.com')
    const { codes } = await testServer().admin<{ codes: string[] }>('POST', '/vouchers', {
      amount: '1',
      count: 1,
    })
    await redeemVoucher(page, codes[0] ?? '', '¥1.00 added. Your balance is ¥1.00.')
    const data = chatRequest('test-model')
    const headers = { origin: testServer().url }
    const response = await context.request.post('/api/console/chat/completions', { data, headers })
    assert.equal(response.status(), 200)
    await goToPage(page, 'Overview')
    await assertMaxClicks(t, browser, 1, async () => {
      const latest = page.getByRole('table', { name: 'Recent requests' })
      await latest.getByRole('row', { name: /OK/ }).getByRole('link').click()
      const bill = page.getByRole('table', { name: 'Bill' })
      const lines = [
        [/^Input tokens/, '1,000', '¥0.002'],
        [/^Output tokens/, '100', '¥0.0004'],
        [/^Charged/, '¥0.0024'],
      ] as const
      for (const [name, ...cells] of lines) {
        const row = bill.getByRole('row', { name })
        for (const cell of cells) await row.getByText(cell, { exact: true }).first().waitFor()
      }
      await page.getByText('¥0.9976').waitFor()
    })
  })

  test('Daily and monthly cap of the account – takes two clicks', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page } = browser
    await signUp(browser, 'caps@example.com')
    await assertMaxClicks(t, browser, 2, async () => {
      await page.getByRole('link', { name: 'Set a cap' }).first().click()
      const dialog = findDialog(page, 'Set caps')
      await dialog.getByLabel('Daily cap').fill('2.5')
      await dialog.getByLabel('Monthly cap').fill('40')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('of ¥2.50').waitFor()
      await page.getByText('of ¥40.00').waitFor()
    })
  })

  test('Daily, monthly and total cap of a key – takes two clicks', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page } = browser
    await signUp(browser, 'key-caps@example.com')
    await goToPage(page, 'API keys')
    await createKey(page, 'laptop')
    await findDialog(page, 'Create API key').getByRole('button', { name: 'Done, I’ve saved it' }).click()
    await goToPage(page, 'Overview')
    await assertMaxClicks(t, browser, 2, async () => {
      await goToPage(page, 'API keys')
      await page.getByRole('row', { name: /laptop/ }).click()
      const dialog = findDialog(page, 'Edit “laptop”')
      await dialog.getByLabel('Daily cap').fill('1')
      await dialog.getByLabel('Monthly cap').fill('20')
      await dialog.getByLabel('Lifetime cap').fill('100')
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
    })
    const { data } = (await (await browser.context.request.get('/api/console/keys')).json()) as {
      data: { caps: object }[]
    }
    assert.deepEqual(data[0]?.caps, { daily: '1', monthly: '20', total: '100' })
  })

  test('Upstream tested before it is enabled – takes five clicks', { skip }, async (t) => {
    const upstream = await startScriptedUpstream(respondWith('Hello!'))
    t.after(() => upstream.close())
    const browser = await openAsOperator(t, testServer())
    const { page } = browser
    const dialog = findDialog(page)
    await assertMaxClicks(t, browser, 5, async () => {
      await goToPage(page, 'Upstreams')
      await page.getByRole('button', { name: 'Add upstream' }).first().click()
      await dialog.getByLabel('Provider').selectOption('openai-compatible')
      await dialog.getByLabel('Name').fill('counted')
      await dialog.getByLabel('Base URL').fill(upstream.url)
      await dialog.getByRole('textbox', { name: 'Credential' }).fill('sk-upstream')
      await dialog.getByRole('button', { name: 'Save and test' }).click()
      const enable = dialog.getByRole('button', { name: 'Enable' })
      assert.equal(await enable.isDisabled(), true, 'an untested upstream cannot be enabled')
      await dialog.getByLabel('Test model').fill('test-model')
      await dialog.getByRole('button', { name: 'Test', exact: true }).click()
      await dialog.getByText(/Test passed in/).waitFor()
      await enable.click()
      await page
        .getByRole('row', { name: /counted/ })
        .getByText('Active', { exact: true })
        .waitFor()
    })
  })

  test(
    'Price change with its effects – takes four clicks, and is audited and revertible',
    { skip },
    async (t) => {
      assert.ok(account)
      await (await account.post(chatRequest('test-model'))).text()
      const browser = await openAsOperator(t, testServer())
      const { page } = browser
      const dialog = findDialog(page)
      await assertMaxClicks(t, browser, 4, async () => {
        await goToPage(page, 'Models and prices')
        await page.getByRole('link', { name: 'test-model', exact: true }).click()
        await page.getByRole('button', { name: 'Change price' }).click()
        await dialog.getByRole('textbox', { name: 'Output', exact: true }).fill('0.008')
        await dialog
          .getByRole('row', { name: /Output/ })
          .getByText('+100%')
          .waitFor()
        await dialog.getByText(/Last 30 days: [12] requests?/).waitFor()
        await dialog.getByText(/Margin via/).waitFor()
        await dialog.getByText(/applies to new requests immediately/).waitFor()
        await dialog.getByRole('button', { name: 'Change price' }).click()
        await page
          .getByRole('row', { name: /Current/ })
          .getByText('¥0.008')
          .waitFor()
      })
      await page.getByRole('button', { name: 'Restore' }).first().click()
      await dialog.getByRole('button', { name: 'Restore' }).click()
      await page
        .getByRole('row', { name: /Current/ })
        .getByText('¥0.004')
        .waitFor()
      await goToPage(page, 'Audit log')
      const row = page.getByRole('row', { name: /price/ }).first()
      await row.getByText('operator@example.com').waitFor()
    },
  )

  test('Cause of failed requests with a sample – takes two clicks', { skip }, async (t) => {
    assert.ok(account)
    const down = await testServer().upstream(respondWithError(500), { name: 'down' })
    await testServer().model('failing-model', { upstreams: [down] })
    for (let count = 0; count < 3; count += 1) await (await account.post(chatRequest('failing-model'))).text()
    const browser = await openAsOperator(t, testServer())
    const { page } = browser
    await assertMaxClicks(t, browser, 2, async () => {
      await goToPage(page, 'Failures')
      const row = page.getByRole('row', { name: /failing-model/ })
      await row.getByText('down').waitFor()
      await row.getByText('Provider', { exact: true }).waitFor()
      await row.getByRole('link', { name: 'Sample' }).click()
      await page.getByRole('table', { name: 'Upstream attempts' }).getByText('down').waitFor()
    })
  })
})
