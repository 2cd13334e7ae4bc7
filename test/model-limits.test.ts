/** Limits of a model on the whole program: for each account, beside those of the account and its key, all or nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question, type Account } from './support/server/account.ts'
import { refusalIn } from './support/client/responses.ts'
import { answered, refused } from './contract.ts'
import { openHouse, shareHouse } from './support/server/test-server.ts'
import { callMany, withStatus } from './support/client/parallel-requests.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!', { input: 10, output: 5 }))
await house.model('plain', { upstreams: [upstream] })

async function statusOf(account: Account, model: string, fields: object = {}): Promise<number> {
  const reply = await account.post(question(model, { max_tokens: 10, ...fields }))
  await reply.text()
  return reply.status
}

test('of 200 at once under 20 a minute of a model 20 are served, to each account, and other models go on', async () => {
  await house.model('few', { upstreams: [upstream], limits: { rpm: 20 } })
  const [alice, bob] = [await house.account({ balance: '1' }), await house.account({ balance: '1' })]
  const asked = question('few', { max_tokens: 10 })
  const outcomes = await callMany(alice, house.url, asked, 200)
  assert.equal(withStatus(outcomes, 200).length, 20)
  const refusals = withStatus(outcomes, 429)
  assert.equal(refusals.length, 180)
  for (const { headers, text } of refusals) {
    assert.match(text, /The limit of this model is reached: 20 requests per minute/)
    const after = Number(headers['retry-after'])
    assert.ok(after >= 50 && after <= 61, `${after}`)
  }
  await alice.newKey()
  assert.equal(await statusOf(alice, 'few'), 429, 'another key is no other account')
  assert.equal(await statusOf(alice, 'plain'), 200)
  assert.equal(await statusOf(bob, 'few'), 200)
})

test('headers tell the tightest window, and a refusal by the model has taken nothing of the account', async () => {
  await house.model('tight', { upstreams: [upstream], limits: { rpm: 3, tpm: 100_000 } })
  const account = await house.account({ balance: '1' })
  await account.change({ limits: { rpm: 5, tpm: 50_000 } })
  const left = async (model: string): Promise<(string | null)[]> => {
    const reply = await account.post(question(model, { max_tokens: 10 }))
    await reply.text()
    return ['limit-requests', 'remaining-requests', 'limit-tokens'].map((name) =>
      reply.headers.get(`x-ratelimit-${name}`),
    )
  }
  assert.deepEqual(await left('tight'), ['3', '2', '50000'])
  assert.deepEqual(await left('plain'), ['5', '3', '50000'])
  await left('tight')
  await left('tight')
  for (let call = 0; call < 5; call += 1) assert.equal(await statusOf(account, 'tight'), 429)
  assert.deepEqual(await left('plain'), ['5', '0', '50000'])
})

test('tokens and slots of a model are limited as those of an account are', async () => {
  await house.model('small', { upstreams: [upstream], limits: { tpm: 100 } })
  const account = await house.account({ balance: '1' })
  const reply = await account.post(question('small', { max_tokens: 1000 }))
  assert.deepEqual([reply.status, reply.headers.get('x-should-retry')], [429, 'false'])
  assert.match((await refusalIn(reply)).message, /larger than the limit of this model: 100 tokens per minute/)
  assert.equal(await statusOf(account, 'small'), 200)
  await house.model('closed', { upstreams: [upstream], limits: { concurrency: 0 } })
  assert.equal(await statusOf(account, 'closed'), 429)
})

test('a change of a model’s limits counts at once, null removes, and several at once all hold', async () => {
  await house.model('changing', { upstreams: [upstream], limits: { rpm: 1, rpd: 100 } })
  const account = await house.account({ balance: '1' })
  assert.deepEqual([await statusOf(account, 'changing'), await statusOf(account, 'changing')], [200, 429])
  const patch = (limits: object | null) => answered(house, 200, ['PATCH', '/models/changing', { limits }])
  assert.deepEqual((await patch({ rpm: 2 }))['limits'], { rpm: 2, tpm: null, rpd: 100, concurrency: null })
  assert.deepEqual([await statusOf(account, 'changing'), await statusOf(account, 'changing')], [200, 429])
  assert.deepEqual((await patch({ rpm: null }))['limits'], {
    rpm: null,
    tpm: null,
    rpd: 100,
    concurrency: null,
  })
  assert.equal(await statusOf(account, 'changing'), 200)
  const named = [
    { limits: { rpm: 7 } },
    { limits: { tpm: 8 } },
    { limits: { rpd: 9 } },
    { prefer: 'cheapest' },
  ]
  await Promise.all(
    [...named, { affinity: true }].map((each) => answered(house, 200, ['PATCH', '/models/changing', each])),
  )
  const { limits: all, prefer, affinity } = await answered(house, 200, ['GET', '/models/changing'])
  assert.deepEqual([all, prefer, affinity], [{ rpm: 7, tpm: 8, rpd: 9, concurrency: null }, 'cheapest', true])
  assert.equal((await patch(null))['limits'], null)
  for (const limits of [{ rpm: -1 }, { tpm: 'many' }, { cap: 1 }])
    await refused(house, 400, ['PATCH', '/models/changing', { limits }])
})

test('requests per day of a model survive kill -9, and Retry-After is the end of the account’s day', async (t) => {
  const own = await openHouse(t)
  const up = await own.upstream(saying('Hello!', { input: 10, output: 5 }))
  await own.model('daily', { upstreams: [up], limits: { rpd: 3 } })
  const account = await own.account({ balance: '1', timezone: 'Asia/Shanghai' })
  for (let call = 0; call < 2; call += 1) assert.equal(await statusOf(account, 'daily'), 200)
  await own.kill()
  await own.restart()
  assert.equal(await statusOf(account, 'daily'), 200)
  const reply = await account.post(question('daily', { max_tokens: 10 }))
  assert.equal(reply.status, 429)
  const midnight = new Date(Date.now() + 8 * 3_600_000).setUTCHours(24, 0, 0, 0) - 8 * 3_600_000
  const after = Number(reply.headers.get('retry-after')) * 1000
  assert.ok(Math.abs(Date.now() + after - midnight) < 5000, `${after} ms until ${midnight}`)
  assert.match((await refusalIn(reply)).message, /requests per day of this model/)
  await own.nothingHeld()
})
