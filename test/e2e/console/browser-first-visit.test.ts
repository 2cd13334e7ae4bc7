// @backend both (cluster in long runs)
// @drives a browser
/** A new customer in a browser: the browser tests of the short suite. */
import { describe, test } from 'node:test'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { signUp } from '../../support/console/console-steps.ts'

const testServer = await sharedBrowserServer()

describe('First visit in a browser', () => {
  test('Chinese browser – shows the sign-in page in Chinese', { skip: browserSkipReason }, async (t) => {
    const { page, open } = await openBrowser(t, testServer().url, { language: 'zh-CN' })
    await open('/')
    await page.getByRole('heading', { name: '登录', level: 1 }).waitFor()
  })

  test('API key – can be created with the keyboard alone', { skip: browserSkipReason }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page } = browser
    await signUp(browser, 'keyboard@example.com')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).waitFor()
    await page.keyboard.type('keys')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Create API key' }).first().waitFor()
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab')
      // Between the last and the first element of the page, the browser itself has the focus.
      const focused = await page.evaluate<string>('document.activeElement?.textContent ?? ""')
      if (focused.trim() === 'Create API key') break
    }
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await page.locator('input[name="name"]:focus').waitFor()
    await page.keyboard.type('by hand')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').locator('.secret code').waitFor()
  })
})
