/** Spend caps on the whole program: they stop service by themselves, say when it resumes, and let it resume. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nanosOf } from '../src/lib/money.ts'
import { dayEndOf, monthEndOf } from '../src/ledger/periods.ts'
import { question, type Account } from './support/server/account.ts'
import { refusalIn } from './support/client/responses.ts'
import { openHouse, shareHouse } from './support/server/test-server.ts'
import { callMany, costOfAll, withStatus } from './support/client/parallel-requests.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!', { input: 10, output: 500 }))
await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
/** Costs ¥0.00402, and holds a little more for its input. */
const asked = question('m', { max_tokens: 500 })
const cap = '0.0205'
const zone = 'America/New_York'

const capped: Record<
  string,
  { of: string; set: (account: Account, amount: string | null) => Promise<unknown> }
> = {
  'daily cap of an account': {
    of: 'daily spend cap of this account',
    set: (account, daily) => account.change({ caps: { daily } }),
  },
  'monthly cap of an account': {
    of: 'monthly spend cap of this account',
    set: (account, monthly) => account.change({ caps: { monthly } }),
  },
  'daily cap of a key': {
    of: 'daily spend cap of this key',
    set: (account, daily) => house.admin('PATCH', `/keys/${account.key.id}`, { caps: { daily } }),
  },
  'monthly cap of a key': {
    of: 'monthly spend cap of this key',
    set: (account, monthly) => house.admin('PATCH', `/keys/${account.key.id}`, { caps: { monthly } }),
  },
  'total cap of a key': {
    of: 'total spend cap of this key',
    set: (account, total) => house.admin('PATCH', `/keys/${account.key.id}`, { caps: { total } }),
  },
}

function resumption(name: string): string {
  if (name.startsWith('total')) return ''
  const end = name.startsWith('daily') ? dayEndOf(zone, Date.now()) : monthEndOf(zone, Date.now())
  return ` Service resumes at ${new Date(end).toISOString()}.`
}

for (const [name, { of, set }] of Object.entries(capped)) {
  test(`the ${name} is exact with 100 callers at once, refuses with 402, and a higher one lets service resume`, async () => {
    const account = await house.account({ balance: '1', timezone: zone })
    await set(account, cap)
    const outcomes = await callMany(account, house.url, asked, 100)
    const served = withStatus(outcomes, 200)
    const refused = withStatus(outcomes, 402)
    assert.equal(served.length + refused.length, 100)
    assert.ok(refused.every(({ code }) => code === 'spend_cap_exceeded'))
    const spent = await costOfAll(account)
    assert.ok(spent <= nanosOf(cap) && served.length >= 4, `${served.length} served for ${spent}`)

    // What is left pays for less than 16 tokens once this has taken its part.
    while ((await account.post(question('m', { max_tokens: 20 }))).status === 200);
    const reply = await account.post(asked)
    assert.equal(reply.status, 402)
    assert.equal(reply.headers.get('x-should-retry'), 'false')
    const refusal = await refusalIn(reply)
    assert.deepEqual([refusal.code, refusal.type], ['spend_cap_exceeded', 'insufficient_quota'])
    assert.equal(refusal.message, `The ${of} is reached.${resumption(name)}`)
    assert.ok((await costOfAll(account)) <= nanosOf(cap))

    await set(account, '0.05')
    assert.equal((await account.post(asked)).status, 200)
    await set(account, null)
    assert.equal((await account.post(asked)).status, 200)
  })
}

test('an empty balance is told as such, also where a cap is reached', async () => {
  const account = await house.account({ balance: '0.00001' })
  await account.change({ caps: { daily: '0' } })
  const reply = await account.post(asked)
  assert.equal(reply.status, 402)
  assert.equal((await refusalIn(reply)).code, 'insufficient_quota')
})

test('a key that was deleted while its stream runs pays what it held, and no cap is passed for it', async () => {
  const account = await house.account({ balance: '1' })
  await account.change({ caps: { daily: '0.001' } })
  upstream.next(async (exchange) => {
    await house.admin('DELETE', `/keys/${account.key.id}`)
    await saying('Hello!', { input: 10, output: 1000 })(exchange)
  })
  await (await account.post(question('m', { max_tokens: 100 }))).text()
  assert.ok(nanosOf('1') - nanosOf(await account.balance()) <= nanosOf('0.001'))
})

test('caps and requests per day survive a restart, and resume by themselves on the next local day', async (t) => {
  const preload = new URL('other-clock.fixture.ts', import.meta.url).href
  const own = await openHouse(t, { env: { NODE_OPTIONS: `--import=${preload}` } })
  const up = await own.upstream(saying('Hello!', { input: 10, output: 500 }))
  await own.model('m', { upstreams: [up], prices: ['0.002', '0.008'] })
  const spender = await own.account({ balance: '1', timezone: zone })
  await spender.change({ caps: { daily: '0.0041' } })
  const caller = await own.account({ balance: '1', timezone: zone })
  await caller.change({ limits: { rpd: 2 } })
  assert.equal((await spender.post(asked)).status, 200)
  for (const status of [200, 200, 429]) assert.equal((await caller.post(asked)).status, status)

  await own.restart()
  assert.equal((await spender.post(asked)).status, 402)
  const refused = await caller.post(asked)
  assert.equal(refused.status, 429)
  const untilMidnight = dayEndOf(zone, Date.now()) - Date.now()
  assert.ok(Math.abs(Number(refused.headers.get('retry-after')) * 1000 - untilMidnight) < 10_000)
  assert.equal((await spender.state()).spent_today, '0.00402')

  await own.restart({ CLOCK_AHEAD_MS: String(untilMidnight - 60_000) })
  assert.equal((await spender.post(asked)).status, 402)
  assert.equal((await caller.post(asked)).status, 429)

  await own.restart({ CLOCK_AHEAD_MS: String(untilMidnight) })
  assert.equal((await spender.state()).spent_today, '0')
  assert.equal((await spender.post(asked)).status, 200)
  assert.equal((await caller.post(asked)).status, 200)
  await own.nothingHeld()
})
