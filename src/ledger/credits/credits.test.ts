/** Vouchers, promotions and refunds under concurrency, on a real database. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Db } from '../../db/db.ts'
import { openAnyStore, createLedgerCommit, createRequestRow } from '../../db/store.fixture.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../../db/store-error.ts'
import { ApiError } from '../../errors.ts'
import { generateVoucherCode } from '../../lib/voucher-code.ts'
import { insertAccounts } from './accounts.fixture.ts'
import { creditOrderById, markCreditOrderEntered, openCreditOrders } from './credit-orders.ts'
import { createPromotion, promotionById, runningPromotion, updatePromotion } from './promotions.ts'
import { orderRefund, refundedNanos } from './refunds.ts'
import {
  expiringTrials,
  grantStatements,
  hasHadTrial,
  recordTrialTakeBack,
  trialCreditId,
} from './trial-grants.ts'
import { claimVoucher, createVouchers, listVouchers, revokeVoucher } from './vouchers.ts'

const at = 1_790_000_000_000
const day = 86_400_000
const by = 'test'

async function dbWithAccounts(t: TestContext, ...ids: string[]): Promise<Db> {
  const { db } = await openAnyStore(t)
  await insertAccounts(db, ...ids)
  return db
}

function isApiError(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && (error.detail.code ?? error.code) === code
}

describe('vouchers', () => {
  test('30 concurrent redemptions – one succeeds and orders one credit', async (t) => {
    const db = await dbWithAccounts(t, 'acc_a', 'acc_b')
    const code = generateVoucherCode()
    await createVouchers(
      db,
      { amountNanos: 5n, codes: [code, generateVoucherCode()], expiresAt: null, at },
      by,
    )
    const uses = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) =>
        claimVoucher(db, code, { account: index % 2 === 0 ? 'acc_a' : 'acc_b', at, by }),
      ),
    )
    const used = uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value] : []))
    assert.equal(used.length, 1)
    for (const use of uses) if (use.status === 'rejected') assert.ok(isApiError('voucher_used')(use.reason))
    const [order, ...others] = await openCreditOrders(db, 10)
    assert.partialDeepStrictEqual(order, { id: used[0]?.creditId, amountNanos: 5n, source: 'voucher' })
    assert.deepEqual(others, [])
    await markCreditOrderEntered(db, order?.id ?? '', at)
    assert.deepEqual(await openCreditOrders(db, 10), [])
    const page = { limit: 10, at }
    const { data } = await listVouchers(db, { status: 'redeemed', account: order?.account ?? '' }, page)
    assert.deepEqual([data.length, data[0]?.redeemedBy], [1, order?.account])
  })

  test('redemption – wins or loses against a concurrent revocation, and fails once expired', async (t) => {
    const db = await dbWithAccounts(t, 'acc_a')
    const codes = [generateVoucherCode(), generateVoucherCode()]
    await createVouchers(db, { amountNanos: 5n, codes: codes.slice(0, 1), expiresAt: null, at }, by)
    const [voucher] = (await listVouchers(db, { status: 'unused' }, { limit: 1, at })).data
    const [use, revocation] = await Promise.allSettled([
      claimVoucher(db, codes[0] ?? '', { account: 'acc_a', at, by }),
      revokeVoucher(db, voucher?.id ?? '', at, by),
    ])
    assert.notEqual(use.status, revocation.status)
    assert.equal((await openCreditOrders(db, 10)).length, use.status === 'fulfilled' ? 1 : 0)
    await createVouchers(db, { amountNanos: 5n, codes: codes.slice(1), expiresAt: at + 1, at }, by)
    const late = { account: 'acc_a', at: at + 1, by }
    await assert.rejects(claimVoucher(db, codes[1] ?? '', late), isApiError('voucher_expired'))
    const { data } = await listVouchers(db, { status: 'expired' }, { limit: 10, at: at + 1 })
    assert.equal(data.length, 1)
  })
})

describe('promotions', () => {
  test('grants – stop at the limit, and each mailbox and each account gets one', async (t) => {
    const ids = Array.from({ length: 12 }, (_, index) => `acc_${index}`)
    const db = await dbWithAccounts(t, ...ids)
    const input = { name: 'Welcome', amountNanos: 7n, startsAt: at - 1, grantsMax: 5, creditDays: 30 }
    const { id } = await createPromotion(db, input, { at, by })
    const promotion = await runningPromotion(db, null, at)
    assert.ok(promotion && promotion.id === id)
    const grant = (account: string, mailbox: string) =>
      db.write(...grantStatements(promotion, { account, mailbox }, at))
    const sameMailbox = await Promise.allSettled(ids.map((account) => grant(account, 'one@example.com')))
    assert.equal(sameMailbox.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const each of sameMailbox)
      if (each.status === 'rejected') assert.ok(isUniqueViolation(each.reason, 'trial_grants.mailbox_hash'))
    const granted = await openCreditOrders(db, 10)
    const [first] = granted
    await assert.rejects(grant(first?.account ?? '', 'two@example.com'), (error) =>
      isUniqueViolation(error, 'trial_grants.account_id'),
    )
    const others = ids.filter((account) => account !== first?.account)
    const all = await Promise.allSettled(others.map((account) => grant(account, `${account}@example.com`)))
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 4)
    for (const each of all) if (each.status === 'rejected') assert.ok(isExpectationFailureOf(each.reason, 0))
    assert.partialDeepStrictEqual(await promotionById(db, id, at), { granted: 5, state: 'used up' })
    assert.equal(await runningPromotion(db, null, at), undefined)
    await updatePromotion(db, id, { grantsMax: null, endsAt: at + day }, { at, by })
    assert.ok(await runningPromotion(db, null, at))
    assert.equal(await runningPromotion(db, null, at + day), undefined)
    assert.equal(await hasHadTrial(db, { account: '', mailbox: 'one@example.com' }), true)
    assert.equal(await hasHadTrial(db, { account: '', mailbox: 'two@example.com' }), false)
  })

  test('trial credit – ends only once it is entered, and each take-back counts once', async (t) => {
    const db = await dbWithAccounts(t, 'acc_a')
    const input = { name: 'Welcome', amountNanos: 7n, startsAt: at, creditDays: 1 }
    const promotion = await createPromotion(db, input, { at, by })
    await db.write(...grantStatements(promotion, { account: 'acc_a', mailbox: 'a@example.com' }, at))
    const over = { from: 0, to: at + day }
    assert.deepEqual(await expiringTrials(db, over, 10), [])
    await markCreditOrderEntered(db, trialCreditId('acc_a'), at)
    assert.deepEqual(await expiringTrials(db, { from: 0, to: at + day - 1 }, 10), [])
    const [grant] = await expiringTrials(db, over, 10)
    assert.ok(grant)
    assert.partialDeepStrictEqual(grant, { amountNanos: 7n, takenNanos: 0n, takes: 0, expiresAt: at + day })
    await recordTrialTakeBack(db, grant, { nanos: 3n, isDone: false, at })
    await assert.rejects(recordTrialTakeBack(db, grant, { nanos: 3n, isDone: true, at }), (error) =>
      isExpectationFailureOf(error, 0),
    )
    const [again] = await expiringTrials(db, over, 10)
    assert.partialDeepStrictEqual(again, { takenNanos: 3n, takes: 1 })
    if (again) await recordTrialTakeBack(db, again, { nanos: 0n, isDone: true, at })
    assert.deepEqual(await expiringTrials(db, over, 10), [])
  })
})

describe('refunds', () => {
  test('concurrent refunds – never exceed the cost, and each key counts once', async (t) => {
    const { db, commit } = await openAnyStore(t)
    await insertAccounts(db, 'acc_one')
    await commit(createLedgerCommit(1, { requests: [createRequestRow('req_a', { cost_nanos: 10n })] }))
    const refund = (key: string, amountNanos: bigint | null) =>
      orderRefund(db, { requestId: 'req_a', amountNanos, reason: 'r', idempotencyKey: key, at, by })
    const many = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => refund(`k${index}`, 3n)))
    assert.equal(many.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.equal(await refundedNanos(db, 'req_a'), 9n)
    const rest = await Promise.all(Array.from({ length: 10 }, () => refund('rest', null)))
    assert.deepEqual(new Set(rest.map((each) => each.amountNanos)), new Set([1n]))
    assert.equal(rest.filter(({ isNew }) => isNew).length, 1)
    await assert.rejects(refund('rest', 2n), isApiError('conflict'))
    await assert.rejects(refund('more', null), isApiError('conflict'))
    assert.equal((await creditOrderById(db, 'refund:req_a:rest'))?.amountNanos, 1n)
  })
})
