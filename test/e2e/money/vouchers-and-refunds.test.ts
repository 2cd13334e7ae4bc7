// @backend both
/** Vouchers and refunds: each is credited once, also under concurrency and after a crash. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { claimVoucher } from '../../../src/ledger/credits/vouchers.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { expectResponse, expectError, type JsonObject, type List } from '../../support/client/admin-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { openDatabase } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }))
await server.model('m', { upstreams: [upstream] })

async function createVoucher(fields: object): Promise<string> {
  const body = { count: 1, ...fields }
  const { codes } = await expectResponse<{ codes: string[] }>(server, 201, ['POST', '/vouchers', body])
  return codes[0] ?? ''
}

interface Redemption {
  readonly status: number
  readonly code: unknown
  readonly retryAfter: string | null
}

async function redeem(account: Account, code: string): Promise<Redemption> {
  const response = await server.relay.adminResponse('POST', `/accounts/${account.id}/vouchers`, { code })
  const { error } = (await response.json()) as { error?: JsonObject }
  return { status: response.status, code: error?.['code'], retryAfter: response.headers.get('retry-after') }
}

describe('Vouchers', () => {
  test('Voucher code – credits once: of 100 concurrent redemptions over two accounts, one', async () => {
    const code = await createVoucher({ amount: '5' })
    const [alice, bob] = [await server.account(), await server.account()]
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, call) => redeem(call % 2 === 0 ? alice : bob, code)),
    )
    const others = outcomes.filter(({ status }) => status !== 201)
    assert.equal(others.length, 99)
    assert.ok(others.every((each) => each.status === 409 && each.code === 'voucher_used'))
    const [owner, other] = (await alice.balance()) === '5' ? [alice, bob] : [bob, alice]
    assert.deepEqual([await owner.balance(), await other.balance()], ['5', '0'])
    const { data } = await expectResponse<List>(server, 200, ['GET', `/vouchers?account=${owner.id}`])
    assert.partialDeepStrictEqual(data, [{ status: 'redeemed', redeemed_by: owner.id, amount: '5' }])
    const entries = await expectResponse<List>(server, 200, ['GET', `/accounts/${owner.id}/entries`])
    assert.partialDeepStrictEqual(entries.data, [
      { kind: 'credit', source: 'voucher', amount: '5', reference: `voucher:${String(data[0]?.['id'])}` },
    ])
  })

  test('Voucher code – ignores case and spaces; an unusable one returns the reason', async () => {
    const account = await server.account()
    const redeemError = async (code: string): Promise<unknown[]> => {
      const { status, code: reason } = await redeem(account, code)
      return [status, reason]
    }
    const expiring = await createVoucher({
      amount: '3',
      expires_at: new Date(Date.now() + 2000).toISOString(),
    })
    const typed = await createVoucher({ amount: '1' })
    assert.equal((await redeem(account, ` ${typed.toLowerCase().replaceAll('-', ' ')} `)).status, 201)
    assert.deepEqual(await redeemError(typed), [409, 'voucher_used'])

    const revoked = await createVoucher({ amount: '2' })
    const unused = await expectResponse<List>(server, 200, ['GET', '/vouchers?status=unused&limit=1'])
    const path = `/vouchers/${String(unused.data[0]?.['id'])}/revoke`
    assert.partialDeepStrictEqual(await expectResponse(server, 200, ['POST', path]), {
      status: 'revoked',
      amount: '2',
    })
    await expectError(server, 409, ['POST', path])
    await expectError(server, 404, ['POST', '/vouchers/vch_none/revoke'])
    assert.deepEqual(await redeemError(revoked), [409, 'voucher_revoked'])

    const expired = await waitUntil(async () => {
      return (await expectResponse<List>(server, 200, ['GET', '/vouchers?status=expired'])).data[0]
    }, 'an expired voucher')
    assert.equal(expired['amount'], '3')
    assert.deepEqual(await redeemError(expiring), [409, 'voucher_expired'])
    for (const code of ['AAAA-BBBB-CCCC-DDDD-EEEE', 'nonsense', '', '💰']) {
      assert.deepEqual(await redeemError(code), [404, 'voucher_unknown'])
    }
    assert.equal(await account.balance(), '1')
    await expectError(server, 404, ['POST', '/accounts/acc_none/vouchers', { code: 'x' }])
  })

  test('Guessing voucher codes – is throttled for the guessing account only', async () => {
    const [guesser, other] = [await server.account(), await server.account()]
    const code = await createVoucher({ amount: '1' })
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, call) => redeem(guesser, `AAAA-BBBB-CCCC-DDDD-00${call}`)),
    )
    assert.equal(outcomes.filter(({ status }) => status === 404).length, 10)
    const limited = outcomes.filter(({ status }) => status === 429)
    assert.equal(limited.length, 30)
    assert.ok(limited.every(({ retryAfter }) => Number(retryAfter) > 500 && Number(retryAfter) <= 600))
    assert.equal((await redeem(guesser, code)).status, 429)
    assert.equal((await redeem(other, code)).status, 201)
  })

  test('Redemption recorded before a crash – is credited once at the next start', async () => {
    const account = await server.account({ tier: 'new' })
    const code = await createVoucher({ amount: '7' })
    await server.kill()
    const store = await openDatabase(server.relay)
    await claimVoucher(store.db, code, { account: account.id, at: Date.now(), by: 'test' })
    await store.close()
    await server.restart()
    await waitUntil(async () => (await account.balance()) === '7', 'the credit')
    await waitUntil(async () => (await account.state()).tier === 'standard', 'the tier')
    await server.kill()
    await server.restart()
    assert.equal((await redeem(account, code)).status, 409)
    assert.equal(await account.balance(), '7')
  })
})

describe('Refunds', () => {
  test('Request – is refunded in parts or in full, at most its cost, once per idempotency key', async () => {
    const account = await server.account({ balance: '1' })
    const response = await account.post(chatRequest('m'))
    await response.text()
    const path = `/requests/${response.headers.get('x-request-id') ?? ''}/refund`
    const reason = 'the answer was wrong'
    const part = { reason, amount: '0.0002', idempotency_key: 'ticket-1' }
    const refund = await expectResponse(server, 201, ['POST', path, part])
    assert.partialDeepStrictEqual(refund, {
      amount: '0.0002',
      cost: '0.0022',
      refunded: '0.0002',
      balance: '0.998',
    })
    assert.deepEqual(await expectResponse(server, 200, ['POST', path, part]), refund)
    assert.equal(
      await expectError(server, 409, ['POST', path, { ...part, amount: '0.0003' }]),
      'idempotency_key',
    )
    assert.equal(await expectError(server, 409, ['POST', path, { reason, amount: '0.002000001' }]), 'amount')
    assert.equal(await expectError(server, 400, ['POST', path, { reason, amount: '0' }]), 'amount')
    assert.equal(await expectError(server, 400, ['POST', path, { amount: '0.0001' }]), 'reason')
    const responses = await Promise.all(
      Array.from({ length: 20 }, () =>
        server.relay.adminResponse('POST', path, { reason, amount: '0.0005' }),
      ),
    )
    assert.equal(
      responses.filter(({ status }) => status === 201).length,
      4,
      'the rest covers ¥0.0005 four times',
    )
    assert.ok(responses.every(({ status }) => status === 201 || status === 409))
    assert.equal(await expectError(server, 409, ['POST', path, { reason }]), 'amount')
    assert.equal(await account.balance(), '1')
    const { data } = await expectResponse<List>(server, 200, [
      'GET',
      `/accounts/${account.id}/entries?limit=5`,
    ])
    assert.deepEqual(new Set(data.map((entry) => entry['source'])), new Set(['refund']))
    assert.deepEqual(new Set(data.map((entry) => entry['reason'])), new Set([reason]))
    await expectError(server, 404, ['POST', '/requests/req_none/refund', { reason }])
  })

  test('20 concurrent full refunds – refund the request once', async () => {
    const account = await server.account({ balance: '1' })
    const response = await account.post(chatRequest('m'))
    await response.text()
    const path = `/requests/${response.headers.get('x-request-id') ?? ''}/refund`
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => server.relay.adminResponse('POST', path, { reason: 'twice' })),
    )
    assert.equal(responses.filter(({ status }) => status === 201).length, 1)
    assert.equal(await account.balance(), '1')
  })
})
