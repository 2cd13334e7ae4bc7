// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** What axe does not count as serious, or checks only on request: targets, headings and landmarks of the console. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import { findAxeViolations } from '../../support/console/page-checks.ts'
import {
  confirmKeySaved,
  createKey,
  goToPage,
  openAsOperator,
  signUp,
} from '../../support/console/console-steps.ts'

const skip = { skip: browserSkipReason }
const testServer = await sharedBrowserServer()

/** Two links that are too small and too close to each other. */
const smallLinksScript = `document.querySelector('main').insertAdjacentHTML('beforeend',
  '<p id="small-links"><a href="#one">one</a><br><a href="#two">two</a></p>')
  document.querySelector('#small-links').style = 'font-size: 10px; line-height: 10px'`

describe('Accessibility in a browser', () => {
  test('Links, headings and dialogs – can be hit, are in order, and add no landmark', skip, async (t) => {
    const server = testServer()
    const account = await server.account({ balance: '1' })
    for (const name of ['second', 'third']) await account.newKey({ name })
    const customer = await openBrowser(t, server.url)
    await signUp(customer, 'hitting@example.com')
    await goToPage(customer.page, 'API keys')
    for (const name of ['one', 'two']) {
      await createKey(customer.page, name)
      await confirmKeySaved(customer.page)
    }
    const operator = await openAsOperator(t, server)
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
          const found = await findAxeViolations(browser.page)
          problems.push(...found.map((text) => `${path} ${width}: ${text}`))
        }
      }
    }
    assert.deepEqual(problems, [])
    await customer.page.evaluate(smallLinksScript)
    assert.match((await findAxeViolations(customer.page)).join(), /target-size \(2\)/)
  })
})
