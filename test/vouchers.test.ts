/** Vouchers and refunds on the whole program: each is credited once, whatever comes between. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimVoucher } from '../src/ledger/credits/vouchers.ts'
import { question, type Account } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { answered, refused, type Fields, type List } from './contract.ts'
import { openHouse, shareHouse, type House } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'
import { openDatabaseOf } from './support/server/database-access.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!', { input: 1000, output: 100 }))
await house.model('m', { upstreams: [upstream] })

async function codeOf(order: object, at: House = house): Promise<string> {
  const body = { count: 1, ...order }
  const { codes } = await answered<{ codes: string[] }>(at, 201, ['POST', '/vouchers', body])
  return codes[0] ?? ''
}

interface Redemption {
  readonly status: number
  readonly code: unknown
  readonly retryAfter: string | null
}

async function redeem(account: Account, code: string, at: House = house): Promise<Redemption> {
  const reply = await at.relay.adminReply('POST', `/accounts/${account.id}/vouchers`, { code })
  const { error } = (await reply.json()) as { error?: Fields }
  return { status: reply.status, code: error?.['code'], retryAfter: reply.headers.get('retry-after') }
}

test('a code credits once ever: of a hundred at once, for two accounts over two workers, one', async () => {
  const code = await codeOf({ amount: '5' })
  const [alice, bob] = [await house.account(), await house.account()]
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, (_, call) => redeem(call % 2 === 0 ? alice : bob, code)),
  )
  const others = outcomes.filter(({ status }) => status !== 201)
  assert.equal(others.length, 99)
  assert.ok(others.every((each) => each.status === 409 && each.code === 'voucher_used'))
  const [owner, other] = (await alice.balance()) === '5' ? [alice, bob] : [bob, alice]
  assert.deepEqual([await owner.balance(), await other.balance()], ['5', '0'])
  const { data } = await answered<List>(house, 200, ['GET', `/vouchers?account=${owner.id}`])
  assert.partialDeepStrictEqual(data, [{ status: 'redeemed', redeemed_by: owner.id, amount: '5' }])
  const entries = await answered<List>(house, 200, ['GET', `/accounts/${owner.id}/entries`])
  assert.partialDeepStrictEqual(entries.data, [
    { kind: 'credit', source: 'voucher', amount: '5', reference: `voucher:${String(data[0]?.['id'])}` },
  ])
})

test('a code may be typed in small letters with spaces, and one that is worth nothing says why', async () => {
  const account = await house.account()
  const told = async (code: string): Promise<unknown[]> => {
    const { status, code: why } = await redeem(account, code)
    return [status, why]
  }
  const typed = await codeOf({ amount: '1' })
  assert.equal((await redeem(account, ` ${typed.toLowerCase().replaceAll('-', ' ')} `)).status, 201)
  assert.deepEqual(await told(typed), [409, 'voucher_used'])

  const revoked = await codeOf({ amount: '2' })
  const unused = await answered<List>(house, 200, ['GET', '/vouchers?status=unused&limit=1'])
  const path = `/vouchers/${String(unused.data[0]?.['id'])}/revoke`
  assert.partialDeepStrictEqual(await answered(house, 200, ['POST', path]), {
    status: 'revoked',
    amount: '2',
  })
  await refused(house, 409, ['POST', path])
  await refused(house, 404, ['POST', '/vouchers/vch_none/revoke'])
  assert.deepEqual(await told(revoked), [409, 'voucher_revoked'])

  const late = await codeOf({ amount: '3', expires_at: new Date(Date.now() + 200).toISOString() })
  const expired = await eventually('an expired voucher', async () => {
    return (await answered<List>(house, 200, ['GET', '/vouchers?status=expired'])).data[0]
  })
  assert.equal(expired['amount'], '3')
  assert.deepEqual(await told(late), [409, 'voucher_expired'])
  for (const code of ['AAAA-BBBB-CCCC-DDDD-EEEE', 'nonsense', '', '💰']) {
    assert.deepEqual(await told(code), [404, 'voucher_unknown'])
  }
  assert.equal(await account.balance(), '1')
  await refused(house, 404, ['POST', '/accounts/acc_none/vouchers', { code: 'x' }])
})

test('who guesses codes is held back, many at once as well, and nobody else is', async () => {
  const [guesser, other] = [await house.account(), await house.account()]
  const code = await codeOf({ amount: '1' })
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, call) => redeem(guesser, `AAAA-BBBB-CCCC-DDDD-00${call}`)),
  )
  assert.equal(outcomes.filter(({ status }) => status === 404).length, 10)
  const held = outcomes.filter(({ status }) => status === 429)
  assert.equal(held.length, 30)
  assert.ok(held.every(({ retryAfter }) => Number(retryAfter) > 500 && Number(retryAfter) <= 600))
  assert.equal((await redeem(guesser, code)).status, 429)
  assert.equal((await redeem(other, code)).status, 201)
})

test('a voucher whose use was written down before a crash is credited at the next start, once', async (t) => {
  const own = await openHouse(t)
  const account = await own.account({ tier: 'new' })
  const code = await codeOf({ amount: '7' }, own)
  await own.kill()
  const store = await openDatabaseOf(own.relay)
  await claimVoucher(store.db, code, { account: account.id, at: Date.now(), by: 'test' })
  await store.close()
  for (let start = 0; start < 2; start += 1) {
    await own.restart()
    await eventually('the credit', async () => (await account.balance()) === '7' || undefined)
    await eventually('the tier', async () => (await account.state()).tier === 'standard' || undefined)
    await own.kill()
  }
  await own.restart()
  assert.equal((await redeem(account, code, own)).status, 409)
  assert.equal(await account.balance(), '7')
  await own.nothingHeld()
})

test('a request is given back in parts or as a whole, never more than it cost, once for each key', async () => {
  const account = await house.account({ balance: '1' })
  const reply = await account.post(question('m'))
  await reply.text()
  const path = `/requests/${reply.headers.get('x-request-id') ?? ''}/refund`
  const reason = 'the answer was wrong'
  const part = { reason, amount: '0.0002', idempotency_key: 'ticket-1' }
  const given = await answered(house, 201, ['POST', path, part])
  assert.partialDeepStrictEqual(given, {
    amount: '0.0002',
    cost: '0.0022',
    refunded: '0.0002',
    balance: '0.998',
  })
  assert.deepEqual(await answered(house, 200, ['POST', path, part]), given)
  assert.equal(await refused(house, 409, ['POST', path, { ...part, amount: '0.0003' }]), 'idempotency_key')
  assert.equal(await refused(house, 409, ['POST', path, { reason, amount: '0.002000001' }]), 'amount')
  assert.equal(await refused(house, 400, ['POST', path, { reason, amount: '0' }]), 'amount')
  assert.equal(await refused(house, 400, ['POST', path, { amount: '0.0001' }]), 'reason')
  const many = await Promise.all(
    Array.from({ length: 20 }, () => house.relay.adminReply('POST', path, { reason, amount: '0.0005' })),
  )
  assert.equal(many.filter(({ status }) => status === 201).length, 4, 'four times ¥0.0005 are left')
  assert.ok(many.every(({ status }) => status === 201 || status === 409))
  assert.equal(await refused(house, 409, ['POST', path, { reason }]), 'amount')
  assert.equal(await account.balance(), '1')
  const { data } = await answered<List>(house, 200, ['GET', `/accounts/${account.id}/entries?limit=5`])
  assert.deepEqual(new Set(data.map((entry) => entry['source'])), new Set(['refund']))
  assert.deepEqual(new Set(data.map((entry) => entry['reason'])), new Set([reason]))
  await refused(house, 404, ['POST', '/requests/req_none/refund', { reason }])
})

test('twenty whole refunds at once give a request back once', async () => {
  const account = await house.account({ balance: '1' })
  const reply = await account.post(question('m'))
  await reply.text()
  const path = `/requests/${reply.headers.get('x-request-id') ?? ''}/refund`
  const many = await Promise.all(
    Array.from({ length: 20 }, () => house.relay.adminReply('POST', path, { reason: 'twice' })),
  )
  assert.equal(many.filter(({ status }) => status === 201).length, 1)
  assert.equal(await account.balance(), '1')
})
