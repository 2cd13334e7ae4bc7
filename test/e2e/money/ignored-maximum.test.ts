// @backend both
/** Upstreams that ignore the maximum of output tokens: what they write beyond it is neither free nor unbounded. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { estimateTokens } from '../../../src/relay/request/token-estimate.ts'
import { chatRequest } from '../../support/server/account.ts'
import { eventually, readError } from '../../support/client/responses.ts'
import { sendConcurrently, withStatus } from '../../support/client/parallel-requests.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitFor } from '../../support/upstream/fault-injection.ts'
import { numberedWords, respondWith } from '../../support/upstream/scripted-responses.ts'

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
        await eventually('all requests admitted or rejected', async () => {
          rejected = (await account.requests({ outcome: 'refused' })).length
          return upstream.requests.length - before + rejected >= 40 || undefined
        })
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
    await eventually('the request', async () => upstream.requests.length > before || undefined)
    assert.equal(await account.held(), '0.16')
    resume.resolve()
    assert.equal((await pending).status, 200)
  })

  test('after an overrun – a second concurrent request gets 429 until the next credit', async () => {
    const model = await createModel()
    await server.showObedience(model, upstream)
    const account = await server.account({ balance: '1', key: { caps: { total: '0.01' } } })
    upstream.always(respondWith('ok', { input: 10, output: 800 }))
    assert.equal((await account.post(chatRequest(model, { max_tokens: 400 }))).status, 200)
    await account.newKey()
    const { overrun } = await server.admin<{ overrun: string }>('GET', '/ledger/verify')
    assert.ok(Number(overrun) > 0)
    const resume = Promise.withResolvers<void>()
    upstream.always(waitFor(resume.promise, respondWith('ok', { input: 1, output: 1 })))
    const before = upstream.requests.length
    const body = chatRequest(model, { max_tokens: 16 })
    const first = account.post(body)
    await eventually('the first request', async () => upstream.requests.length > before || undefined)
    const second = await account.post(body)
    assert.equal(second.status, 429)
    assert.equal(second.headers.get('retry-after'), '1')
    assert.equal((await readError(second)).code, 'rate_limit_exceeded')
    await account.credit('1')
    const third = account.post(body)
    await eventually('the third request', async () => upstream.requests.length > before + 1 || undefined)
    resume.resolve()
    assert.deepEqual([(await first).status, (await third).status], [200, 200])
  })
})

function contentOf(events: string): string {
  const texts = events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)
  return Array.from(texts, ([, content = '""']) => JSON.parse(content) as string).join('')
}
