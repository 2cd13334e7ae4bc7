// @backend sqlite – the console is the same on both
// @suite all – runs a browser
// @drives a browser
/** Prices of images by quality and size: as an operator enters them, on the bill, and as customers see them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { browserSkipReason, openBrowser, sharedBrowserServer } from '../../support/console/browser.ts'
import { findDialog, openAsOperator, signUp } from '../../support/console/console-steps.ts'
import { checkPage } from '../../support/console/page-checks.ts'
import { postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import { callItem, messageItem, respondWithItems } from '../../support/upstream/native-responses.ts'

const message = messageItem('Found.')

const testServer = await sharedBrowserServer()

describe('Prices of images in a browser', () => {
  test(
    'Price form – takes a line for each class, which bill and models show',
    { skip: browserSkipReason },
    async (t) => {
      const server = testServer()
      const image = (quality: string) => callItem('image_generation_call', { quality, size: '1024x1024' })
      const items = [image('low'), image('low'), image('high'), message]
      const upstream = await server.upstream(respondWithItems(items), { provider: 'openai' })
      await server.model('draws', { upstreams: [upstream], prices: ['0.001', '0.001'] })
      const browser = await openAsOperator(t, server)
      const { page, open } = browser
      await open('/operator/models/draws?edit=price')
      const dialog = findDialog(page)
      await dialog.getByText('Service tiers, tools and long inputs').click()
      const tools = dialog.getByLabel('Per tool call')
      const save = dialog.getByRole('button', { name: 'Change price' })

      await tools.fill('image_generation quality=auto 0.2')
      await save.click()
      await dialog.getByText('must not be auto').waitFor()
      await tools.fill('image_generation quality=low 0.01\nimage_generation 0.2\nfile_search 0.02')
      await save.click()
      await dialog.waitFor({ state: 'hidden' })
      const { prices } = await server.admin<{ prices: Record<string, unknown> }>('GET', '/models/draws')
      assert.deepEqual(prices['per_tool_call'], {
        image_generation: [{ quality: 'low', amount: '0.01' }, { amount: '0.2' }],
        file_search: '0.02',
      })

      const account = await server.account({ balance: '10' })
      const body = responsesRequest('draws', { tools: [{ type: 'image_generation' }] })
      const response = await postResponses(account, body)
      assert.equal(response.status, 200, await response.text())
      const id = response.headers.get('x-request-id') ?? ''
      await open(`/operator/requests/${id}`)
      const bill = page.getByRole('table', { name: 'Bill', exact: true })
      const line = (name: string) =>
        bill.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
      await line('Calls of image_generation quality=low').getByText('¥0.02', { exact: true }).waitFor()
      await line('Calls of image_generation').getByText('¥0.20', { exact: true }).first().waitFor()
      const problems = await checkPage(browser, `/operator/requests/${id}`)

      const customer = await openBrowser(t, server.url)
      await signUp(customer, 'draws@example.com')
      await customer.open('/models?q=draws')
      await customer.page.getByText('per call of image_generation quality=low').waitFor()
      problems.push(...(await checkPage(customer, '/models?q=draws')))
      assert.deepEqual(problems, [])
    },
  )
})
