/**
 * The pictures of a request's bill in the READMEs: the demonstration answers one streamed request, and the operator's page
 * of it is photographed in both languages and colour schemes. docs/images/inputs.json has a hash of
 * what they depend on (bill-picture-inputs.ts).
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { startRelay } from '../server/relay-process.ts'
import { root } from '../source-files.ts'
import { billModel, billPicturePaths, hashBillInputs, inputsPath } from './bill-picture-inputs.ts'
import { launchChromium } from './chromium.ts'
import { ensureConsoleBuilt } from './console-build.ts'
import { setUpOperator, type ConsoleSession } from './console-session.ts'

const prompt = 'Hello!'
const timeoutMs = 60_000

/** Sends the request of the pictures; returns its id. */
async function sendRequest(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: billModel, stream: true, messages: [{ role: 'user', content: prompt }] }),
  })
  assert.match(await response.text(), /data: \[DONE\]\s*$/)
  return response.headers.get('x-request-id') ?? ''
}

async function takePicture(browser: Browser, session: ConsoleSession, requestId: string, path: string) {
  const [, language, scheme] = /bill\.(.+)\.(light|dark)/.exec(path) ?? []
  const context = await browser.newContext({
    baseURL: session.url,
    viewport: { width: 1100, height: 1200 },
    deviceScaleFactor: 2,
    colorScheme: scheme === 'dark' ? 'dark' : 'light',
    locale: language === 'en' ? 'en' : 'zh-CN',
    timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
  })
  await context.addCookies([...session.cookies].map(([name, value]) => ({ name, value, url: session.url })))
  const page = await context.newPage()
  await page.goto(`/console/operator/requests/${requestId}`)
  await page.locator('table.bill').waitFor()
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready')
  const main = await page.getByRole('main').boundingBox()
  const lastTiles = await page.locator('main .tiles').last().boundingBox()
  assert.ok(main && lastTiles)
  const height = lastTiles.y + lastTiles.height + 16 - main.y
  const devTools = await context.newCDPSession(page)
  const clip = { x: main.x, y: main.y, width: main.width, height, scale: 1 }
  const { data } = await devTools.send('Page.captureScreenshot', { format: 'webp', quality: 80, clip })
  writeFileSync(join(root, path), data, 'base64')
  await context.close()
}

/** Writes the pictures and the hash of their inputs. Needs chromium and a Chinese font. */
export async function writeBillPictures(): Promise<void> {
  const fonts = execFileSync('fc-list', [':lang=zh-cn'], { encoding: 'utf8' })
  assert.notEqual(fonts, '', 'No Chinese font is installed (apt-get install fonts-noto-cjk).')
  await ensureConsoleBuilt()
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-pictures-'))
  const relay = await startRelay({ dataDir, env: { DEMO: '1' } })
  const browser = await launchChromium(timeoutMs)
  try {
    const key = /Bearer (sk-slu-\w+)/.exec(relay.lines.join('\n'))?.[1]
    assert.ok(key, 'the demonstration printed no key')
    const requestId = await sendRequest(relay.url, key)
    const session = await setUpOperator(relay, 'operator@sluice.example')
    mkdirSync(join(root, 'docs/images'), { recursive: true })
    for (const path of billPicturePaths) await takePicture(browser, session, requestId, path)
    writeFileSync(join(root, inputsPath), `${JSON.stringify({ bill: hashBillInputs() }, null, 2)}\n`)
  } finally {
    await browser.close()
    await relay.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
