// @backend both (also without Redis)
/** Rate limits of a model: they apply to each account in addition to the limits of the account and the key, all or nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { expectResponse, expectError } from '../../support/client/admin-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { sendConcurrently, withStatus } from '../../support/client/parallel-requests.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 5 }))
await server.model('plain', { upstreams: [upstream] })

async function requestStatus(account: Account, model: string, fields: object = {}): Promise<number> {
  const response = await account.post(chatRequest(model, { max_tokens: 10, ...fields }))
  await response.text()
  return response.status
}

describe('Model limits', () => {
  test('Model limit of 20 per minute – admits 20 of 200 for each account; other models continue', async () => {
    await server.model('few', { upstreams: [upstream], limits: { rpm: 20 } })
    const [alice, bob] = [await server.account({ balance: '1' }), await server.account({ balance: '1' })]
    const body = chatRequest('few', { max_tokens: 10 })
    const startedMs = performance.now()
    const outcomes = await sendConcurrently(alice, server.url, body, 200)
    const longestS = Math.ceil((performance.now() - startedMs) / 1000)
    assert.equal(withStatus(outcomes, 200).length, 20)
    const rejected = withStatus(outcomes, 429)
    assert.equal(rejected.length, 180)
    for (const { headers, text } of rejected) {
      assert.match(text, /Rate limit exceeded for this model: 20 requests per minute/)
      const after = Number(headers['retry-after'])
      assert.ok(after >= 60 - longestS && after <= 61, `${after}`)
    }
    await alice.newKey()
    assert.equal(await requestStatus(alice, 'few'), 429, 'another key of the same account')
    assert.equal(await requestStatus(alice, 'plain'), 200)
    assert.equal(await requestStatus(bob, 'few'), 200)
  })

  test('Rate limit headers – report the tightest limit, and a rejection uses no account quota', async () => {
    await server.model('tight', { upstreams: [upstream], limits: { rpm: 3, tpm: 100_000 } })
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { rpm: 5, tpm: 50_000 } })
    const rateHeaders = async (model: string): Promise<(string | null)[]> => {
      const response = await account.post(chatRequest(model, { max_tokens: 10 }))
      await response.text()
      return ['limit-requests', 'remaining-requests', 'limit-tokens'].map((name) =>
        response.headers.get(`x-ratelimit-${name}`),
      )
    }
    assert.deepEqual(await rateHeaders('tight'), ['3', '2', '50000'])
    assert.deepEqual(await rateHeaders('plain'), ['5', '3', '50000'])
    await rateHeaders('tight')
    await rateHeaders('tight')
    for (let call = 0; call < 5; call += 1) assert.equal(await requestStatus(account, 'tight'), 429)
    assert.deepEqual(await rateHeaders('plain'), ['5', '0', '50000'])
  })

  test('tpm and concurrency of a model – are enforced like those of an account', async () => {
    await server.model('small', { upstreams: [upstream], limits: { tpm: 100 } })
    const account = await server.account({ balance: '1' })
    const response = await account.post(chatRequest('small', { max_tokens: 1000 }))
    assert.deepEqual([response.status, response.headers.get('x-should-retry')], [429, 'false'])
    assert.match(
      (await readError(response)).message,
      /too large for the limit of this model: 100 tokens per minute/,
    )
    assert.equal(await requestStatus(account, 'small'), 200)
    await server.model('closed', { upstreams: [upstream], limits: { concurrency: 0 } })
    assert.equal(await requestStatus(account, 'closed'), 429)
  })

  test('Changed model limits – apply at once, null removes, concurrent patches all apply', async () => {
    await server.model('changing', { upstreams: [upstream], limits: { rpm: 1, rpd: 100 } })
    const account = await server.account({ balance: '1' })
    assert.deepEqual(
      [await requestStatus(account, 'changing'), await requestStatus(account, 'changing')],
      [200, 429],
    )
    const patch = (limits: object | null) =>
      expectResponse(server, 200, ['PATCH', '/models/changing', { limits }])
    assert.deepEqual((await patch({ rpm: 2 }))['limits'], { rpm: 2, tpm: null, rpd: 100, concurrency: null })
    assert.deepEqual(
      [await requestStatus(account, 'changing'), await requestStatus(account, 'changing')],
      [200, 429],
    )
    assert.deepEqual((await patch({ rpm: null }))['limits'], {
      rpm: null,
      tpm: null,
      rpd: 100,
      concurrency: null,
    })
    assert.equal(await requestStatus(account, 'changing'), 200)
    const patches = [
      { limits: { rpm: 7 } },
      { limits: { tpm: 8 } },
      { limits: { rpd: 9 } },
      { prefer: 'cheapest' },
    ]
    await Promise.all(
      [...patches, { affinity: true }].map((patch) =>
        expectResponse(server, 200, ['PATCH', '/models/changing', patch]),
      ),
    )
    const { limits: all, prefer, affinity } = await expectResponse(server, 200, ['GET', '/models/changing'])
    assert.deepEqual(
      [all, prefer, affinity],
      [{ rpm: 7, tpm: 8, rpd: 9, concurrency: null }, 'cheapest', true],
    )
    assert.equal((await patch(null))['limits'], null)
    for (const limits of [{ rpm: -1 }, { tpm: 'many' }, { cap: 1 }])
      await expectError(server, 400, ['PATCH', '/models/changing', { limits }])
  })

  test('Daily limit of a model – survives kill -9, and Retry-After is the account’s midnight', async () => {
    await server.model('daily', { upstreams: [upstream], limits: { rpd: 3 } })
    const account = await server.account({ balance: '1', timezone: 'Asia/Shanghai' })
    for (let call = 0; call < 2; call += 1) assert.equal(await requestStatus(account, 'daily'), 200)
    await server.kill()
    await server.restart()
    assert.equal(await requestStatus(account, 'daily'), 200)
    const sentAt = Date.now()
    const response = await account.post(chatRequest('daily', { max_tokens: 10 }))
    assert.equal(response.status, 429)
    const midnight = new Date(sentAt + 8 * 3_600_000).setUTCHours(24, 0, 0, 0) - 8 * 3_600_000
    // Retry-After is rounded up to a second, from a time between the request and now.
    const rejectedAt = midnight - Number(response.headers.get('retry-after')) * 1000
    assert.ok(rejectedAt >= sentAt - 1000 && rejectedAt <= Date.now(), `${rejectedAt} after ${sentAt}`)
    assert.match((await readError(response)).message, /Daily request limit reached for this model/)
  })
})
