// @backend both
/** Referrals: from the link of one account to the rewards of both, over a real payment, and back. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../../../src/db/schema/schema.ts'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { refundEndpoints } from '../../../src/http/console/billing/payment-refunds.ts'
import { referralEndpoints } from '../../../src/http/console/billing/referral.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import {
  ConsoleSession,
  setUpOperator,
  signUpCustomer,
  validPassword,
} from '../../support/console/console-session.ts'
import { openDatabase } from '../../support/server/database-access.ts'
import { sharedTestServer, startTestServer } from '../../support/server/test-server.ts'
import { waitUntil } from '../../support/wait.ts'

const env = {
  BANK_TRANSFER: 'Sluice Ltd, Bank of Examples',
  BANK_ACCOUNT: '6222000012345678',
  REFERRAL_REWARD_REFERRER: '20',
  REFERRAL_REWARD_INVITED: '10% max 5',
}
const server = await sharedTestServer({ env })

interface ListedReferral {
  readonly id: string
  readonly referrer: string
  readonly invited: string
  readonly state: string
  readonly reason: string | null
}

const accountOf = async (customer: ConsoleSession): Promise<string> =>
  (await customer.session()).account?.id ?? ''
const balanceOf = async (customer: ConsoleSession): Promise<string> =>
  (await customer.call(billingEndpoints.wallet)).balance

async function codeOf(customer: ConsoleSession): Promise<string> {
  const { offer } = await customer.call(referralEndpoints.referral)
  assert.ok(offer)
  return offer.code
}

async function signUpWith(referral: string, email: string): Promise<ConsoleSession> {
  const session = new ConsoleSession(server.url)
  await session.call(signUpEndpoints.signUp, { body: { email, password: validPassword, referral } })
  return session
}

async function referralOf(customer: ConsoleSession): Promise<ListedReferral | undefined> {
  const path = `/referrals?invited=${await accountOf(customer)}`
  return (await expectResponse<List<ListedReferral>>(server, 200, ['GET', path])).data[0]
}

/** Pays by a transfer that an operator confirms. */
async function pay(customer: ConsoleSession, amount: string, payer: string): Promise<PaymentOrder> {
  const order = await customer.call(orderEndpoints.createOrder, { body: { method: 'bank', amount } })
  const transfer = { received: amount, transaction: `B-${order.id}`, date: '2026-11-28', payer }
  return expectResponse<PaymentOrder>(server, 200, ['POST', `/orders/${order.id}/confirm`, transfer])
}

/** Makes the referral due, as if its time had passed, and waits for what the leader decides. */
async function decided(customer: ConsoleSession, from: 'pending' | 'rewarded'): Promise<ListedReferral> {
  const store = await openDatabase(server.relay)
  const invited = await accountOf(customer)
  const table = sql.updateTable('referrals').set({ next_check_at: 1 }).where('invited_id', '=', invited)
  await store.db.write(table)
  await store.close()
  return waitUntil(async () => {
    const referral = await referralOf(customer)
    return referral === undefined || referral.state === from ? undefined : referral
  }, `the referral not to be ${from}`)
}

describe('Referrals', () => {
  test('First payment – rewards both once it has cleared, and its refund takes that back', async () => {
    const ann = await signUpCustomer(server, 'ann@example.com')
    const { offer } = await ann.call(referralEndpoints.referral)
    assert.partialDeepStrictEqual(offer, {
      referrer_reward: { fixed: '20' },
      invited_reward: { percent: '10', max: '5' },
      min_payment: '10',
      clear_after_days: 14,
    })
    const code = await codeOf(ann)
    assert.equal(offer?.code, code)
    assert.ok(offer.link.endsWith(`/console/sign-up?referral=${code}`))
    const ben = await signUpWith(` ${code.toLowerCase()} `, 'ben@example.com')
    assert.partialDeepStrictEqual(await referralOf(ben), {
      referrer: await accountOf(ann),
      invited: await accountOf(ben),
      state: 'waiting',
    })
    const order = await pay(ben, '100', 'Ben')
    assert.equal((await referralOf(ben))?.state, 'pending')
    assert.partialDeepStrictEqual(await ann.call(referralEndpoints.referral), {
      invited: 1,
      earned: '0',
      pending: '20',
    })
    assert.equal((await decided(ben, 'pending')).state, 'rewarded')
    await waitUntil(async () => {
      const balances = [await balanceOf(ann), await balanceOf(ben)]
      return balances.join(' ') === '20 105' ? balances : undefined
    }, 'the rewards to be entered')
    const entries = await expectResponse<List>(server, 200, [
      'GET',
      `/accounts/${await accountOf(ben)}/entries`,
    ])
    assert.partialDeepStrictEqual(entries.data[0], {
      source: 'bonus',
      amount: '5',
      reference: `referral:${order.id}:invited`,
    })
    const { amount } = await ben.call(refundEndpoints.refundable, { id: order.id })
    await expectResponse(server, 201, [
      'POST',
      `/orders/${order.id}/refunds`,
      { amount: '40', reason: 'unused' },
    ])
    assert.equal((await decided(ben, 'rewarded')).state, 'taken_back')
    await waitUntil(async () => {
      const balances = [await balanceOf(ann), await balanceOf(ben)]
      return balances.join(' ') === '0 60' ? balances : undefined
    }, 'the rewards to be taken back')
    // The reward is no credit after the payment any more: what is left of the payment can go back.
    assert.deepEqual(
      [amount, (await ben.call(refundEndpoints.refundable, { id: order.id })).amount],
      ['100.00', '60.00'],
    )
    const { data } = await ann.call(referralEndpoints.invited)
    assert.deepEqual(
      data.map(({ state, reward }) => [state, reward]),
      [['taken_back', '0']],
    )
    assert.partialDeepStrictEqual(await ann.call(referralEndpoints.referral), { earned: '0', pending: '0' })
  })

  test('Same person, same payer – are refused, and operators see why', async () => {
    const cat = await signUpCustomer(server, 'cat@example.com')
    const code = await codeOf(cat)
    await pay(cat, '10', 'Cat')
    // The account's address has changed since; its user still signs in with the old one.
    await expectResponse(server, 200, [
      'PATCH',
      `/accounts/${await accountOf(cat)}`,
      { email: 'c@example.com' },
    ])
    const again = await signUpWith(code, 'cat+2@example.com')
    const other = await signUpWith(code, 'dan@example.com')
    await pay(again, '50', 'Somebody')
    await pay(other, '50', 'Cat')
    assert.partialDeepStrictEqual(await decided(again, 'pending'), {
      state: 'refused',
      reason: 'same_person',
      decided_by: 'referrals',
    })
    assert.partialDeepStrictEqual(await decided(other, 'pending'), { state: 'refused', reason: 'same_payer' })
    assert.equal(await balanceOf(cat), '10')
  })

  test('Operator – refuses a referral with a reason, once', async () => {
    const code = await codeOf(await signUpCustomer(server, 'eve@example.com'))
    const fay = await signUpWith(code, 'fay@example.com')
    // Only payments count: no voucher, and no credit of an operator.
    const credit = { amount: '100', reason: 'a gift', kind: 'payment', idempotency_key: 'gift' }
    await expectResponse(server, 201, ['POST', `/accounts/${await accountOf(fay)}/credits`, credit])
    assert.equal((await referralOf(fay))?.state, 'waiting')
    await pay(fay, '50', 'Fay')
    const { id } = (await referralOf(fay)) ?? assert.fail('no referral')
    const path = `/referrals/${id}/refuse`
    assert.equal(await expectError(server, 400, ['POST', path, { reason: ' ' }]), 'reason')
    const refused = await expectResponse(server, 200, ['POST', path, { reason: 'same office' }])
    assert.partialDeepStrictEqual(refused, { state: 'refused', reason: 'same office', due_at: null })
    await expectError(server, 409, ['POST', path, { reason: 'again' }])
    await expectError(server, 404, ['POST', '/referrals/ref_x/refuse', { reason: 'none' }])
    const audit = await expectResponse<List>(server, 200, ['GET', `/audit?object=${id}`])
    assert.partialDeepStrictEqual(audit.data, [
      { action: 'referral.refuse', detail: { reason: 'same office' } },
    ])
  })

  test('Unknown code – does not stop a sign-up', async () => {
    assert.equal(await referralOf(await signUpWith('NOSUCHCODE', 'gil@example.com')), undefined)
  })

  test('SIGN_UP=invite – a referral code is no invitation, and is kept with one', async (t) => {
    const invited = await startTestServer(t, { env: { ...env, SIGN_UP: 'invite' } })
    const operator = await setUpOperator(invited)
    const { code: invite } = await operator.admin<{ code: string }>('POST', '/invites', { note: '', uses: 2 })
    const signUp = (body: object) => {
      const session = new ConsoleSession(invited.url)
      const fields = { email: 'ann@example.com', password: validPassword, ...body }
      return { session, options: { body: fields } }
    }
    const first = signUp({ invite })
    await first.session.call(signUpEndpoints.signUp, first.options)
    const referral = await codeOf(first.session)
    const without = signUp({ email: 'ben@example.com', referral })
    const error = await without.session.expectError(signUpEndpoints.signUp, without.options)
    assert.equal(error.code, 'invite_invalid')
    const second = signUp({ email: 'ben@example.com', referral, invite })
    await second.session.call(signUpEndpoints.signUp, second.options)
    assert.equal((await first.session.call(referralEndpoints.referral)).invited, 1)
    await invited.restart({ REFERRAL_REWARD_REFERRER: '', REFERRAL_REWARD_INVITED: '' })
    assert.deepEqual(await first.session.call(referralEndpoints.referral), {
      offer: null,
      invited: 1,
      earned: '0',
      pending: '0',
    })
  })
})
