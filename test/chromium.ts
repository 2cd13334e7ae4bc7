/**
 * A browser for stories about the console: Debian's chromium, driven by playwright-core. Each story has a context of its
 * own, and whatever the page complains about (its console, the content policy, an exception) fails the story. With
 * SCREENSHOTS=folder a story that fails leaves a picture there.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, type TestContext } from 'node:test'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { freshConsole } from './console-build.ts'

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)

/** Why browser stories are left out on this machine; false where they run. */
export const withoutBrowser: string | false =
  program === undefined ? 'Chromium is not installed (apt-get install chromium).' : false

const patienceMs = 60_000

export interface Look {
  readonly width?: number
  readonly scheme?: 'light' | 'dark'
  readonly language?: 'en' | 'zh-CN'
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** Goes to a page of the console and waits until it has nothing more to ask for. */
  readonly open: (path: string) => Promise<void>
  /** Complaints so far; a story that provokes one takes it out. */
  readonly complaints: string[]
}

let running: Promise<Browser> | null = null
after(async () => (await running)?.close())

/** One browser for all stories of a file, closed after the last. */
function browser(): Promise<Browser> {
  running ??= freshConsole().then(() =>
    chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox', '--disable-dev-shm-usage'] }),
  )
  return running
}

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
  })
  context.setDefaultTimeout(patienceMs)
  const page = await context.newPage()
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
  const open = async (path: string): Promise<void> => {
    await page.goto(`/console${path}`)
    await page.waitForLoadState('networkidle')
  }
  return { context, page, open, complaints }
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
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}
