// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Costs of routes: what is unknown is shown as such, and an entered cost shows margins. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { findDialog, openAsOperator } from '../../support/console/console-steps.ts'
import { checkPage, setView } from '../../support/console/page-checks.ts'
import { chatRequest } from '../../support/server/account.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const testServer = await sharedBrowserServer()

describe('Costs of routes in a browser', () => {
  test(
    'Model – asks for the cost of its route, then shows the margin',
    { skip: browserSkipReason },
    async (t) => {
      const server = testServer()
      const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }), {
        name: 'serves-two',
        prices: { input: '0.0007', output: '0.0007' },
      })
      await server.model('large', { upstreams: [upstream] })
      await server.model('small', { upstreams: [upstream] })
      const account = await server.account({ balance: '1' })
      await (await account.post(chatRequest('small'))).text()
      const browser = await openAsOperator(t, server)
      const { page, open } = browser
      await open('/operator/dashboard')
      const attention = page.getByRole('list', { name: 'Needs attention' }).getByRole('listitem')
      const entry = attention.filter({ hasText: 'serves-two' })
      await entry.getByRole('link', { name: 'large' }).waitFor()
      const why = 'Unknown: 1 request has no known cost. Enter the cost of the model’s routes.'
      await page.getByRole('row', { name: 'small' }).getByRole('img', { name: why }).first().waitFor()
      const problems = await checkPage(browser, '/operator/dashboard')
      await setView(browser, { scheme: 'light', language: 'en', width: 1440 })
      await entry.getByRole('link', { name: 'small' }).click()

      const dialog = findDialog(page)
      await dialog.getByText('Your cost, input / output: Upstream’s').click()
      const cost = dialog.getByRole('group', { name: 'Your cost' })
      await cost.getByLabel('Input').first().fill('0.0001')
      await cost.getByLabel('Output').first().fill('0.0002')
      await cost.getByLabel('Currency').fill('USD')
      await cost.getByLabel('Exchange rate').fill('7')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'hidden' })
      const route = page.getByRole('row', { name: 'serves-two' })
      await route.and(page.getByText(/¥0\.0007 \/ ¥0\.0014\s*¥0\.0013 \/ ¥0\.0006/)).waitFor()
      const readRoute = async () => {
        const { routes } = await server.admin<{ routes: { weight: number; cost: object }[] }>(
          'GET',
          '/models/small',
        )
        return routes[0]
      }
      const before = await readRoute()
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog.getByLabel('Weight').fill('5')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'hidden' })
      assert.deepEqual(await readRoute(), { ...before, weight: 5 })

      await page.getByRole('button', { name: 'Change price' }).click()
      await dialog.getByText(/^Margin via serves-two, input \/ output: ¥0\.0013 \/ ¥0\.0006$/).waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      problems.push(...(await checkPage(browser, '/operator/models/small?edit=model')))
      assert.deepEqual(problems, [])
    },
  )
})
