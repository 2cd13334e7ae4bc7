/** Rates on the whole program: requests, tokens and concurrency, of the account and of the key, and what callers are told. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question } from './support/server/account.ts'
import { eventually, refusalIn } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { mute, waitingFor } from './support/upstream/fault-injection.ts'
import { callMany, withStatus } from './support/client/parallel-requests.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!', { input: 10, output: 5 }))
await house.model('m', { upstreams: [upstream] })
const asked = question('m', { max_tokens: 10 })

for (const subject of ['account', 'key'] as const) {
  test(`of 200 requests at once under 60 a minute of the ${subject} exactly 60 are served, over two workers`, async () => {
    const account = await house.account({
      balance: '1',
      key: subject === 'key' ? { limits: { rpm: 60 } } : {},
    })
    if (subject === 'account') await account.change({ limits: { rpm: 60 } })
    const outcomes = await callMany(account, house.url, asked, 200)
    const refused = withStatus(outcomes, 429)
    assert.equal(withStatus(outcomes, 200).length, 60)
    assert.equal(refused.length, 140)
    for (const { headers, code } of refused) {
      assert.equal(code, 'rate_limit_exceeded')
      const after = Number(headers['retry-after'])
      assert.ok(after >= 50 && after <= 61, `${after}`)
      assert.ok(Number(headers['retry-after-ms']) <= after * 1000)
      assert.equal(headers['x-ratelimit-remaining-requests'], '0')
    }
    assert.equal((await account.requests({ outcome: 'ok', limit: '1000' })).length, 60)
  })
}

test('every answer tells the limits and what is left of them', async () => {
  const account = await house.account({ balance: '1' })
  await account.change({ limits: { rpm: 5, tpm: 1000 } })
  for (const left of [4, 3]) {
    const reply = await account.post(asked)
    const told = (name: string) => reply.headers.get(`x-ratelimit-${name}`)
    assert.deepEqual([told('limit-requests'), told('remaining-requests')], ['5', String(left)])
    assert.equal(told('limit-tokens'), '1000')
    assert.ok(Number(told('remaining-tokens')) < 1000)
    assert.match(told('reset-requests') ?? '', /^(1m[01]s|\d+s)$/)
    assert.match(told('reset-tokens') ?? '', /^(1m[01]s|\d+s)$/)
    await reply.text()
  }
})

test('tokens per minute are reserved as estimated and corrected by what was used', async () => {
  const account = await house.account({ balance: '1' })
  await account.change({ limits: { tpm: 1000 } })
  upstream.next(saying('Hello!', { input: 10, output: 890 }))
  assert.equal((await account.post(question('m', { max_tokens: 100 }))).status, 200)
  const refused = await account.post(question('m', { max_tokens: 200 }))
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) <= 61)
  assert.equal((await account.post(question('m', { max_tokens: 20 }))).status, 200)
})

test('a request larger than the limit is told that waiting does not help', async () => {
  const account = await house.account({ balance: '1' })
  await account.change({ limits: { tpm: 100 } })
  const reply = await account.post(question('m', { max_tokens: 1000 }))
  assert.equal(reply.status, 429)
  assert.equal(reply.headers.get('x-should-retry'), 'false')
  assert.equal(reply.headers.get('retry-after'), null)
  assert.match((await refusalIn(reply)).message, /larger than the limit/)
})

test('so many at once as allowed run, and each end, of whatever kind, makes room for another', async () => {
  const account = await house.account({ balance: '1' })
  await account.change({ limits: { concurrency: 3 } })
  for (const name of ['answered', 'refused', 'silent']) await house.model(name, { upstreams: [upstream] })
  for (let round = 0; round < 3; round += 1) {
    const word = Promise.withResolvers<void>()
    const before = upstream.requests.length
    const leaving = new AbortController()
    upstream.forModel('answered', waitingFor(word.promise, saying('Hello!')))
    upstream.forModel('refused', waitingFor(word.promise, failing(400)))
    upstream.forModel('silent', mute)
    const ended = Promise.allSettled([
      account.post(question('answered')),
      account.post(question('refused')),
      account.post(question('silent'), { signal: leaving.signal }),
    ])
    await eventually('three calls', async () => upstream.requests.length - before === 3 || undefined)
    const refused = await account.post(asked)
    assert.equal(refused.status, 429)
    assert.match((await refusalIn(refused)).message, /3 concurrent requests/)
    word.resolve()
    leaving.abort()
    await ended
    await house.nothingHeld()
  }
})

test('what the ledger refuses has taken nothing of the rates', async () => {
  const account = await house.account({ balance: '0.00000001' })
  await account.change({ limits: { rpm: 3, concurrency: 3 } })
  for (let call = 0; call < 10; call += 1) assert.equal((await account.post(asked)).status, 402)
  await account.credit('1')
  for (const status of [200, 200, 200, 429]) assert.equal((await account.post(asked)).status, status)
})

test('a tier’s limits hold for its accounts, an account’s own win, and a change counts at once', async () => {
  const account = await house.account({ balance: '1', tier: 'new' })
  await house.admin('PATCH', '/tiers/new', { rpm: 2 })
  for (const status of [200, 200, 429]) assert.equal((await account.post(asked)).status, status)
  await account.change({ limits: { rpm: 3 } })
  for (const status of [200, 429]) assert.equal((await account.post(asked)).status, status)
  await account.change({ limits: { rpm: 'unlimited' } })
  assert.equal((await account.post(asked)).status, 200)
})
