// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Routes whose circuit is open, in the list of upstreams and on the pages of models. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { openAsOperator } from '../../support/console/console-steps.ts'
import { chatRequest } from '../../support/server/account.ts'
import { respondWith, respondWithError } from '../../support/upstream/scripted-responses.ts'

const testServer = await sharedBrowserServer()

describe('Resting routes in a browser', () => {
  test(
    'Upstream with two resting models of three – names both, and only their routes are paused',
    { skip: browserSkipReason },
    async (t) => {
      const upstream = await testServer().upstream((exchange) => {
        const isWorking = exchange.request.json['model'] === 'their-working'
        return (isWorking ? respondWith('Hello!') : respondWithError(503))(exchange)
      })
      for (const model of ['working', 'first', 'second']) {
        const routes = [{ upstream: upstream.name, model: `their-${model}`, priority: 1 }]
        await testServer().model(model, { upstreams: [], routes })
      }
      const account = await testServer().account({ balance: '1' })
      const models = ['working', ...Array.from({ length: 8 }, () => ['first', 'second']).flat(), 'working']
      for (const model of models) await (await account.post(chatRequest(model))).text()

      const { page, open } = await openAsOperator(t, testServer())
      await open('/operator/upstreams')
      const row = page.getByRole('row').filter({ hasText: upstream.name })
      await row.locator('.status.warning').getByText('2 of 3 models failing').waitFor()
      await row.getByText('their-first', { exact: true }).waitFor()
      await row.getByText('their-second', { exact: true }).waitFor()
      assert.equal(await row.getByText('their-working').count(), 0)

      for (const [model, status] of [
        ['first', 'Paused after failures'],
        ['second', 'Paused after failures'],
        ['working', 'Active'],
      ] as const) {
        await open(`/operator/models/${model}`)
        const route = page.getByRole('table', { name: 'Routes' }).getByRole('row').nth(1)
        const state = route.getByRole('cell').last().locator('.status')
        await state.getByText(status, { exact: true }).waitFor()
        assert.equal(await state.count(), 1, model)
      }
    },
  )
})
