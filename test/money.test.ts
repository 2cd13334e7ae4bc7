/** Money where many want it at once: balances, holds, credits taken back, prices and factors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decimalOf, nanosOf } from '../src/lib/money.ts'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { openHouse, shareHouse } from './support/server/test-server.ts'
import { pausingAfter, waitingFor } from './support/upstream/fault-injection.ts'
import { callMany, costOfAll, neverBelowZero, withStatus } from './support/client/parallel-requests.ts'
import { saying, sayingMany, words } from './support/upstream/scripted-responses.ts'
import { tamperWith } from './support/server/database-access.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!'))
/** In nanos per token: 2,000 in, 8,000 out. */
const prices: [string, string] = ['0.002', '0.008']
await house.model('m', { upstreams: [upstream], prices, max_output_tokens: 8192 })

for (let trial = 1; trial <= 3; trial += 1) {
  test(`500 callers at once against a balance for 10 requests: charges within it, never below zero (trial ${trial})`, async () => {
    upstream.always(saying('Hello!', { input: 10, output: 500 }))
    const account = await house.account({ balance: '0.04025' })
    const asked = question('m', { max_tokens: 500, stream: trial % 2 === 0 })
    const outcomes = await neverBelowZero(account, callMany(account, house.url, asked, 500))
    const served = withStatus(outcomes, 200)
    const refused = withStatus(outcomes, 402)
    assert.equal(served.length + refused.length, 500)
    assert.ok(refused.every(({ code }) => code === 'insufficient_quota'))
    assert.ok(refused.every(({ headers }) => headers['x-should-retry'] === 'false'))
    const cost = await costOfAll(account)
    assert.ok(cost <= nanosOf('0.04025'), `${cost}`)
    assert.equal(nanosOf(await account.balance()), nanosOf('0.04025') - cost)
    // What is left may admit one more with a lower maximum, which this upstream ignores: the money above is the bound.
    if (trial % 2 === 1) assert.ok(served.length >= 9, `${served.length} were served`)
  })
}

/** Nanos as the contract writes them. */
const yuan = (nanos: bigint): string => decimalOf(nanos)

test('M6: a balance of 20 times the true cost admits at least 18 of 20 streams at once', async (t) => {
  const [input, deltas] = [1000, 256]
  const output = Math.ceil(words(deltas).join('').length / 4)
  const body = question('m', { stream: true, messages: [{ role: 'user', content: 'x'.repeat(3900) }] })
  const account = await house.account({
    balance: yuan(20n * (BigInt(input) * 2000n + BigInt(output) * 8000n)),
  })
  const word = Promise.withResolvers<void>()
  const before = upstream.requests.length
  upstream.always(pausingAfter(5, word.promise, sayingMany(deltas, { input, output })))
  const calling = callMany(account, house.url, body, 20)
  await eventually('18 streams at once', async () => upstream.requests.length - before >= 18 || undefined)
  word.resolve()
  const admitted = withStatus(await neverBelowZero(account, calling), 200)
  assert.ok(admitted.length >= 18, `${admitted.length} were admitted`)
  const finished = admitted.filter(({ text }) => text.includes('"finish_reason":"stop"'))
  t.diagnostic(`${admitted.length} streams admitted, ${finished.length} to their own end`)
  const cost = await costOfAll(account)
  assert.equal(
    nanosOf(await account.balance()) + cost,
    20n * (BigInt(input) * 2000n + BigInt(output) * 8000n),
  )
})

test('M6: a balance worth 20 answers of 1,024 tokens admits at least 18 of 20 whole requests without a maximum', async () => {
  const balance = 20n * (10n * 2000n + 1024n * 8000n)
  const account = await house.account({ balance: yuan(balance) })
  const word = Promise.withResolvers<void>()
  const before = upstream.requests.length
  upstream.always(waitingFor(word.promise, saying('Hello!', { input: 10, output: 1024 })))
  const calling = callMany(account, house.url, question('m'), 20)
  await eventually('18 requests at once', async () => upstream.requests.length - before >= 18 || undefined)
  for (const { json } of upstream.requests.slice(before)) assert.ok(Number(json['max_tokens']) >= 16)
  word.resolve()
  const admitted = withStatus(await neverBelowZero(account, calling), 200)
  assert.ok(admitted.length >= 18, `${admitted.length} were admitted`)
  assert.equal(nanosOf(await account.balance()), balance - (await costOfAll(account)))
})

test('what a running request holds cannot be taken back; the rest can', async () => {
  const account = await house.account({ balance: '1' })
  const word = Promise.withResolvers<void>()
  upstream.next(waitingFor(word.promise, saying('Hello!', { input: 10, output: 5 })))
  const calling = account.post(question('m', { max_tokens: 1000 }))
  await eventually('a hold', async () => Number(await account.held()) > 0 || undefined)
  const { held, available } = await account.state()
  assert.equal(nanosOf(held) + nanosOf(available), nanosOf('1'))
  const take = (amount: string, key: string) =>
    house.relay.adminReply('POST', `/accounts/${account.id}/credits`, {
      amount: `-${amount}`,
      reason: 'a test',
      idempotency_key: key,
    })
  assert.equal((await take('1', 'all')).status, 409)
  assert.equal((await take(available, 'free')).status, 201)
  assert.equal((await account.post(question('m'))).status, 402)
  word.resolve()
  assert.equal((await calling).status, 200)
  assert.equal(nanosOf(await account.balance()), nanosOf(held) - 60_000n)
})

test('the price that was in force at the hold is the one that is paid; a factor of the tier or the account multiplies it', async () => {
  await house.model('priced', { upstreams: [upstream], prices: ['0.002', '0.008'] })
  await house.admin('POST', '/tiers', {
    name: 'half',
    rpm: null,
    tpm: null,
    rpd: null,
    concurrency: null,
    price_factor: '0.5',
  })
  const plain = await house.account({ balance: '1' })
  const half = await house.account({ balance: '1', tier: 'half' })
  const own = await house.account({ balance: '1', tier: 'half' })
  await own.change({ price_factor: '1.25' })
  const word = Promise.withResolvers<void>()
  const before = upstream.requests.length
  upstream.always(waitingFor(word.promise, saying('Hello!', { input: 1001, output: 101 })))
  const accounts = [plain, half, own]
  const calling = accounts.map((account) => account.post(question('priced')))
  await eventually('three calls', async () => upstream.requests.length - before === 3 || undefined)
  await house.admin('PATCH', '/models/priced', { prices: { input: '9', output: '9' } })
  await house.admin('PATCH', '/tiers/half', { price_factor: '1000' })
  word.resolve()
  const cost = 1001n * 2000n + 101n * 8000n
  for (const [index, reply] of (await Promise.all(calling)).entries()) {
    const paid = [cost, cost / 2n, (cost * 5n) / 4n][index] ?? 0n
    assert.equal(reply.headers.get('x-sluice-cost'), yuan(paid))
    const account = accounts[index]
    assert.ok(account)
    assert.equal(nanosOf(await account.balance()), nanosOf('1') - paid)
  }
})

test('a ledger that does not add up admits nobody, and is not ready, until somebody has looked at it', async (t) => {
  const own = await openHouse(t)
  const up = await own.upstream(saying('Hello!', { input: 10, output: 5 }))
  await own.model('m', { upstreams: [up] })
  const account = await own.account({ balance: '1' })
  assert.equal((await account.post(question('m'))).status, 200)
  await own.stop()
  const change = (nanos: number): Promise<void> =>
    tamperWith(
      own.relay,
      `update owners set balance_nanos = balance_nanos + ${nanos} where id = 'a:${account.id}'`,
    )
  await change(5)
  await own.restart()
  await eventually('not ready', async () => (await fetch(`${own.url}/readyz`)).status === 503 || undefined)
  assert.equal((await account.post(question('m'))).status, 503)
  assert.match(own.log.join('\n'), /the ledger does not add up/)
  assert.partialDeepStrictEqual(await own.verify(), { ok: false, drift: '0.000000005' })
  await own.stop()
  await change(-5)
  await own.restart()
  assert.equal((await account.post(question('m'))).status, 200)
})
