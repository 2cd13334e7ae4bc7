/**
 * Checks a page of the console: serious violations that axe finds, and clipped texts. With PICTURES=folder each view of
 * each page is saved there as a screenshot.
 */
import { readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { openSecondBrowser, type BrowserSession } from './browser.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** Rules that axe checks only on request, or does not count as serious. */
const additionalRules = ['target-size', 'heading-order', 'landmark-no-duplicate-banner']
const axeOptions = {
  resultTypes: ['violations'],
  preload: false,
  selectors: false,
  rules: Object.fromEntries(additionalRules.map((rule) => [rule, { enabled: true }])),
}

/** Serious and critical violations, and those of the additional rules, each with the first element concerned. */
export async function findAxeViolations(page: Page): Promise<string[]> {
  // The content security policy blocks scripts but does not apply to the debugger.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(axeOptions)})`,
  )) as AxeResult
  return violations
    .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || additionalRules.includes(id))
    .map(
      ({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]?.html ?? ''} ${nodes[0]?.failureSummary ?? ''}`,
    )
}

/** A script of the console folder, as the body of a function. */
function readScript(name: string): string {
  const source = readFileSync(new URL(`../../../console/${name}`, import.meta.url), 'utf8')
  return stripTypeScriptTypes(source).replace('export ', '')
}

const clippedTextScript = readScript('clipped-text.fixture.ts')
const englishTextScript = readScript('english-text.fixture.ts')

/** Texts of the current view that are clipped. */
export async function findClippedTexts(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => { ${clippedTextScript}; return clippedTexts() })()`)) as string[]
}

/** The gaps of the current view: rows of tiles, charts or columns that do not fill their box, and content off-centre. */
const gapsScript = `(() => {
  const gaps = []
  for (const box of document.querySelectorAll('.tiles, .charts, .columns')) {
    const { left, right, width } = box.getBoundingClientRect()
    if (width === 0) continue
    const rows = Map.groupBy([...box.children].map((item) => item.getBoundingClientRect()), ({ top }) => Math.round(top))
    for (const items of rows.values()) {
      const free = Math.max(Math.min(...items.map((item) => item.left)) - left, right - Math.max(...items.map((item) => item.right)))
      if (free > 2) gaps.push(\`\${Math.round(free)} px are empty in a row of .\${box.className}\`)
    }
  }
  const page = document.querySelector('main > .page')?.getBoundingClientRect()
  const main = document.querySelector('main')?.getBoundingClientRect()
  if (page && Math.abs(page.left - main.left - (main.right - page.right)) > 2) gaps.push('the page is not centred')
  if (page && main.width > 1500 && Math.abs(page.width - 1440) > 2) gaps.push(\`the page is \${page.width} px wide\`)
  return gaps
})()`

/** Not translated. */
const englishNames = [
  'Google Vertex AI',
  // Fields and settings of apps in the guide.
  'Override OpenAI Base URL',
  'provider: openai, apiBase',
  // The message of a provider.
  'The scripted upstream returns',
]

/** English texts of the current Chinese view, apart from names. */
export async function findEnglishTexts(page: Page): Promise<string[]> {
  const allowed = JSON.stringify(englishNames)
  return (await page.evaluate(
    `(() => { ${englishTextScript}; return englishTexts(${allowed}) })()`,
  )) as string[]
}

export interface View {
  readonly scheme: 'light' | 'dark'
  readonly language: 'en' | 'zh-CN'
  readonly width: number
}

/** Changes a setting as if another tab had changed it. */
function storageChangeScript(name: string, value: string): string {
  return `localStorage.setItem('${name}', '${value}')
    window.dispatchEvent(new StorageEvent('storage', { key: '${name}', newValue: '${value}' }))`
}

/** Sets the view of the current page and of pages opened later. */
export async function setView(
  { page, waitUntilReady }: BrowserSession,
  { scheme, language, width }: View,
): Promise<void> {
  await page.evaluate(storageChangeScript('sluice.scheme', scheme))
  await page.evaluate(storageChangeScript('sluice.language', language))
  await page.setViewportSize({ width, height: 900 })
  await page.locator(`html[lang="${language}"][data-mantine-color-scheme="${scheme}"]`).waitFor()
  await waitUntilReady()
}

/** The problems of the current view; each starts with the name. */
export async function checkCurrentView(page: Page, name: string): Promise<string[]> {
  const headings = await page.getByRole('heading', { level: 1 }).count()
  return [
    ...(headings === 1 ? [] : [`${name}: ${headings} main headings`]),
    ...(await findAxeViolations(page)).map((text) => `${name} axe: ${text}`),
    ...(await findClippedTexts(page)).map((text) => `${name} clipped: ${text}`),
  ]
}

async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env['PICTURES']
  if (folder === undefined) return
  const file = `${name.replaceAll(/[^\w-]+/g, '-').replace(/^-/, '')}.png`
  await page.screenshot({ path: `${folder}/${file}`, fullPage: true })
}

/** The problems of the current page on desktop and phone, in both languages and themes; axe runs once for each language. */
export async function checkAllViews(browser: BrowserSession, path: string): Promise<string[]> {
  const problems: string[] = []
  const views = [
    { scheme: 'light', language: 'en', width: 1440, other: 390 },
    { scheme: 'dark', language: 'zh-CN', width: 390, other: 1440 },
  ] as const
  for (const { other, ...view } of views) {
    const name = `${path} ${view.language} ${view.scheme}`
    await setView(browser, view)
    problems.push(...(await checkCurrentView(browser.page, `${name} ${view.width}`)))
    await saveScreenshot(browser.page, `${name} ${view.width}`)
    await browser.page.setViewportSize({ width: other, height: 900 })
    problems.push(
      ...(await findClippedTexts(browser.page)).map((text) => `${name} ${other} clipped: ${text}`),
    )
    await saveScreenshot(browser.page, `${name} ${other}`)
  }
  return problems
}

/** From a phone to a large screen; 720 px is a laptop's 1440 px at a zoom of 200%. */
const widths = [390, 700, 720, 834, 1024, 1280, 1440, 1920] as const

/** The clipped texts and the gaps of these pages at all widths, in both languages. */
export async function checkWidths(browser: BrowserSession, paths: readonly string[]): Promise<string[]> {
  const problems: string[] = []
  for (const path of paths) {
    await browser.navigate(path)
    for (const language of ['en', 'zh-CN'] as const) {
      await setView(browser, { scheme: 'light', language, width: widths[0] })
      for (const width of widths) {
        await browser.page.setViewportSize({ width, height: 900 })
        const gaps = await browser.page.evaluate<string[]>(gapsScript)
        const texts = [...(await findClippedTexts(browser.page)), ...gaps]
        problems.push(...texts.map((text) => `${path} ${language} ${width}: ${text}`))
        if (language === 'en' || width === 390) await saveScreenshot(browser.page, `${path} ${width}`)
      }
    }
  }
  return problems
}

/** The problems of one page, opened by its path. */
export async function checkPage(browser: BrowserSession, path: string): Promise<string[]> {
  await browser.open(path)
  return checkAllViews(browser, path)
}

/** The problems of several pages, visited one after the other. */
async function checkPages(browser: BrowserSession, paths: readonly string[]): Promise<string[]> {
  const problems: string[] = []
  for (const path of paths) {
    await browser.navigate(path)
    problems.push(...(await checkAllViews(browser, path)))
  }
  return problems
}

/** Runs a check of pages for one half of them in each of two browsers of the same user. */
export async function inTwoBrowsers(
  t: TestContext,
  browser: BrowserSession,
  pages: readonly string[],
  check: (browser: BrowserSession, pages: readonly string[]) => Promise<string[]> = checkPages,
): Promise<string[]> {
  const second = await openSecondBrowser(t, browser)
  const half = Math.ceil(pages.length / 2)
  const problems = await Promise.all([check(browser, pages.slice(0, half)), check(second, pages.slice(half))])
  return problems.flat()
}
