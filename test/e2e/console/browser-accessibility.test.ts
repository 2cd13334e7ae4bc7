// @backend sqlite – the console is the same on both
// @suite all – runs a browser
/** What axe does not count as serious, or checks only on request: targets, headings and landmarks of the console. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  browserSkipReason,
  openBrowser,
  setUpOperator,
  sharedBrowserServer,
} from '../../support/console/browser.ts'
import { confirmKeySaved, createKey, goToPage, signUp } from '../../support/console/console-steps.ts'

const skip = { skip: browserSkipReason }
const server = await sharedBrowserServer()
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = ['target-size', 'heading-order', 'landmark-no-duplicate-banner']

/** The elements of the current page that break a rule. */
async function findViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe)
  const options = { runOnly: rules, resultTypes: ['violations'], preload: false }
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: { id: string; nodes: { html: string }[] }[]
  }
  return violations.map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]?.html ?? ''}`)
}

describe('Accessibility in a browser', () => {
  test('Links, headings and dialogs – can be hit, are in order, and add no landmark', skip, async (t) => {
    assert.ok(server)
    const account = await server.account({ balance: '1' })
    for (const name of ['second', 'third']) await account.newKey({ name })
    const customer = await openBrowser(t, server.url)
    await signUp(customer, 'hitting@example.com')
    await goToPage(customer.page, 'API keys')
    for (const name of ['one', 'two']) {
      await createKey(customer.page, name)
      await confirmKeySaved(customer.page)
    }
    const operator = await openBrowser(t, server.url)
    await setUpOperator(operator, server)
    const pages = [
      [customer, ['/keys', '/keys?add=yes', '/notices', '/billing']],
      [
        operator,
        [
          '/operator/keys',
          `/operator/accounts/${account.id}`,
          '/operator/people',
          '/operator/people?invite=yes',
          '/operator/ledger',
          '/operator/incidents?add=yes',
        ],
      ],
    ] as const
    const problems: string[] = []
    for (const [browser, paths] of pages) {
      for (const path of paths) {
        await browser.navigate(path)
        for (const width of [1440, 1024, 700, 390]) {
          await browser.page.setViewportSize({ width, height: 900 })
          const found = await findViolations(browser.page)
          problems.push(...found.map((text) => `${path} ${width}: ${text}`))
        }
      }
    }
    assert.deepEqual(problems, [])
  })
})
