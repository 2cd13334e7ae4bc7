/**
 * A browser for stories about the console: Debian's chromium, driven by playwright-core. Each story has a context of its
 * own, and whatever the page complains about (its console, the content policy, an exception) fails the story. With
 * SCREENSHOTS=folder a story that fails leaves a picture there.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, type TestContext } from 'node:test'
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core'
import { freshConsole } from './console-build.ts'

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)

/** Why browser stories are left out on this machine; false where they run. */
export const withoutBrowser: string | false =
  program === undefined ? 'Chromium is not installed (apt-get install chromium).' : false

/** For whatever a story waits for: what it waits for comes, also where the machine is slow and busy. */
export const patienceMs = 60_000

export interface Look {
  readonly width?: number
  readonly scheme?: 'light' | 'dark'
  readonly language?: 'en' | 'zh-CN'
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** Goes to a page of the console and waits until it stands there. */
  readonly open: (path: string) => Promise<void>
  /** As `open`, without loading the console anew, as a link would lead there; of a page with a dialogue, the dialogue stands. */
  readonly go: (path: string) => Promise<void>
  /** Waits until the page stands there: it has its heading, nothing on it loads, and nothing more is asked for. */
  readonly stands: () => Promise<void>
  /** Presses of the mouse since the page was opened by its address. */
  readonly clicks: () => Promise<number>
  /** Complaints so far; a story that provokes one takes it out. */
  readonly complaints: string[]
}

let running: Promise<Browser> | null = null
after(async () => (await running)?.close())

/** One browser for all stories of a file, closed after the last. */
function browser(): Promise<Browser> {
  running ??= freshConsole().then(() =>
    chromium.launch({
      executablePath: program ?? '',
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
      timeout: patienceMs,
    }),
  )
  return running
}

/** Counts what a person's hand does; a label that passes its click on to its field, or Enter on a button, is no press. */
const countPresses = `
  window.presses = 0
  window.addEventListener('pointerdown', (event) => { if (event.isTrusted) window.presses += 1 }, true)`

/** Resolves when the page has what it shows, and no question of it is under way, at two looks in a row. */
async function untilItStands(page: Page, asked: ReadonlySet<Request>): Promise<void> {
  for (let looks = 0; looks < 2; looks += 1) {
    await page.locator('h1').first().waitFor({ state: 'attached' })
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    // What was just answered is on the screen after a frame; what it asks for then is seen at the second look.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))')
    if (asked.size > 0) looks = -1
  }
}

/** What of an address opens a dialogue over its page. */
const namesDialog = /[?&](add|answer|ask|bulk|edit|invite|refund|rotate|seed|test)=/

/** Somebody in front of the console at this address. */
export async function visitor(t: TestContext, url: string, look: Look = {}): Promise<Visitor> {
  const { width = 1440, scheme = 'light', language = 'en' } = look
  const context = await (
    await browser()
  ).newContext({
    baseURL: url,
    viewport: { width, height: 900 },
    colorScheme: scheme,
    locale: language,
    timezoneId: 'Asia/Shanghai',
    permissions: ['clipboard-read', 'clipboard-write'],
    // Nothing moves, so that nothing is looked at or pressed while it is half there.
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(patienceMs)
  await context.addInitScript(countPresses)
  const page = await context.newPage()
  const asked = new Set<Request>()
  page.on('request', (request) => asked.add(request))
  page.on('requestfinished', (request) => asked.delete(request))
  page.on('requestfailed', (request) => asked.delete(request))
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const text = message.text()
    // A refusal is an answer; the story sees what the page makes of it.
    const isRefusal = /Failed to load resource: the server responded with a status of 4/.test(text)
    if (message.type() === 'error' && !isRefusal) complaints.push(text)
  })
  t.after(async () => {
    const folder = process.env['SCREENSHOTS']
    if (t.error !== null && folder !== undefined) {
      const name = t.name.replaceAll(/\W+/g, '-').slice(0, 60)
      await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
    }
    await context.close()
    assert.deepEqual(complaints, [], 'the page complained')
  })
  const stands = (): Promise<void> => untilItStands(page, asked)
  const open = async (path: string): Promise<void> => {
    // A link that differs behind `#` alone would not load the page anew.
    if (path.includes('#')) await page.goto('about:blank')
    await page.goto(`/console${path}`)
    await stands()
  }
  const go = async (path: string): Promise<void> => {
    const dialog = page.getByRole('dialog')
    if ((await dialog.count()) > 0) {
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    await page.evaluate(`window.__TSR_ROUTER__.navigate({ href: ${JSON.stringify(path)} })`)
    if (namesDialog.test(path)) await dialog.waitFor()
    await stands()
  }
  const clicks = (): Promise<number> => page.evaluate<number>('window.presses')
  return { context, page, open, go, stands, clicks, complaints }
}

/** The same person at another machine: signed in, with a language and a theme of its own. */
export async function twinOf(t: TestContext, { page, context }: Visitor): Promise<Visitor> {
  const twin = await visitor(t, new URL(page.url()).origin)
  await twin.context.addCookies(await context.cookies())
  await twin.open('/')
  return twin
}

/** The token of the link that the start prints for whoever runs the relay. */
export function setUpPath(log: readonly string[]): string {
  const line = log.find((each) => each.includes('/console/set-up#'))
  assert.ok(line, 'the start prints a link to set the relay up')
  return line.slice(line.indexOf('/set-up#')).trim()
}

export const operatorsPassword = 'a gate holds the water back'

/** Makes the first operator by the printed link and signs in as it. */
export async function becomeOperator({ page, open }: Visitor, log: readonly string[]): Promise<void> {
  await open(setUpPath(log))
  await page.getByLabel('E-mail').fill('operator@example.com')
  await page.getByRole('textbox', { name: 'Password' }).fill(operatorsPassword)
  await page.getByRole('button', { name: 'Create the operator' }).click()
  await isIn(page)
}

/** Signed in, and the first page stands there. */
export async function isIn(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
}
