/** Notices on the whole program: money and caps that end are told once, in time, and without a part in any request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayEndOf } from '../src/ledger/periods.ts'
import { question, type Account } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { openHouse, shareHouse, type House } from './support/server/test-server.ts'
import { callMany } from './support/client/parallel-requests.ts'
import { saying } from './support/upstream/scripted-responses.ts'

interface Notice {
  readonly code: string
  readonly severity: string
  readonly kind: string
  readonly title: string
  readonly text: string
  readonly params: Record<string, string>
}

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!', { input: 10, output: 490 }))
await house.model('m', { upstreams: [upstream] })
/** Costs ¥0.001, and holds a little more. */
const asked = question('m', { max_tokens: 490 })

async function noticesOf(account: Account, at: House = house): Promise<Notice[]> {
  return (await at.admin<{ data: Notice[] }>('GET', `/notices?account=${account.id}`)).data
}

/** The codes of an account's notices, oldest first, once there are so many. */
function codesOf(account: Account, count: number, at: House = house): Promise<string[]> {
  return eventually(`${count} notices`, async () => {
    const codes = (await noticesOf(account, at)).map((notice) => notice.code).toReversed()
    return codes.length >= count ? codes : undefined
  })
}

async function ask(account: Account, times: number): Promise<number> {
  let status = 0
  for (let call = 0; call < times; call += 1) {
    const reply = await account.post(asked)
    await reply.text()
    status = reply.status
  }
  return status
}

test('a daily cap is told at half, at 80 % and when it is reached, once each, with the time at which service resumes', async () => {
  const zone = 'America/New_York'
  const account = await house.account({ balance: '1', timezone: zone })
  await account.change({ caps: { daily: '0.01' } })
  await ask(account, 4)
  assert.deepEqual(await noticesOf(account), [])
  await ask(account, 3)
  const half = 'account_daily_cap_50'
  assert.deepEqual(await codesOf(account, 1), [half])
  await ask(account, 1)
  assert.deepEqual(await codesOf(account, 2), [half, 'account_daily_cap_80'])
  while ((await ask(account, 1)) === 200);
  await ask(account, 5)
  assert.deepEqual(await codesOf(account, 3), [half, 'account_daily_cap_80', 'account_daily_cap_100'])
  const [reached] = await noticesOf(account)
  assert.partialDeepStrictEqual(reached, {
    kind: 'spend_cap',
    severity: 'critical',
    title: 'The daily spend cap of your account is reached',
    params: {
      cap: '0.01',
      currency: 'CNY',
      resumes_at: new Date(dayEndOf(zone, Date.now())).toISOString(),
    },
  })
  assert.match(reached?.text ?? '', /Service resumes at \d{4}-\d\d-\d\d 00:00 \(America\/New_York\)\.$/)
  await account.change({ caps: { daily: '0.02' } })
  await ask(account, 7)
  const again = (await codesOf(account, 5)).slice(3)
  assert.deepEqual(again, [half, 'account_daily_cap_80'], 'of another cap it is told again')
})

test('each cap of an account and of its keys has its own notices, which name the key', async () => {
  const key = { name: 'production', caps: { daily: '0.003', monthly: '0.003', total: '0.003' } }
  const account = await house.account({ balance: '1', key })
  await account.change({ caps: { monthly: '0.003' } })
  while ((await ask(account, 1)) === 200);
  const codes = await codesOf(account, 9)
  for (const name of ['account_monthly', 'key_daily', 'key_monthly', 'key_total'])
    for (const level of [50, 80])
      assert.ok(codes.includes(`${name}_cap_${level}`), `${name} at ${level} of ${codes.join()}`)
  const ofKey = (await noticesOf(account)).find((notice) => notice.code.startsWith('key_daily'))
  assert.match(ofKey?.title ?? '', /key “production”/)
  assert.equal(ofKey?.params['key_id'], account.key.id)
})

test('a hundred at once, over two workers and a start, raise each notice once', async (t) => {
  const own = await openHouse(t, { env: { WORKERS: '2' } })
  const up = await own.upstream(saying('Hello!', { input: 10, output: 490 }))
  await own.model('m', { upstreams: [up] })
  const account = await own.account({ balance: '1' })
  await account.change({ caps: { daily: '0.02' } })
  // One by one past the half: of bills that arrive together only the higher levels are told.
  assert.equal(await ask(account, 11), 200)
  for (let round = 0; round < 5; round += 1) await callMany(account, own.url, asked, 20)
  const told = ['account_daily_cap_50', 'account_daily_cap_80', 'account_daily_cap_100']
  assert.deepEqual(await codesOf(account, 3, own), told)
  await own.kill()
  await own.restart()
  await callMany(account, own.url, asked, 20)
  assert.deepEqual(await codesOf(account, 3, own), told)
  await own.nothingHeld()
})

test('a balance is told when it is low, and when it no longer covers a request; a credit begins anew', async () => {
  const account = await house.account({ balance: '0.02' })
  await ask(account, 18)
  assert.deepEqual(await noticesOf(account), [], 'a tenth of the credit is left')
  await ask(account, 1)
  assert.deepEqual(await codesOf(account, 1), ['balance_low'])
  while ((await ask(account, 1)) === 200);
  assert.deepEqual(await codesOf(account, 2), ['balance_low', 'balance_used_up'])
  await account.credit('0.015')
  while ((await ask(account, 1)) === 200);
  const codes = await codesOf(account, 4)
  assert.deepEqual(codes.slice(2), ['balance_low', 'balance_used_up'])
})

test('the threshold of a low balance is the account’s to set, and 0 is silence', async () => {
  const [alice, bob] = [await house.account({ balance: '0.02' }), await house.account({ balance: '0.02' })]
  assert.partialDeepStrictEqual(await alice.change({ low_balance: '0.0185' }), { low_balance: '0.0185' })
  await bob.change({ low_balance: '0' })
  for (const account of [alice, bob]) await ask(account, 19)
  assert.deepEqual(await codesOf(alice, 1), ['balance_low'])
  assert.equal((await noticesOf(alice))[0]?.params['balance'], '0.018')
  assert.deepEqual(await noticesOf(bob), [])
  assert.partialDeepStrictEqual(await alice.change({ low_balance: null }), { low_balance: null })
})

test('where other requests hold what is left, nobody is told that a cap is reached', async () => {
  const account = await house.account({ balance: '1' })
  await account.change({ caps: { daily: '0.1' } })
  const outcomes = await callMany(account, house.url, question('m', { max_tokens: 8000 }), 30)
  assert.ok(outcomes.some(({ status }) => status === 402))
  await house.nothingHeld()
  const spent = Number((await account.state()).spent_today)
  assert.ok(spent < 0.08, `${spent} spent`)
  assert.deepEqual(await noticesOf(account), [])
})
