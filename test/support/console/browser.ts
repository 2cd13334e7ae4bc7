/**
 * A browser for tests of the console: Debian's chromium, driven by playwright-core. Each test has its own context, and
 * every error of the page (console, content security policy, exception) fails the test. With SCREENSHOTS=folder a test
 * that fails writes a screenshot there.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { afterAllFiles } from '../runner/after-all-files.ts'
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { sharedTestServer, type TestServer, type TestServerSettings } from '../server/test-server.ts'
import { chromiumPath, launchChromium } from './chromium.ts'
import { readSetUpToken } from './console-session.ts'
import { ensureConsoleBuilt } from './console-build.ts'

/** Why browser tests are skipped on this machine; false if they run. */
export const browserSkipReason: string | false =
  chromiumPath === undefined ? 'Chromium is not installed (apt-get install chromium).' : false

/** A host name by which the browser reaches servers of this machine as on another one: not trusted, unlike localhost. */
export const remoteHost = 'relay.example'

/** For every wait of a test; long enough for a slow and busy machine. */
export const timeoutMs = 60_000

export interface BrowserOptions {
  readonly width?: number
  readonly scheme?: 'light' | 'dark'
  readonly language?: 'en' | 'zh-CN'
  readonly timeZone?: string
}

export interface BrowserSession {
  readonly context: BrowserContext
  readonly page: Page
  /** Loads a page of the console and waits until it is ready. */
  readonly open: (path: string) => Promise<void>
  /** Like `open`, but navigates within the console as a link does, and waits for a dialog that the URL opens. */
  readonly navigate: (path: string) => Promise<void>
  /** Waits until the page has its heading and nothing on it is loading. */
  readonly waitUntilReady: () => Promise<void>
  /** Mouse clicks since the page was loaded. */
  readonly countClicks: () => Promise<number>
  /** Errors so far; a test that provokes one removes it. */
  readonly pageErrors: string[]
}

let running: Promise<Browser> | null = null
afterAllFiles(async () => (await running)?.close())

async function launchAndBuild(): Promise<Browser> {
  const resolverRule = `--host-resolver-rules=MAP ${remoteHost} 127.0.0.1`
  const [browser] = await Promise.all([launchChromium(timeoutMs, [resolverRule]), ensureConsoleBuilt()])
  return browser
}

/** One browser for all tests of a process, closed after the last one. */
function launchBrowser(): Promise<Browser> {
  running ??= launchAndBuild()
  return running
}

/** Starts one relay and the browser at once, for all tests of a file; returns what gives the relay to the tests. */
export async function sharedBrowserServer(settings?: TestServerSettings): Promise<() => TestServer> {
  if (browserSkipReason !== false) return () => assert.fail(browserSkipReason)
  const [server] = await Promise.all([sharedTestServer(settings), launchBrowser()])
  return () => server
}

/**
 * Counts real mouse clicks, not the clicks that a label forwards to its field or that Enter on a button causes. A click
 * whose target moves is blocked on the window and repeated by playwright; it does not reach the document.
 */
const countClicksScript = `
  window.clickCount = 0
  document.addEventListener('pointerdown', (event) => { if (event.isTrusted) window.clickCount += 1 }, true)`

/** Resolves when the page shows its content and has no pending request in two checks in a row. */
async function waitUntilIdle(page: Page, pending: ReadonlySet<Request>): Promise<void> {
  for (let idleChecks = 0; idleChecks < 2; idleChecks += 1) {
    await page.locator('h1').first().waitFor({ state: 'attached' })
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    // A response is rendered within two frames; the second check sees requests that the rendering starts.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    if (pending.size > 0) idleChecks = -1
  }
}

/** The query parameters that open a dialog. */
const opensDialog =
  /[?&](add|answer|ask|bulk|compare|confirm|edit|invite|issue|rate|refund|refuse|reverse|rotate|seed|test)=/

/** Opens a browser with the console at this URL. */
export async function openBrowser(
  t: TestContext,
  url: string,
  options: BrowserOptions = {},
): Promise<BrowserSession> {
  const { width = 1440, scheme = 'light', language = 'en', timeZone = 'Asia/Shanghai' } = options
  const context = await (
    await launchBrowser()
  ).newContext({
    baseURL: url,
    viewport: { width, height: 900 },
    colorScheme: scheme,
    locale: language,
    timezoneId: timeZone,
    permissions: ['clipboard-read', 'clipboard-write'],
    // No animations, so that nothing is checked or clicked while it moves.
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(timeoutMs)
  await context.addInitScript(countClicksScript)
  const page = await context.newPage()
  const pending = new Set<Request>()
  page.on('request', (request) => pending.add(request))
  page.on('requestfinished', (request) => pending.delete(request))
  page.on('requestfailed', (request) => pending.delete(request))
  const pageErrors: string[] = []
  page.on('pageerror', (error) => pageErrors.push(error.message))
  page.on('console', (message) => {
    const text = message.text()
    // The test checks how the page handles a 4xx response.
    const isClientError = /Failed to load resource: the server responded with a status of 4/.test(text)
    // A dedicated server is closed before the page, which may still poll it.
    const isServerClosed = /net::ERR_CONNECTION_REFUSED/.test(text)
    if (message.type() === 'error' && !isClientError && !isServerClosed) pageErrors.push(text)
  })
  t.after(async () => {
    const folder = process.env['SCREENSHOTS']
    if (t.error !== null && folder !== undefined) {
      const name = t.name.replaceAll(/\W+/g, '-').slice(0, 60)
      await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
    }
    await context.close()
    assert.deepEqual(pageErrors, [], 'the page reported errors')
  })
  const waitUntilReady = (): Promise<void> => waitUntilIdle(page, pending)
  const open = async (path: string): Promise<void> => {
    // A URL that differs only in its fragment would not reload the page.
    if (path.includes('#')) await page.goto('about:blank')
    await page.goto(`/console${path}`)
    await waitUntilReady()
  }
  const navigate = async (path: string): Promise<void> => {
    const dialog = page.getByRole('dialog')
    if ((await dialog.count()) > 0) {
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    await page.evaluate(`window.__TSR_ROUTER__.navigate({ href: ${JSON.stringify(path)} })`)
    if (opensDialog.test(path)) await dialog.waitFor()
    await waitUntilReady()
  }
  const countClicks = (): Promise<number> => page.evaluate<number>('window.clickCount')
  return { context, page, open, navigate, waitUntilReady, countClicks, pageErrors }
}

/** The same user in another browser: signed in, with its own language and theme. */
export async function openSecondBrowser(
  t: TestContext,
  { page, context }: BrowserSession,
): Promise<BrowserSession> {
  const second = await openBrowser(t, new URL(page.url()).origin)
  await second.context.addCookies(await context.cookies())
  await second.open('/')
  return second
}

export const operatorPassword = 'a gate holds the water back'

/** Creates the first operator with the printed link and signs in. */
export async function setUpOperator(
  { page, open }: BrowserSession,
  server: { readonly dataDir: string },
): Promise<void> {
  await open(`/set-up#${readSetUpToken(server)}`)
  await page.getByLabel('E-mail').fill('operator@example.com')
  await page.getByRole('textbox', { name: 'Password' }).fill(operatorPassword)
  await page.getByRole('button', { name: 'Create operator' }).click()
  await waitUntilSignedIn(page)
}

/** Waits until the user is signed in and the first page is shown. */
export async function waitUntilSignedIn(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Main menu' }).waitFor()
  await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
}
