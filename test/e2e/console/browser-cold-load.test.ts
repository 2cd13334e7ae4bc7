// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** How a page appears in a browser that has to load its script first. */
import { describe, test } from 'node:test'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { signUp } from '../../support/console/console-steps.ts'

const testServer = await sharedBrowserServer()

describe('Cold load in a browser', () => {
  test('Page – replaces the loading indicator at once', { skip: browserSkipReason }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    await signUp(browser, 'cold@example.com')
    const { page } = browser
    const requested = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    await page.route('**/assets/billing-*.js', async (route) => {
      requested.resolve()
      await released.promise
      await route.continue()
    })
    // From here on, the page's timers run only as far as the test says.
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.goto('/console/billing', { waitUntil: 'commit' })
    await requested.promise
    await page.clock.runFor(200)
    released.resolve()
    // The router's own minimum of half a second would begin with the indicator.
    await page.clock.runFor(300)
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor({ timeout: 20_000 })
  })
})
