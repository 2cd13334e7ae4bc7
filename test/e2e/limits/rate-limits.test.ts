// @backend both (also without Redis)
/** Rate limits of accounts and keys: requests, tokens and concurrency, and what responses report. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { neverRespond, waitFor } from '../../support/upstream/fault-injection.ts'
import { sendConcurrently, withStatus } from '../../support/client/parallel-requests.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 5 }))
await server.model('m', { upstreams: [upstream] })
const body = chatRequest('m', { max_tokens: 10 })

describe('Rate limits', () => {
  for (const subject of ['account', 'key'] as const) {
    test(`${subject} limit of 60 per minute – admits exactly 60 of 200 requests over two workers`, async () => {
      const account = await server.account({
        balance: '1',
        key: subject === 'key' ? { limits: { rpm: 60 } } : {},
      })
      if (subject === 'account') await account.change({ limits: { rpm: 60 } })
      const startedMs = performance.now()
      const outcomes = await sendConcurrently(account, server.url, body, 200)
      const longestS = Math.ceil((performance.now() - startedMs) / 1000)
      const rejected = withStatus(outcomes, 429)
      assert.equal(withStatus(outcomes, 200).length, 60)
      assert.equal(rejected.length, 140)
      for (const { headers, code } of rejected) {
        assert.equal(code, 'rate_limit_exceeded')
        const after = Number(headers['retry-after'])
        assert.ok(after >= 60 - longestS && after <= 61, `${after}`)
        assert.ok(Number(headers['retry-after-ms']) <= after * 1000)
        assert.equal(headers['x-ratelimit-remaining-requests'], '0')
      }
      const admitted = await waitUntil(async () => {
        const records = await account.requests({ outcome: 'ok', limit: '1000' })
        return records.length >= 60 ? records : undefined
      }, '60 records')
      assert.equal(admitted.length, 60)
    })
  }

  test('Rate limit headers – every response has the limits and what remains', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { rpm: 5, tpm: 1000 } })
    for (const remaining of [4, 3]) {
      const response = await account.post(body)
      const rateHeader = (name: string) => response.headers.get(`x-ratelimit-${name}`)
      assert.deepEqual(
        [rateHeader('limit-requests'), rateHeader('remaining-requests')],
        ['5', String(remaining)],
      )
      assert.equal(rateHeader('limit-tokens'), '1000')
      assert.ok(Number(rateHeader('remaining-tokens')) < 1000)
      assert.match(rateHeader('reset-requests') ?? '', /^(1m[01]s|\d+s)$/)
      assert.match(rateHeader('reset-tokens') ?? '', /^(1m[01]s|\d+s)$/)
      await response.text()
    }
  })

  test('Tokens per minute – are reserved by estimate and corrected by the actual usage', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { tpm: 1000 } })
    upstream.next(respondWith('Hello!', { input: 10, output: 890 }))
    assert.equal((await account.post(chatRequest('m', { max_tokens: 950 }))).status, 200)
    const rejected = await account.post(chatRequest('m', { max_tokens: 200 }))
    assert.equal(rejected.status, 429)
    assert.ok(Number(rejected.headers.get('retry-after')) <= 61)
    assert.equal((await account.post(chatRequest('m', { max_tokens: 60 }))).status, 200)
  })

  test('Request above the token limit – the response says that waiting does not help', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { tpm: 100 } })
    const response = await account.post(chatRequest('m', { max_tokens: 1000 }))
    assert.equal(response.status, 429)
    assert.equal(response.headers.get('x-should-retry'), 'false')
    assert.equal(response.headers.get('retry-after'), null)
    assert.match((await readError(response)).message, /too large for the limit/)
  })

  test('Concurrency limit – admits the maximum, and every way a request ends frees its slot', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { concurrency: 3 } })
    for (const name of ['success', 'error', 'silent']) await server.model(name, { upstreams: [upstream] })
    for (let round = 0; round < 3; round += 1) {
      const resume = Promise.withResolvers<void>()
      const before = upstream.requests.length
      const disconnect = new AbortController()
      upstream.forModel('success', waitFor(resume.promise, respondWith('Hello!')))
      upstream.forModel('error', waitFor(resume.promise, respondWithError(400)))
      upstream.forModel('silent', neverRespond)
      const responses = Promise.allSettled([
        account.post(chatRequest('success')),
        account.post(chatRequest('error')),
        account.post(chatRequest('silent'), { signal: disconnect.signal }),
      ])
      await waitUntil(() => upstream.requests.length - before === 3, 'three running requests')
      const rejected = await account.post(body)
      assert.equal(rejected.status, 429)
      assert.match((await readError(rejected)).message, /3 concurrent requests/)
      resume.resolve()
      disconnect.abort()
      await responses
      await server.assertNoOpenHolds()
    }
  })

  test('Request rejected by the ledger – uses no rate limit', async () => {
    const account = await server.account({ balance: '0.00000001' })
    await account.change({ limits: { rpm: 3, concurrency: 3 } })
    for (let call = 0; call < 10; call += 1) assert.equal((await account.post(body)).status, 402)
    await account.credit('1')
    for (const status of [200, 200, 200, 429]) assert.equal((await account.post(body)).status, status)
  })

  test('Limits of a tier – apply to its accounts, account limits override, changes apply at once', async () => {
    const account = await server.account({ balance: '1', tier: 'new' })
    await server.admin('PATCH', '/tiers/new', { rpm: 2 })
    for (const status of [200, 200, 429]) assert.equal((await account.post(body)).status, status)
    await account.change({ limits: { rpm: 3 } })
    for (const status of [200, 429]) assert.equal((await account.post(body)).status, status)
    await account.change({ limits: { rpm: 'unlimited' } })
    assert.equal((await account.post(body)).status, 200)
  })
})
