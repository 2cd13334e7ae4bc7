// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** The console in circumstances: an outage, plain HTTP under another name, a distant time zone, paper. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  browserSkipReason,
  openBrowser,
  remoteHost,
  sharedBrowserServer,
} from '../../support/console/browser.ts'
import {
  confirmKeySaved,
  createKey,
  customerPassword,
  findDialog,
  goToPage,
  openAsOperator,
  signIn,
  signUp,
} from '../../support/console/console-steps.ts'
import { setView } from '../../support/console/page-checks.ts'
import { chatRequest } from '../../support/server/account.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()

describe('Console in circumstances', () => {
  test('Outage – a page that cannot be loaded says so, and comes back by itself', skip, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { context, page, pageErrors } = browser
    await signUp(browser, 'outage@example.com')
    await context.setOffline(true)
    await page.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name: 'Billing' }).click()
    await page.getByRole('heading', { name: 'Service unreachable' }).waitFor()
    assert.match(page.url(), /\/console\/billing$/)
    await context.setOffline(false)
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor()
    pageErrors.length = 0
  })

  test('Plain HTTP – copies, and shows the address of the browser', skip, async (t) => {
    const url = testServer().url.replace('127.0.0.1', remoteHost)
    const browser = await openBrowser(t, url)
    const { page, pageErrors } = browser
    await signUp(browser, 'plain@example.com')
    assert.equal(await page.evaluate('window.isSecureContext'), false)
    await goToPage(page, 'API keys')
    const secret = await createKey(page, 'copied')
    const dialog = findDialog(page, 'Create API key')
    await dialog.locator('.secret button').click()
    await dialog.getByRole('status').getByText('Copied').waitFor()
    await confirmKeySaved(page)
    await goToPage(page, 'Billing')
    await page.getByLabel('Voucher code').press('Control+v')
    assert.equal(await page.getByLabel('Voucher code').inputValue(), secret)
    await goToPage(page, 'Guide')
    await page.getByText(`${url}/v1`, { exact: true }).first().waitFor()
    // Browsers say that plain HTTP leaves security headers without effect.
    pageErrors.splice(0, pageErrors.length, ...pageErrors.filter((text) => !text.includes('untrustworthy')))
  })

  test('New secret – neither Escape nor a click outside closes the dialog', skip, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page } = browser
    await signUp(browser, 'secret@example.com')
    await goToPage(page, 'API keys')
    const secret = await createKey(page, 'kept')
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    await page.getByText(secret, { exact: true }).waitFor()
    await confirmKeySaved(page)
  })

  test('Passkeys – are offered on a domain, not on an IP address', skip, async (t) => {
    const { page, open } = await openBrowser(t, testServer().url)
    await open('/sign-in')
    const button = page.getByRole('button', { name: 'Sign in with a passkey' })
    assert.equal(await button.count(), 0)
    await page.goto(`${testServer().url.replace('127.0.0.1', 'localhost')}/console/sign-in`)
    await button.waitFor()
  })

  test('Statement – has the times of the account, and prints on white paper', skip, async (t) => {
    await signUp(await openBrowser(t, testServer().url), 'distant@example.com')
    const browser = await openBrowser(t, testServer().url, {
      scheme: 'dark',
      timeZone: 'America/Los_Angeles',
    })
    const { page, open } = browser
    await signIn(browser, 'distant@example.com', customerPassword)
    const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)
    await open(`/billing/${month}`)
    await page
      .getByText(/ 1 – \w+ \d{2}, \d{4}/)
      .first()
      .waitFor()
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    const background = await page.evaluate(
      'getComputedStyle(document.querySelector(".tile")).backgroundColor',
    )
    assert.equal(background, 'rgb(255, 255, 255)')
  })

  test('Requests – appear by themselves, and an invalid time in the URL is ignored', skip, async (t) => {
    const relay = testServer()
    const upstream = await relay.upstream(respondWith('Hello!', { input: 10, output: 1 }))
    await relay.model('fresh-model', { upstreams: [upstream] })
    const customer = await relay.account({ balance: '1' })
    const { page, open } = await openAsOperator(t, relay)
    await open('/operator/requests?from=2026-13-99')
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor()
    await (await customer.post(chatRequest('fresh-model'))).text()
    await page.getByRole('cell', { name: 'fresh-model' }).first().waitFor()
  })

  test('Unknown objects – are not found, in both languages, with nothing to retry', skip, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page, open } = browser
    await signUp(browser, 'lost@example.com')
    const customerPages = {
      '/billing/2020-01': ['There is no statement for this month.', '该月没有账单。'],
      '/usage/req_none': ['Request not found. Check its ID.', '未找到该请求，请核对请求 ID。'],
    }
    for (const [path, [english = '', chinese = '']] of Object.entries(customerPages)) {
      await open(path)
      await page.getByRole('alert').getByText(english).waitFor()
      assert.equal(await page.getByRole('alert').getByRole('button').count(), 0, path)
      await setView(browser, { scheme: 'light', language: 'zh-CN', width: 1440 })
      await page.getByRole('alert').getByText(chinese).waitFor()
      await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
    }
    const operator = await openAsOperator(t, testServer())
    await operator.open('/operator/models/none')
    await operator.page.getByRole('alert').getByText('Model not found.').waitFor()
    await operator.open('/operator/audit?object=acc_none')
    await operator.page.getByRole('heading', { name: 'No matching entries' }).waitFor()
  })

  test('No mail server – the page says so, and offers only to subscribe to incidents', skip, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    await signUp(browser, 'silent@example.com')
    await browser.open('/notices')
    await browser.page.getByText('The operator of this service has not set up e-mail, so').waitFor()
    await browser.page.getByRole('checkbox', { name: 'Incidents', checked: false }).waitFor()
    assert.equal(await browser.page.getByRole('checkbox').count(), 1)
  })

  test('Chinese pages – show texts and codes of the server in Chinese', skip, async (t) => {
    const relay = testServer()
    const incident = {
      title: 'm-1: requests are failing',
      message: 'Requests to this model are failing again.',
    }
    await relay.admin('POST', '/incidents', incident)
    await relay.model('unserved', { upstreams: [] })
    const browser = await openAsOperator(t, relay)
    const { page, navigate } = browser
    await setView(browser, { scheme: 'light', language: 'zh-CN', width: 1440 })
    await navigate('/operator/incidents')
    await page.getByRole('cell', { name: 'm-1：请求失败 该模型的请求再次出现失败。' }).waitFor()
    await navigate('/operator/audit')
    await page.getByRole('cell', { name: '创建故障' }).first().waitFor()
    await navigate('/operator/models/unserved')
    await page.getByText('没有已启用的上游提供此模型。').waitFor()
  })

  test('Wide tables – scroll inside their frame, also by keyboard', skip, async (t) => {
    const { page, open } = await openAsOperator(t, testServer())
    await testServer().account({ balance: '1', key: { name: 'a-key-with-a-name-of-about-forty-letters' } })
    await page.setViewportSize({ width: 700, height: 900 })
    await open('/operator/keys')
    const frame = page.locator('.table-container[tabindex="0"]').first()
    await frame.focus()
    await page.keyboard.press('End')
    await page
      .getByRole('button', { name: /^Actions for / })
      .first()
      .click({ trial: true })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'), true)
  })
})
