/** Reads the numbers that a page of the console shows, and finds those without a definition. */
import type { Locator, Page } from 'playwright-core'
import { findFigure } from './console-steps.ts'

/** A number on a page: where it stands, what it should be, and how to read it. */
export interface ShownNumber<Name extends string> {
  readonly place: string
  readonly name: Name
  /** The texts that add up to the number. */
  readonly read: (page: Page) => Promise<string[]>
  /** The element that names the number, and has its definition. */
  readonly label?: (page: Page) => Locator
}

export interface NumbersOfPage<Name extends string> {
  readonly path: string
  readonly numbers: readonly ShownNumber<Name>[]
}

/** `¥1,234.50` → 1234.5; `3 failed` → 3; `87.5%` → 87.5. */
function parseNumber(text: string): number {
  const digits = /−?[\d,]*\.?\d+/.exec(text)?.[0]
  return digits === undefined ? Number.NaN : Number(digits.replaceAll(',', '').replace('−', '-'))
}

/** Sums decimals of money without binary noise. */
function sumTexts(texts: readonly string[]): number {
  const nanos = texts.map((text) => Math.round(parseNumber(text) * 1e9))
  return nanos.reduce((sum, each) => sum + each, 0) / 1e9
}

export function tile<Name extends string>(title: string, name: Name): ShownNumber<Name> {
  return {
    place: `tile ${title}`,
    name,
    read: (page) => findFigure(page, title).locator('dd strong').allTextContents(),
    label: (page) => findFigure(page, title).locator('dt'),
  }
}

/** The small text below the value of a tile. */
export function tileNote<Name extends string>(title: string, name: Name): ShownNumber<Name> {
  return {
    place: `note of tile ${title}`,
    name,
    read: (page) => findFigure(page, title).locator('dd > small').allTextContents(),
  }
}

/** The total above a chart. */
export function chart<Name extends string>(title: string, name: Name): ShownNumber<Name> {
  const find = (page: Page): Locator => page.getByRole('figure', { name: title, exact: true })
  return {
    place: `chart ${title}`,
    name,
    read: (page) => find(page).locator('figcaption .num').allTextContents(),
    label: (page) => find(page).locator('figcaption'),
  }
}

/** The sum of a table's column; with `row`, one cell of it. */
export function column<Name extends string>(
  [table, header]: readonly [string, string],
  name: Name,
  row?: string,
): ShownNumber<Name> {
  // Not by role: the table below the picture of the traffic flow is hidden on a wide screen.
  const find = (page: Page): Locator => page.locator(`table[aria-label="${table}"]`)
  const rows = (page: Page): Locator => {
    const all = find(page).locator('tbody tr')
    return row === undefined ? all : all.filter({ has: page.locator('td').getByText(row, { exact: true }) })
  }
  return {
    place: `column ${header} of ${table}${row === undefined ? '' : `, ${row}`}`,
    name,
    read: (page) => rows(page).locator(`td[data-label="${header}"]`).allTextContents(),
    label: (page) => find(page).locator('th').filter({ hasText: header }),
  }
}

/** The first number of a sentence. */
export function sentence<Name extends string>(pattern: RegExp, name: Name): ShownNumber<Name> {
  return { place: String(pattern), name, read: (page) => page.getByText(pattern).allTextContents() }
}

/** A number whose name says all. */
export function withoutDefinition<Name extends string>({
  place,
  name,
  read,
}: ShownNumber<Name>): ShownNumber<Name> {
  return { place, name, read }
}

/** The numbers of the current page that differ from the expected ones or have no definition. */
export async function findWrongNumbers<Name extends string>(
  page: Page,
  { path, numbers }: NumbersOfPage<Name>,
  expected: Readonly<Record<Name, number>>,
): Promise<string[]> {
  const problems: string[] = []
  for (const { place, name, read, label } of numbers) {
    const texts = await read(page)
    const value = texts.length === 0 ? Number.NaN : sumTexts(texts)
    if (value !== expected[name])
      problems.push(`${path}, ${place}: ${value} (${texts.join(' | ')}), but ${name} is ${expected[name]}`)
    if (label === undefined) continue
    const [definition = ''] = await label(page)
      .locator('.definition[aria-describedby] + [hidden]')
      .allTextContents()
    if (definition.length < 15) problems.push(`${path}, ${place}: no definition`)
  }
  return problems
}
