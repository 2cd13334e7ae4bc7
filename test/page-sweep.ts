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

async function cutTextsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => { ${cutTexts}; return cutTexts() })()`)) as string[]
}

/** What is wrong with one page at a desk and on a phone, in both languages and themes; axe looks at each once. */
export async function faultsOf({ page, open }: Visitor, path: string): Promise<string[]> {
  const faults: string[] = []
  const look = async (name: string): Promise<void> => {
    faults.push(...(await cutTextsOf(page)).map((text) => `${path} ${name} cut: ${text}`))
  }
  const lookCloser = async (name: string): Promise<void> => {
    faults.push(...(await findingsOf(page)).map((text) => `${path} ${name} axe: ${text}`))
  }
  const views = [
    { scheme: 'light', language: 'en', widths: [1440, 390] },
    { scheme: 'dark', language: 'zh-CN', widths: [390, 1440] },
  ] as const
  for (const { scheme, language, widths } of views) {
    await page.evaluate(
      `localStorage.setItem('sluice.scheme', '${scheme}'); localStorage.setItem('sluice.language', '${language}')`,
    )
    await page.setViewportSize({ width: widths[0], height: 900 })
    await open(path)
    const heading = await page.getByRole('heading', { level: 1 }).count()
    if (heading !== 1) faults.push(`${path} ${language}: ${heading} main headings`)
    await lookCloser(`${language} ${scheme} ${widths[0]}`)
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await look(`${language} ${width}`)
    }
  }
  return faults
}
