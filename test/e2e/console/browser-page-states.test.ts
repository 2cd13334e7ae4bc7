// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** Every page of the console without content: empty, loading, or after an error. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Locator, Page, Route } from 'playwright-core'
import {
  openBrowser,
  browserSkipReason,
  sharedBrowserServer,
  type BrowserSession,
} from '../../support/console/browser.ts'
import { customerPages, operatorPages } from '../../support/console/console-pages.ts'
import { openAsOperator, signUp } from '../../support/console/console-steps.ts'
import {
  findClippedTexts,
  checkCurrentView,
  inTwoBrowsers,
  setView,
  type View,
} from '../../support/console/page-checks.ts'

const skip = browserSkipReason
const testServer = await sharedBrowserServer()
/** A loading indicator must appear after 300 ms; the factor allows for a busy machine. */
const maxIndicatorMs = 300 * 20

const desktop: View = { scheme: 'light', language: 'en', width: 1440 }
const phone: View = { scheme: 'dark', language: 'zh-CN', width: 390 }
/** What happens to the requests of a page; those of the layout around it always pass. */
type Mode = 'pass' | 'hold' | 'fail'

class RequestControl {
  mode: Mode = 'pass'
  readonly #held: Route[] = []

  static async install(page: Page): Promise<RequestControl> {
    const requests = new RequestControl()
    await page.route(/\/api\/(?!console\/(session|announcements)$)/, (route) => requests.#handle(route))
    return requests
  }

  async #handle(route: Route): Promise<void> {
    if (this.mode === 'pass') await route.continue()
    else if (this.mode === 'hold') this.#held.push(route)
    else {
      const error = { message: 'It broke.', type: 'server_error', param: null, code: 'server_error' }
      await route.fulfill({ status: 500, headers: { 'x-request-id': 'req_broken' }, json: { error } })
    }
  }

  async release(): Promise<void> {
    this.mode = 'pass'
    // The request of a page that was left is already aborted.
    for (const route of this.#held.splice(0)) await route.continue().catch(() => undefined)
  }
}

/** Records in the page when loading started and when its indicator appeared. */
const recordLoadingScript = `
  window.loading = { startedAt: null, shownAt: null }
  new MutationObserver(() => {
    const busy = document.querySelector('[aria-busy="true"]')
    if (busy === null) return
    window.loading.startedAt ??= performance.now()
    if (busy.textContent !== '') window.loading.shownAt ??= performance.now()
  }).observe(document, { subtree: true, childList: true, characterData: true })`

/** These pages need no data, or none until a list is pasted. */
const isStatic = (path: string): boolean => path === '/guide' || path === '/operator/payments/bank'

/** This page loads its data only on a click. */
async function startLoading({ page }: BrowserSession, path: string): Promise<void> {
  if (path === '/operator/ledger') await page.getByRole('main').getByRole('button').first().click()
}

/** Clicks, unless the button disappears first: pages that poll recover by themselves. */
async function clickIfPresent(button: Locator): Promise<void> {
  const outcomes = [button.click(), button.waitFor({ state: 'detached' })]
  // The other one fails when it times out or the page closes.
  for (const outcome of outcomes) outcome.catch(() => undefined)
  await Promise.any(outcomes)
}

/** Checks the error state in one view: each error offers a retry. */
async function checkErrorState(
  browser: BrowserSession,
  requests: RequestControl,
  path: string,
): Promise<string[]> {
  const { page, navigate, waitUntilReady } = browser
  requests.mode = 'fail'
  await navigate(path)
  await startLoading(browser, path)
  // Data that the previous page has loaded is cached until the console is reloaded.
  const alert = page.getByRole('alert').first()
  await waitUntilReady()
  if (!(await alert.isVisible()) && !isStatic(path)) {
    await page.goto(`/console${path}`)
    await startLoading(browser, path)
    await alert.waitFor()
  }
  const problems = await checkCurrentView(page, `${path} error`)
  requests.mode = 'pass'
  const retry = page.getByRole('alert').getByRole('button', { name: /Try again|重试/ })
  while ((await retry.count()) > 0) {
    await clickIfPresent(retry.first())
    await waitUntilReady()
    if (path.endsWith('none')) break
  }
  return problems
}

/** Checks the loading and the empty state of a page, and of its dialogs. */
async function checkLoadingAndEmptyStates(
  browser: BrowserSession,
  requests: RequestControl,
  path: string,
  dialogs: readonly string[],
): Promise<string[]> {
  const { page, navigate, waitUntilReady } = browser
  requests.mode = 'hold'
  await page.goto(`/console${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await startLoading(browser, path)
  const problems: string[] = []
  if (!isStatic(path)) {
    const loading = page.locator('main [aria-busy="true"]').getByText(/Loading…|加载中…/)
    await loading.first().waitFor()
    const shownMs = await page.evaluate<number>('window.loading.shownAt - window.loading.startedAt')
    if (shownMs > maxIndicatorMs) problems.push(`${path}: no loading indicator for ${shownMs} ms`)
  }
  problems.push(...(await findClippedTexts(page)).map((text) => `${path} loading clipped: ${text}`))
  await requests.release()
  await waitUntilReady()
  problems.push(...(await checkCurrentView(page, `${path} empty`)))
  for (const dialog of dialogs) {
    await navigate(path + dialog)
    problems.push(...(await checkCurrentView(page, `${path}${dialog} empty`)))
  }
  return problems
}

/** Checks these pages: the error state in one view, loading and empty in the other. */
async function checkAllPages(browser: BrowserSession, pages: readonly string[]): Promise<string[]> {
  await browser.page.addInitScript(recordLoadingScript)
  const requests = await RequestControl.install(browser.page)
  const problems: string[] = []
  for (const [index, page] of pages.entries()) {
    const [one, other] = index % 2 === 0 ? [desktop, phone] : [phone, desktop]
    const [path = '', ...dialogs] = page.split(' ')
    await setView(browser, other)
    const found = await checkErrorState(browser, requests, path)
    await setView(browser, one)
    found.push(...(await checkLoadingAndEmptyStates(browser, requests, path, dialogs)))
    problems.push(...found.map((problem) => `${problem} (error state in ${other.language})`))
  }
  const { pageErrors } = browser
  pageErrors.splice(0, pageErrors.length, ...pageErrors.filter((text) => !/status of 500/.test(text)))
  return problems
}

describe('Page states in a browser', () => {
  test(
    'Customer pages – show loading, errors with a retry, and what to do when empty',
    { skip },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      await signUp(browser, 'new@example.com')
      assert.deepEqual(await inTwoBrowsers(t, browser, customerPages, checkAllPages), [])
    },
  )

  test(
    'Operator pages – show loading, errors with a retry, and what to do when empty',
    { skip },
    async (t) => {
      const browser = await openAsOperator(t, testServer())
      assert.deepEqual(await inTwoBrowsers(t, browser, operatorPages, checkAllPages), [])
    },
  )

  test('Unavailable service – the console says so and continues once it is back', { skip }, async (t) => {
    const browser = await openBrowser(t, testServer().url)
    const { page, pageErrors } = browser
    await signUp(browser, 'patient@example.com')
    await page.route('**/api/console/session', (route) => route.abort())
    await page.goto('/console/keys')
    await page.getByRole('heading', { name: 'Service unreachable' }).waitFor()
    await page.unroute('**/api/console/session')
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    pageErrors.length = 0
  })
})
