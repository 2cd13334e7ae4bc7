// @backend both
/** Upstreams that ignore the maximum of output tokens: what they write beyond it is neither free nor unbounded. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { estimateTokens, TokenCounter } from '../../../src/relay/request/token-estimate.ts'
import { chatRequest } from '../../support/server/account.ts'
import { sendConcurrently, withStatus } from '../../support/client/parallel-requests.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitFor } from '../../support/upstream/fault-injection.ts'
import { numberedWords, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
/** A whole response costs ¥0.04. */
const prices: [string, string] = ['0', '0.02']
const wholeTokens = 2000
const deltas = numberedWords(1300)
const text = deltas.join('')
const respondWhole = respondWith(text, { input: 10, output: wholeTokens }, { deltas })
const upstream = await server.upstream(respondWhole)

let models = 0
async function createModel(): Promise<string> {
  const model = `m-${(models += 1)}`
  await server.model(model, { upstreams: [upstream], prices, max_output_tokens: 8000 })
  return model
}

const spellings = [
  { max_tokens: 1 },
  { max_completion_tokens: 1 },
  { max_tokens: 1, max_completion_tokens: 8000 },
]

describe('Ignored maximum', () => {
  for (const spelling of spellings) {
    for (const stream of [false, true]) {
      const what = `${Object.keys(spelling).join(' and ')}, ${stream ? 'streaming' : 'non-streaming'}`
      test(`40 requests, ${what} – get responses worth at most ¥0.09 for ¥0.05`, async () => {
        const model = await createModel()
        const account = await server.account({ balance: '0.05' })
        const resume = Promise.withResolvers<void>()
        const before = upstream.requests.length
        upstream.always(waitFor(resume.promise, respondWhole))
        let rejected = 0
        const pending = sendConcurrently(account, server.url, chatRequest(model, { ...spelling, stream }), 40)
        await waitUntil(async () => {
          rejected = (await account.requests({ outcome: 'refused' })).length
          return upstream.requests.length - before + rejected >= 40
        }, 'all requests admitted or rejected')
        resume.resolve()
        const served = withStatus(await pending, 200)
        assert.ok(served.length >= 1)
        const written = served.map((outcome) => (stream ? contentOf(outcome.text) : text))
        const worth = written.reduce(
          (sum, each) => sum + (estimateTokens(each) / estimateTokens(text)) * 0.04,
          0,
        )
        assert.ok(worth <= 0.09, `${served.length} responses worth ${worth}`)
      })
    }
  }

  test('an upstream that exceeded it – later requests hold the model’s maximum', async () => {
    const model = await createModel()
    upstream.always(respondWhole)
    const account = await server.account({ balance: '1' })
    assert.equal((await account.post(chatRequest(model, { max_tokens: 10 }))).status, 200)
    await account.credit('1')
    const resume = Promise.withResolvers<void>()
    const before = upstream.requests.length
    upstream.always(waitFor(resume.promise, respondWith('ok', { input: 1, output: 1 })))
    const pending = account.post(chatRequest(model, { max_tokens: 10 }))
    await waitUntil(() => upstream.requests.length > before, 'the request')
    assert.equal(await account.held(), '0.16')
    resume.resolve()
    assert.equal((await pending).status, 200)
  })

  test('A maximum under a name that the upstream ignores is sent under its own name from then on', async () => {
    const model = await createModel()
    const account = await server.account({ balance: '1' })
    upstream.always(respondWhole)
    const body = chatRequest(model, { max_completion_tokens: 1 })
    assert.equal((await account.post(body)).status, 200)
    // What was delivered is charged.
    const [row] = await account.requests()
    assert.ok(Number(row?.cost) > 0.02)
    upstream.always(respondWith('Yes', { input: 1, output: 1 }, { finish: 'length' }))
    await waitUntil(async () => {
      assert.equal((await account.post(body)).status, 200)
      const { max_tokens: own, max_completion_tokens: other } = upstream.requests.at(-1)?.json ?? {}
      return own === 1 && other === undefined
    }, 'the own name')
    const { routes } = await server.admin<{ routes: { maximum: string }[] }>('GET', `/models/${model}`)
    assert.equal(routes[0]?.maximum, 'obeyed')
  })

  test('A stream ends with length at twice the maximum and 256 tokens more', async () => {
    const model = await createModel()
    const account = await server.account({ balance: '1' })
    const body = chatRequest(model, { max_tokens: 1, stream: true, stream_options: { include_usage: true } })
    // Many events, and one that has everything.
    for (const respond of [respondWhole, respondWith(text, { input: 10, output: wholeTokens })]) {
      upstream.always(respond)
      const response = await account.post(body)
      const events = await response.text()
      const content = contentOf(events)
      const count = new TokenCounter()
      count.add(content)
      const { tokensWithoutRuns } = count
      assert.ok(tokensWithoutRuns > 254 && tokensWithoutRuns <= 258, String(tokensWithoutRuns))
      const delivered = estimateTokens(content)
      assert.match(events, /"finish_reason":"length"/)
      assert.doesNotMatch(events, /insufficient_quota/)
      assert.match(events, /data: \[DONE\]\n\n$/)
      const [row] = await account.requests()
      assert.deepEqual(
        [row?.outcome, row?.finish, row?.clamped, row?.usage_source, row?.completion_tokens],
        ['ok', 'length', true, 'estimate', delivered],
      )
    }
  })

  test('An account with an overrun runs its requests at once', async () => {
    const model = await createModel()
    await server.showObedience(model, upstream)
    const account = await server.account({ balance: '1000' })
    upstream.always(respondWith('ok', { input: 10, output: 401 }))
    assert.equal((await account.post(chatRequest(model, { max_tokens: 400 }))).status, 200)
    const { overrun } = await server.admin<{ overrun: string }>('GET', '/ledger/verify')
    assert.ok(Number(overrun) > 0)
    const [row] = await account.requests()
    assert.deepEqual([row?.cost, row?.clamped], ['0.008', true])
    const resume = Promise.withResolvers<void>()
    upstream.always(waitFor(resume.promise, respondWith('ok', { input: 1, output: 1 })))
    const before = upstream.requests.length
    const pending = sendConcurrently(account, server.url, chatRequest(model, { max_tokens: 16 }), 10)
    await waitUntil(() => upstream.requests.length >= before + 10, 'all requests')
    resume.resolve()
    assert.equal(withStatus(await pending, 200).length, 10)
  })
})

function contentOf(events: string): string {
  const texts = events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)
  return Array.from(texts, ([, content = '""']) => JSON.parse(content) as string).join('')
}
