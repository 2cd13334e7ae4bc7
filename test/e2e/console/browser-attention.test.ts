// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** What needs attention: on the operator's dashboard and on the customer's overview. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  browserSkipReason,
  openBrowser,
  remoteHost,
  setUpOperator,
  sharedBrowserServer,
} from '../../support/console/browser.ts'
import {
  confirmKeySaved,
  createKey,
  goToPage,
  redeemVoucher,
  signUp,
} from '../../support/console/console-steps.ts'
import { checkPage, setView } from '../../support/console/page-checks.ts'
import { chatRequest } from '../../support/server/account.ts'
import { respondWith, respondWithError } from '../../support/upstream/scripted-responses.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()

describe('Attention in a browser', () => {
  test('Dashboard – lists incidents, paused upstreams and a missing PUBLIC_URL', skip, async (t) => {
    const failing = await testServer().upstream(respondWithError(503), { name: 'failing-upstream' })
    await testServer().model('broken', { upstreams: [failing] })
    const account = await testServer().account({ balance: '1' })
    for (let count = 0; count < 8; count += 1) await (await account.post(chatRequest('broken'))).text()
    await testServer().admin('POST', '/incidents', { title: 'Slow', severity: 'critical', public: false })
    const browser = await openBrowser(t, testServer().url.replace('127.0.0.1', remoteHost))
    const { page, open, pageErrors } = browser
    await setUpOperator(browser, testServer())
    await open('/operator/dashboard')
    const list = page.getByRole('list', { name: 'Needs attention' })
    const incident = list.getByRole('listitem').filter({ hasText: 'Slow' })
    await incident.getByText('Entire service').waitFor()
    await list
      .getByRole('listitem')
      .filter({ hasText: 'Paused after failures' })
      .getByText('broken')
      .waitFor()
    const port = new URL(testServer().url).port
    await list.getByText(`Links in e-mails say http://localhost:${port}. Set PUBLIC_URL.`).waitFor()
    const inMenu = page.getByRole('navigation').getByRole('link', { name: 'Incidents', exact: true })
    await inMenu.and(page.locator('a:has(.menu-badge)')).waitFor()
    const id = await inMenu.getAttribute('aria-describedby')
    const described = await page.locator(`[id="${id}"]`).textContent()
    assert.match(described ?? '', /^\d+ open$/)
    const problems = await checkPage(browser, '/operator/dashboard')
    await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
    await list.getByRole('link', { name: 'failing-upstream' }).click()
    await page.getByRole('heading', { name: 'failing-upstream', level: 1 }).waitFor()
    await open('/operator/dashboard')
    await incident.getByRole('link', { name: 'Slow' }).click()
    await page.getByRole('heading', { name: 'Incidents and availability', level: 1 }).waitFor()
    assert.deepEqual(problems, [])
    // Plain HTTP under another name than localhost.
    assert.ok(pageErrors.splice(0).every((error) => error.includes('Cross-Origin-Opener-Policy')))
  })

  test('Overview – shows a reached cap and an open incident, with links', skip, async (t) => {
    const upstream = await testServer().upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
    await testServer().model('working', { upstreams: [upstream], prices: ['1', '1'] })
    const incident = { title: 'Slow responses', models: ['working'] }
    await testServer().admin('POST', '/incidents', incident)
    const browser = await openBrowser(t, testServer().url)
    const { page, open } = browser
    await signUp(browser, 'capped@example.com')
    const { codes } = await testServer().admin<{ codes: string[] }>('POST', '/vouchers', {
      amount: '100',
      count: 1,
    })
    await redeemVoucher(page, codes[0] ?? '', '¥100.00 added. Your balance is ¥100.00.')
    await goToPage(page, 'API keys')
    const secret = await createKey(page, 'app')
    await confirmKeySaved(page)
    const response = await fetch(`${testServer().url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatRequest('working')),
    })
    assert.equal(response.status, 200)
    await response.arrayBuffer()
    await open('/billing?edit=caps')
    await page.getByLabel('Daily cap').fill('2')
    await page.getByRole('button', { name: 'Save' }).click()
    await goToPage(page, 'Overview')
    const callouts = page.locator('.callout')
    const cap = callouts.filter({ hasText: 'Daily cap of ¥2.00 reached. Requests are rejected until 00:00.' })
    await cap.waitFor()
    const status = callouts
      .filter({ hasText: 'Slow responses' })
      .getByRole('link', { name: 'View service status' })
    assert.equal(await status.getAttribute('href'), '/status?lang=en')
    const problems = await checkPage(browser, '/overview')
    await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
    await cap.getByRole('link', { name: 'Raise the cap' }).click()
    await page.getByRole('dialog').waitFor()
    assert.deepEqual(problems, [])
  })
})
