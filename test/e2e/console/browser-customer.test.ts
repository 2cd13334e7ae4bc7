// @backend both (cluster in long runs)
// @suite all – runs a browser
// @drives a browser
/** Customer pages in a browser: the playground, accessibility and clipped texts. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { openBrowser, browserSkipReason, sharedBrowserServer } from '../../support/console/browser.ts'
import { createKey, goToPage, redeemVoucher, signUp } from '../../support/console/console-steps.ts'
import { inTwoBrowsers } from '../../support/console/page-checks.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const testServer = await sharedBrowserServer()
async function createVoucher(amount: string): Promise<string> {
  const { codes } = await testServer().admin<{ codes: string[] }>('POST', '/vouchers', { amount, count: 1 })
  return codes[0] ?? ''
}

/** Sends a request and waits for its record; returns its id. */
async function sendRequest(secret: string, model: string): Promise<string> {
  const response = await fetch(`${testServer().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(chatRequest(model)),
  })
  await response.arrayBuffer()
  const id = response.headers.get('x-request-id') ?? ''
  return waitUntil(
    async () => ((await testServer().requests({ request_id: id })).length === 1 ? id : undefined),
    `the record of ${id}`,
  )
}

describe('Customer pages in a browser', () => {
  test(
    'Playground – streams two models side by side with tokens and cost, and shows the code',
    { skip: browserSkipReason },
    async (t) => {
      const upstream = await testServer().upstream(respondWith('One two three.', { input: 10, output: 5 }))
      await testServer().model('play-one', { upstreams: [upstream] })
      await testServer().model('play-two', { upstreams: [upstream] })
      const browser = await openBrowser(t, testServer().url)
      const { page, open } = browser
      await signUp(browser, 'player@example.com')
      await redeemVoucher(page, await createVoucher('1'), '¥1.00 added. Your balance is ¥1.00.')
      await open('/playground?model=play-one&beside=play-two')
      await page.getByRole('textbox', { name: /Type a message/ }).fill('Count.')
      await page.keyboard.press('Enter')
      for (const model of ['play-one', 'play-two']) {
        const side = page.getByRole('region', { name: model })
        await side.getByText('One two three.').waitFor()
        await side.getByText('¥0.00003').waitFor()
        await side.getByText('10 input tokens, 5 output tokens').waitFor()
      }
      await page.getByRole('button', { name: 'View code' }).first().click()
      await page.locator('pre').getByText('"content": "Count."').waitFor()
    },
  )

  test(
    'Customer pages – have no accessibility violations and no clipped texts',
    { skip: browserSkipReason },
    async (t) => {
      const browser = await openBrowser(t, testServer().url)
      await signUp(browser, 'a-customer-with-quite-a-long-address@company.example')
      await redeemVoucher(
        browser.page,
        await createVoucher('123.456'),
        '¥123.456 added. Your balance is ¥123.456.',
      )
      const upstream = await testServer().upstream(
        respondWith('Hello!', { input: 1000, output: 100, cached: 300 }),
      )
      await testServer().model('sweep-model', { upstreams: [upstream], prices: ['0.002', '0.004'] })
      await goToPage(browser.page, 'API keys')
      const secret = await createKey(
        browser.page,
        'a key with quite a long name, for the website of the company',
      )
      const success = await sendRequest(secret, 'sweep-model')
      const failure = await sendRequest(secret, 'no-such-model')
      await sendRequest(secret, '')
      await browser.open('/usage')
      const byModel = browser.page.getByRole('table', { name: 'By model' })
      await byModel.getByText('Unknown model', { exact: true }).waitFor()
      const { data: keys } = (await (await browser.context.request.get('/api/console/keys')).json()) as {
        data: { id: string }[]
      }
      const key = keys[0]?.id ?? ''
      const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)
      const paths = [
        '/overview',
        '/keys',
        '/keys?add=yes',
        `/keys?edit=${key}`,
        `/keys?rotate=${key}`,
        '/usage',
        `/usage/${success}`,
        `/usage/${failure}`,
        '/billing',
        '/billing?edit=caps',
        `/billing/${month}`,
        '/models',
        '/playground',
        '/limits',
        '/limits?ask=yes',
        '/notices',
        '/guide',
        '/profile',
      ]
      assert.deepEqual(await inTwoBrowsers(t, browser, paths), [])
    },
  )
})
