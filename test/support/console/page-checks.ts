/**
 * Looks at a page of the console as it stands: what axe finds serious, and what of its text cannot be read whole. With
 * PICTURES=folder each view of each page is left there as a picture, for whoever looks at them.
 */
import { readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import type { Page } from 'playwright-core'
import type { Visitor } from './browser.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** Serious and critical findings, each with the first element that has it. */
async function findingsOf(page: Page): Promise<string[]> {
  // The page's policy lets no script in; the debugger is not bound by it.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"], preload: false, selectors: false })',
  )) as AxeResult
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''} ${nodes[0]?.failureSummary ?? ''}`)
}

const cutTexts = stripTypeScriptTypes(
  readFileSync(new URL('../../../console/clipped-text.fixture.ts', import.meta.url), 'utf8'),
).replace('export ', '')

/** Texts of the page as it stands that cannot be read whole. */
export async function cutTextsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => { ${cutTexts}; return cutTexts() })()`)) as string[]
}

export interface View {
  readonly scheme: 'light' | 'dark'
  readonly language: 'en' | 'zh-CN'
  readonly width: number
}

/** As if it were chosen in another tab, which tells this one. */
function chosenElsewhere(name: string, value: string): string {
  return `localStorage.setItem('${name}', '${value}')
    window.dispatchEvent(new StorageEvent('storage', { key: '${name}', newValue: '${value}' }))`
}

/** The page that stands there is shown so, and those that are opened later. */
export async function setView({ page, stands }: Visitor, { scheme, language, width }: View): Promise<void> {
  await page.evaluate(chosenElsewhere('sluice.scheme', scheme))
  await page.evaluate(chosenElsewhere('sluice.language', language))
  await page.setViewportSize({ width, height: 900 })
  await page.locator(`html[lang="${language}"][data-mantine-color-scheme="${scheme}"]`).waitFor()
  await stands()
}

/** What is wrong with a page as it stands there; what it is called comes first in each fault. */
export async function faultsHere(page: Page, name: string): Promise<string[]> {
  const headings = await page.getByRole('heading', { level: 1 }).count()
  return [
    ...(headings === 1 ? [] : [`${name}: ${headings} main headings`]),
    ...(await findingsOf(page)).map((text) => `${name} axe: ${text}`),
    ...(await cutTextsOf(page)).map((text) => `${name} cut: ${text}`),
  ]
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PICTURES']
  if (folder === undefined) return
  const file = `${name.replaceAll(/[^\w-]+/g, '-').replace(/^-/, '')}.png`
  await page.screenshot({ path: `${folder}/${file}`, fullPage: true })
}

/** What is wrong with the page that stands there, at a desk and on a phone, in both languages and themes; axe looks at each once. */
export async function faultsSeen(me: Visitor, path: string): Promise<string[]> {
  const faults: string[] = []
  const views = [
    { scheme: 'light', language: 'en', width: 1440, other: 390 },
    { scheme: 'dark', language: 'zh-CN', width: 390, other: 1440 },
  ] as const
  for (const { other, ...view } of views) {
    const name = `${path} ${view.language} ${view.scheme}`
    await setView(me, view)
    faults.push(...(await faultsHere(me.page, `${name} ${view.width}`)))
    await picture(me.page, `${name} ${view.width}`)
    await me.page.setViewportSize({ width: other, height: 900 })
    faults.push(...(await cutTextsOf(me.page)).map((text) => `${name} ${other} cut: ${text}`))
    await picture(me.page, `${name} ${other}`)
  }
  return faults
}

/** What is wrong with one page, opened by its address. */
export async function faultsOf(me: Visitor, path: string): Promise<string[]> {
  await me.open(path)
  return faultsSeen(me, path)
}

/** What is wrong with pages that are gone through one after the other. */
export async function faultsAlong(me: Visitor, paths: readonly string[]): Promise<string[]> {
  const faults: string[] = []
  for (const path of paths) {
    await me.go(path)
    faults.push(...(await faultsSeen(me, path)))
  }
  return faults
}
