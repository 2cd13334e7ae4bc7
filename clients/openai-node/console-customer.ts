/** A customer in the console and with the official client: sign-up, trial credit, key, requests, cap and voucher. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import OpenAI from 'openai'

import { openBrowser, sharedBrowserServer } from '../../test/support/console/browser.ts'
import type { BrowserSession } from '../../test/support/console/browser.ts'
import {
  createKey,
  findFigure,
  goToPage,
  confirmKeySaved,
  redeemVoucher,
  setDailyCap,
  signUp,
  waitForToast,
} from '../../test/support/console/console-steps.ts'
import { respondWith } from '../../test/support/upstream/scripted-responses.ts'
import { waitUntil } from '../../test/support/wait.ts'

const testServer = await sharedBrowserServer({ env: { SIGN_UP: 'invite' } })

/** The time in which cost and usage must be shown after a response: two seconds, on a machine ten times slower. */
const maxUpdateMs = 20_000

interface Sums {
  readonly requests: number
  readonly cost: string
}

interface PageData {
  readonly overview: { readonly balance: string; readonly today: Sums }
  readonly series: { readonly total: Sums }
  readonly requests: { readonly data: readonly { readonly cost: string }[] }
}

/** The data of the pages, requested with the session of the browser. */
async function readPages({ context }: BrowserSession): Promise<PageData> {
  const sendRequest = async (path: string): Promise<unknown> =>
    (await context.request.get(`/api/console/${path}`)).json()
  const [overview, series, requests] = await Promise.all(
    ['overview', 'usage/series?step=day', 'requests'].map((path) => sendRequest(path)),
  )
  return { overview, series, requests } as PageData
}

/** Checks that balance, today's sums, usage and request list are up to date soon after a response. */
async function assertShown(browser: BrowserSession, balance: string, today: Sums): Promise<string> {
  const settledAt = performance.now()
  await waitUntil(async () => {
    const { overview, series, requests } = await readPages(browser)
    const isUpToDate =
      overview.balance === balance &&
      [overview.today, series.total].every(
        ({ requests: count, cost }) => count === today.requests && cost === today.cost,
      ) &&
      requests.data.length === today.requests
    return isUpToDate
  }, `${today.requests} requests and ¥${today.cost}`)
  const updateMs = performance.now() - settledAt
  const message = `cost and usage were shown after ${updateMs.toFixed(0)} ms`
  assert.ok(updateMs < maxUpdateMs, message)
  return message
}

/** The error code of a request that must fail with 402. */
async function catchErrorCode(call: Promise<unknown>): Promise<string | null | undefined> {
  const error: unknown = await call.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof OpenAI.APIError, String(error))
  assert.equal(error.status, 402)
  return error.code
}

describe('Customer with the OpenAI client', () => {
  test('Customer – signs up, calls, sees the cost within two seconds, reaches a cap and pays', async (t) => {
    const server = testServer()
    const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 100 }))
    await server.model('test-model', { prices: ['10', '10'], upstreams: [upstream] })
    await server.admin('POST', '/promotions', { name: 'Welcome', amount: '4.7', code: 'HELLO' })
    const { code: invite } = await server.admin<{ code: string }>('POST', '/invites', { note: 'test' })
    const browser = await openBrowser(t, server.url)
    const { page } = browser

    await signUp(browser, 'customer@example.com', { invite, promotion: 'HELLO' })
    await findFigure(page, 'Balance').getByText('¥4.70', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    await goToPage(page, 'Billing')
    const trial = page.getByRole('row', { name: /Trial credit/ })
    await trial.getByText('¥4.70', { exact: true }).first().waitFor()

    await goToPage(page, 'API keys')
    const secret = await createKey(page, 'website')
    await confirmKeySaved(page)
    assert.equal(await page.getByText(secret).count(), 0, 'the secret is shown once')

    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: secret, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Hello!' }]
    const sendRequest = () =>
      client.chat.completions.create({ model: 'test-model', messages, max_completion_tokens: 100 })
    await goToPage(page, 'Overview')
    assert.equal((await sendRequest()).choices[0]?.message.content, 'Hello!')
    t.diagnostic(await assertShown(browser, '3.6', { requests: 1, cost: '1.1' }))
    await findFigure(page, 'Balance').getByText('¥3.60', { exact: true }).waitFor()
    await findFigure(page, 'Spent today').getByText('¥1.10', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Get started' }).waitFor({ state: 'detached' })

    await goToPage(page, 'Usage')
    const stream = await client.chat.completions.create({
      model: 'test-model',
      messages,
      max_completion_tokens: 100,
      stream: true,
    })
    const chunks = await Array.fromAsync(stream)
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hello!')
    t.diagnostic(await assertShown(browser, '2.5', { requests: 2, cost: '2.2' }))
    await browser.open('/usage')
    await findFigure(page, 'Cost').getByText('¥2.20', { exact: true }).waitFor()
    await findFigure(page, 'Output tokens').getByText('200', { exact: true }).waitFor()

    await setDailyCap(page, '2.2')
    await waitForToast(page, 'Saved.')
    assert.equal(await catchErrorCode(sendRequest()), 'spend_cap_exceeded')
    await setDailyCap(page, '20')
    await page.getByText('of ¥20.00').waitFor()
    for (const balance of ['1.4', '0.3']) {
      await sendRequest()
      assert.equal((await readPages(browser)).overview.balance, balance)
    }
    assert.equal(await catchErrorCode(sendRequest()), 'insufficient_quota')
    const { codes } = await server.admin<{ codes: string[] }>('POST', '/vouchers', { amount: '5', count: 1 })
    await redeemVoucher(page, codes[0] ?? '', '¥5.00 added. Your balance is ¥5.30.')
    await sendRequest()
    await findFigure(page, 'Balance').getByText('¥4.20', { exact: true }).waitFor()

    // Rejected requests are listed like successful ones.
    await goToPage(page, 'Overview')
    const latest = page.getByRole('table', { name: 'Recent requests' })
    await latest
      .getByRole('row', { name: /Rejected/ })
      .first()
      .getByRole('link')
      .click()
    await page.getByText('The balance is too low for the request.').first().waitFor()
    await page.getByText('Nothing was charged.').waitFor()
  })
})
