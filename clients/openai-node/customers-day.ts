/** A customer's first day: from signing up over the first calls of the official client to a cap, a voucher, and on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import OpenAI from 'openai'

import { eventually } from '../../test/support/client/responses.ts'
import { visitor } from '../../test/support/console/browser.ts'
import type { Visitor } from '../../test/support/console/browser.ts'
import {
  createKey,
  figure,
  goTo,
  keepKey,
  redeem,
  setDailyCap,
  signUp,
  told,
} from '../../test/support/console/console-steps.ts'
import { openHouse } from '../../test/support/server/test-server.ts'
import { saying } from '../../test/support/upstream/scripted-responses.ts'

/** From a settled answer on, its cost and usage are shown within this time. */
const freshMs = 2_000

interface Sums {
  readonly requests: number
  readonly cost: string
}

interface Shown {
  readonly overview: { readonly balance: string; readonly today: Sums }
  readonly series: { readonly total: Sums }
  readonly requests: { readonly data: readonly { readonly cost: string }[] }
}

/** What the pages ask for, asked with the session of the browser. */
async function shownTo({ context }: Visitor): Promise<Shown> {
  const ask = async (path: string): Promise<unknown> =>
    (await context.request.get(`/api/console/${path}`)).json()
  const [overview, series, requests] = await Promise.all(
    ['overview', 'usage/series?step=day', 'requests'].map((path) => ask(path)),
  )
  return { overview, series, requests } as Shown
}

/** Balance, today's sums, the usage and the list of requests all say so, soon after the answer; then the page does. */
async function isShown(me: Visitor, balance: string, today: Sums): Promise<string> {
  const settledAt = performance.now()
  await eventually(`${today.requests} requests and ¥${today.cost}`, async () => {
    const { overview, series, requests } = await shownTo(me)
    const isSo =
      overview.balance === balance &&
      [overview.today, series.total].every(
        ({ requests: count, cost }) => count === today.requests && cost === today.cost,
      ) &&
      requests.data.length === today.requests
    return isSo ? true : undefined
  })
  const tookMs = performance.now() - settledAt
  const words = `cost and usage were shown after ${tookMs.toFixed(0)} ms`
  assert.ok(tookMs < freshMs, words)
  return words
}

/** The code with which the client is refused; nothing but a refusal will do. */
async function refusalOf(call: Promise<unknown>): Promise<string | null | undefined> {
  const error: unknown = await call.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof OpenAI.APIError, String(error))
  assert.equal(error.status, 402)
  return error.code
}

test('a customer signs up, has trial credit, makes a key and calls with the official client: cost and usage are shown within two seconds, a cap stops the service, and with a higher cap and a voucher it goes on', async (t) => {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hello!', { input: 10, output: 100 }))
  await house.model('story-model', { prices: ['10', '10'], upstreams: [upstream] })
  await house.admin('POST', '/promotions', { name: 'Welcome', amount: '4.4', code: 'HELLO' })
  const me = await visitor(t, house.url)
  const { page } = me

  await signUp(me, 'customer@example.com', 'HELLO')
  await figure(page, 'Balance').getByText('¥4.40', { exact: true }).waitFor()
  await page.getByRole('heading', { name: 'First steps' }).waitFor()
  await goTo(page, 'Billing')
  const trial = page.getByRole('row', { name: /Trial credit/ })
  await trial.getByText('¥4.40', { exact: true }).first().waitFor()

  await goTo(page, 'Keys')
  const secret = await createKey(page, 'website')
  await keepKey(page)
  assert.equal(await page.getByText(secret).count(), 0, 'the secret is shown once')

  const client = new OpenAI({ baseURL: `${house.url}/v1`, apiKey: secret, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hello!' }]
  const ask = () =>
    client.chat.completions.create({ model: 'story-model', messages, max_completion_tokens: 100 })
  await goTo(page, 'Overview')
  assert.equal((await ask()).choices[0]?.message.content, 'Hello!')
  t.diagnostic(await isShown(me, '3.3', { requests: 1, cost: '1.1' }))
  await figure(page, 'Balance').getByText('¥3.30', { exact: true }).waitFor()
  await figure(page, 'Spent today').getByText('¥1.10', { exact: true }).waitFor()
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' })

  await goTo(page, 'Usage')
  const stream = await client.chat.completions.create({
    model: 'story-model',
    messages,
    max_completion_tokens: 100,
    stream: true,
  })
  const chunks = await Array.fromAsync(stream)
  assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hello!')
  t.diagnostic(await isShown(me, '2.2', { requests: 2, cost: '2.2' }))
  await me.open('/usage')
  await figure(page, 'Cost').getByText('¥2.20', { exact: true }).waitFor()
  await figure(page, 'Tokens out').getByText('200', { exact: true }).waitFor()

  await setDailyCap(page, '2.2')
  await told(page, 'Saved')
  assert.equal(await refusalOf(ask()), 'spend_cap_exceeded')
  await setDailyCap(page, '20')
  await page.getByText('of ¥20.00').waitFor()
  for (const balance of ['1.1', '0']) {
    await ask()
    assert.equal((await shownTo(me)).overview.balance, balance)
  }
  assert.equal(await refusalOf(ask()), 'insufficient_quota')
  const { codes } = await house.admin<{ codes: string[] }>('POST', '/vouchers', { amount: '5', count: 1 })
  await redeem(page, codes[0] ?? '', '¥5.00 added. Your balance is ¥5.00.')
  await ask()
  await figure(page, 'Balance').getByText('¥3.90', { exact: true }).waitFor()

  // What was refused is told as plainly as what was answered.
  await goTo(page, 'Overview')
  const latest = page.getByRole('table', { name: 'Latest requests' })
  await latest
    .getByRole('row', { name: /refused/ })
    .first()
    .getByRole('link')
    .click()
  await page.getByText('The balance or a cap did not cover it. You can mend it.').waitFor()
  await page.getByText('Nothing was charged.').waitFor()
  await house.nothingHeld()
})
