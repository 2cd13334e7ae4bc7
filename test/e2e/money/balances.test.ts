// @backend both
/** Money under concurrent requests: balances, holds, negative credits, prices and price factors. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatAmount, parseAmount } from '../../../src/lib/money.ts'
import { chatRequest } from '../../support/server/account.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { trials } from '../../support/runner/suite.ts'
import { pauseAfter, waitFor } from '../../support/upstream/fault-injection.ts'
import {
  sendConcurrently,
  totalCost,
  assertNeverNegative,
  withStatus,
} from '../../support/client/parallel-requests.ts'
import {
  respondWith,
  respondWithDeltas,
  respondWithin,
  numberedWords,
} from '../../support/upstream/scripted-responses.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

const env = { WORKERS: '2' }
const server = await sharedTestServer({ env })
const upstream = await server.upstream(respondWith('Hello!'))
/** In nanos per token: 2,000 in, 8,000 out. */
const prices: [string, string] = ['0.002', '0.008']
async function createObeyedModel(id: string): Promise<string> {
  await server.model(id, { upstreams: [upstream], prices, max_output_tokens: 8192 })
  await server.showObedience(id, upstream)
  return id
}

await createObeyedModel('m')

/** Nanos as the admin API formats them. */
const toYuan = (nanos: bigint): string => formatAmount(nanos)

describe('Balances under concurrency', () => {
  for (let trial = 1; trial <= trials({ short: 2, all: 3 }); trial += 1) {
    test(`500 concurrent requests – never overspend a balance for 10 requests (trial ${trial})`, async () => {
      const model = await createObeyedModel(`trial-${trial}`)
      upstream.always(respondWithin({ input: 10, output: 500 }))
      const account = await server.account({ balance: '0.04025' })
      const body = chatRequest(model, { max_tokens: 500, stream: trial % 2 === 0 })
      const outcomes = await assertNeverNegative(account, sendConcurrently(account, server.url, body, 500))
      const served = withStatus(outcomes, 200)
      const rejected = withStatus(outcomes, 402)
      assert.equal(served.length + rejected.length, 500)
      assert.ok(rejected.every(({ code }) => code === 'insufficient_quota'))
      assert.ok(rejected.every(({ headers }) => headers['x-should-retry'] === 'false'))
      const cost = await totalCost(account)
      assert.ok(cost <= parseAmount('0.04025'), `${cost}`)
      assert.equal(parseAmount(await account.balance()), parseAmount('0.04025') - cost)
      if (trial % 2 === 1) assert.ok(served.length >= 9, `${served.length} were served`)
    })
  }

  test('Balance of 20 times the true cost – admits at least 18 of 20 concurrent streams', async (t) => {
    const [input, deltas] = [1000, 256]
    const output = Math.ceil(numberedWords(deltas).join('').length / 4)
    const body = chatRequest('m', { stream: true, messages: [{ role: 'user', content: 'x'.repeat(3900) }] })
    const account = await server.account({
      balance: toYuan(20n * (BigInt(input) * 2000n + BigInt(output) * 8000n)),
    })
    const resume = Promise.withResolvers<void>()
    const before = upstream.requests.length
    upstream.always(pauseAfter(5, resume.promise, respondWithDeltas(deltas, { input, output })))
    const pending = sendConcurrently(account, server.url, body, 20)
    await waitUntil(() => upstream.requests.length - before >= 18, '18 streams at once')
    resume.resolve()
    const admitted = withStatus(await assertNeverNegative(account, pending), 200)
    assert.ok(admitted.length >= 18, `${admitted.length} were admitted`)
    const finished = admitted.filter(({ text }) => text.includes('"finish_reason":"stop"'))
    t.diagnostic(`${admitted.length} streams admitted, ${finished.length} finished normally`)
    const cost = await totalCost(account)
    assert.equal(
      parseAmount(await account.balance()) + cost,
      20n * (BigInt(input) * 2000n + BigInt(output) * 8000n),
    )
  })

  test('Balance for 20 responses of 1,024 tokens – admits 18 of 20 requests without max_tokens', async () => {
    const balance = 20n * (10n * 2000n + 1024n * 8000n)
    const model = await createObeyedModel('without-maximum')
    const account = await server.account({ balance: toYuan(balance) })
    const resume = Promise.withResolvers<void>()
    const before = upstream.requests.length
    upstream.always(waitFor(resume.promise, respondWith('Hello!', { input: 10, output: 1024 })))
    const pending = sendConcurrently(account, server.url, chatRequest(model), 20)
    await waitUntil(() => upstream.requests.length - before >= 18, '18 requests at once')
    for (const { json } of upstream.requests.slice(before)) assert.ok(Number(json['max_tokens']) >= 16)
    resume.resolve()
    const admitted = withStatus(await assertNeverNegative(account, pending), 200)
    assert.ok(admitted.length >= 18, `${admitted.length} were admitted`)
    assert.equal(parseAmount(await account.balance()), balance - (await totalCost(account)))
  })

  test('Held money – cannot be withdrawn; the rest can', async () => {
    const account = await server.account({ balance: '1' })
    const resume = Promise.withResolvers<void>()
    upstream.next(waitFor(resume.promise, respondWith('Hello!', { input: 10, output: 5 })))
    const pending = account.post(chatRequest('m', { max_tokens: 1000 }))
    await waitUntil(async () => Number(await account.held()) > 0, 'an open hold')
    const { held, available } = await account.state()
    assert.equal(parseAmount(held) + parseAmount(available), parseAmount('1'))
    const withdraw = (amount: string, key: string) =>
      server.relay.adminResponse('POST', `/accounts/${account.id}/credits`, {
        amount: `-${amount}`,
        reason: 'a test',
        idempotency_key: key,
      })
    assert.equal((await withdraw('1', 'all')).status, 409)
    assert.equal((await withdraw(available, 'free')).status, 201)
    assert.equal((await account.post(chatRequest('m'))).status, 402)
    resume.resolve()
    assert.equal((await pending).status, 200)
    assert.equal(parseAmount(await account.balance()), parseAmount(held) - 60_000n)
  })

  test('Price at the time of the hold – is charged, multiplied by the tier’s or account’s factor', async () => {
    await server.model('priced', { upstreams: [upstream], prices: ['0.002', '0.008'] })
    await server.admin('POST', '/tiers', {
      name: 'half',
      rpm: null,
      tpm: null,
      rpd: null,
      concurrency: null,
      price_factor: '0.5',
    })
    const plain = await server.account({ balance: '1' })
    const half = await server.account({ balance: '1', tier: 'half' })
    const custom = await server.account({ balance: '1', tier: 'half' })
    await custom.change({ price_factor: '1.25' })
    const resume = Promise.withResolvers<void>()
    const before = upstream.requests.length
    upstream.always(waitFor(resume.promise, respondWith('Hello!', { input: 1001, output: 101 })))
    const accounts = [plain, half, custom]
    const pending = accounts.map((account) => account.post(chatRequest('priced')))
    await waitUntil(() => upstream.requests.length - before === 3, 'three requests')
    await server.admin('PATCH', '/models/priced', { prices: { input: '9', output: '9' } })
    await server.admin('PATCH', '/tiers/half', { price_factor: '1000' })
    resume.resolve()
    const cost = 1001n * 2000n + 101n * 8000n
    for (const [index, response] of (await Promise.all(pending)).entries()) {
      const paid = [cost, cost / 2n, (cost * 5n) / 4n][index] ?? 0n
      assert.equal(response.headers.get('x-sluice-cost'), toYuan(paid))
      const account = accounts[index]
      assert.ok(account)
      assert.equal(parseAmount(await account.balance()), parseAmount('1') - paid)
    }
  })

  test('Inconsistent ledger – no request is admitted and /readyz fails until it is fixed', async () => {
    const account = await server.account({ balance: '1' })
    upstream.always(respondWith('Hello!', { input: 10, output: 5 }))
    assert.equal((await account.post(chatRequest('m'))).status, 200)
    await server.stop()
    const changeBalance = (nanos: number): Promise<void> =>
      executeSql(
        server.relay,
        `update owners set balance_nanos = balance_nanos + ${nanos} where id = 'a:${account.id}'`,
      )
    await changeBalance(5)
    const { dataDir, port } = server.relay
    server.relay = await startRelay({ dataDir, port, env, readyStatuses: [200, 503] })
    await waitUntil(
      () => /ledger mismatch: admission halted/.test(server.log.join('\n')),
      'the mismatch in the log',
    )
    await waitUntil(async () => (await fetch(`${server.url}/readyz`)).status === 503, 'not ready')
    assert.equal((await account.post(chatRequest('m'))).status, 503)
    assert.partialDeepStrictEqual(await server.verify(), { ok: false, drift: '0.000000005' })
    await server.stop()
    await changeBalance(-5)
    await server.restart()
    assert.equal((await account.post(chatRequest('m'))).status, 200)
  })
})
