/** Looks at a page of the console as it stands: what axe finds serious, and what of its text cannot be read whole. */
import { readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import type { Page } from 'playwright-core'
import type { Visitor } from './chromium.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** Serious and critical findings, each with the first element that has it. */
async function findingsOf(page: Page): Promise<string[]> {
  // The page's policy lets no script in; the debugger is not bound by it.
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] })',
  )) as AxeResult
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''} ${nodes[0]?.failureSummary ?? ''}`)
}

const cutTexts = stripTypeScriptTypes(
  readFileSync(new URL('../console/cut-texts.fixture.ts', import.meta.url), 'utf8'),
).replace('export ', '')

/** Texts of the page as it stands that cannot be read whole. */
export async function cutTextsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => { ${cutTexts}; return cutTexts() })()`)) as string[]
}

/** Before the next visit. */
export interface View {
  readonly scheme: 'light' | 'dark'
  readonly language: 'en' | 'zh-CN'
  readonly width: number
}

export async function setView(page: Page, { scheme, language, width }: View): Promise<void> {
  await page.evaluate(
    `localStorage.setItem('sluice.scheme', '${scheme}'); localStorage.setItem('sluice.language', '${language}')`,
  )
  await page.setViewportSize({ width, height: 900 })
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

/** What is wrong with one page at a desk and on a phone, in both languages and themes; axe looks at each once. */
export async function faultsOf({ page, open }: Visitor, path: string): Promise<string[]> {
  const faults: string[] = []
  const views = [
    { scheme: 'light', language: 'en', width: 1440, other: 390 },
    { scheme: 'dark', language: 'zh-CN', width: 390, other: 1440 },
  ] as const
  for (const { other, ...view } of views) {
    const name = `${path} ${view.language} ${view.scheme}`
    await setView(page, view)
    await open(path)
    faults.push(...(await faultsHere(page, `${name} ${view.width}`)))
    await page.setViewportSize({ width: other, height: 900 })
    faults.push(...(await cutTextsOf(page)).map((text) => `${name} ${other} cut: ${text}`))
  }
  return faults
}
