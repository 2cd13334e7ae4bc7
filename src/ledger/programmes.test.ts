/** Vouchers, promotions and refunds as the database decides them: of many at once, as many as there may be. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { anyStore, ledgerCommit, requestRow } from '../db/store.fixture.ts'
import { isTaken, isUnmet } from '../db/store-error.ts'
import { Refusal } from '../errors.ts'
import { newVoucherCode } from '../lib/voucher-code.ts'
import { creditOrderById, noteCreditOrderEntered, openCreditOrders } from './credits/credit-orders.ts'
import { createPromotion, promotionById, runningPromotion, updatePromotion } from './credits/promotions.ts'
import { orderRefund, refundedNanos } from './credits/refunds.ts'
import { endingTrials, grantRows, hasHadTrial, noteTaken, trialCreditId } from './credits/trial-grants.ts'
import { claimVoucher, createVouchers, listVouchers, revokeVoucher } from './credits/vouchers.ts'

const at = 1_790_000_000_000
const day = 86_400_000
const by = 'test'

async function accounts(db: Db, ...ids: string[]): Promise<void> {
  const row = {
    name: '',
    tier: 'new',
    status: 'active' as const,
    timezone: 'UTC',
    limits: '{}',
    trial: 0 as const,
  }
  const rows = ids.map((id) => ({
    ...row,
    id,
    email: id,
    email_normalised: id,
    created_at: at,
    updated_at: at,
  }))
  const none = { price_factor_ppm: null, cap_daily_nanos: null, cap_monthly_nanos: null }
  const unset = { ...none, low_balance_nanos: null, first_paid_at: null }
  await db.write(sql.insertInto('accounts').values(rows.map((each) => ({ ...each, ...unset }))))
}

async function dbWith(t: TestContext, ...ids: string[]): Promise<Db> {
  const { db } = await anyStore(t)
  await accounts(db, ...ids)
  return db
}

function refusedAs(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && (error.detail.code ?? error.code) === code
}

test('of thirty who use one code one does, and its credit is ordered once', async (t) => {
  const db = await dbWith(t, 'acc_a', 'acc_b')
  const code = newVoucherCode()
  await createVouchers(db, { amountNanos: 5n, codes: [code, newVoucherCode()], expiresAt: null, at }, by)
  const uses = await Promise.allSettled(
    Array.from({ length: 30 }, (_, index) =>
      claimVoucher(db, code, { account: index % 2 === 0 ? 'acc_a' : 'acc_b', at, by }),
    ),
  )
  const used = uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value] : []))
  assert.equal(used.length, 1)
  for (const use of uses) if (use.status === 'rejected') assert.ok(refusedAs('voucher_used')(use.reason))
  const [order, ...others] = await openCreditOrders(db, 10)
  assert.partialDeepStrictEqual(order, { id: used[0]?.creditId, amountNanos: 5n, source: 'voucher' })
  assert.deepEqual(others, [])
  await noteCreditOrderEntered(db, order?.id ?? '', at)
  assert.deepEqual(await openCreditOrders(db, 10), [])
  const page = { limit: 10, at }
  const { data } = await listVouchers(db, { status: 'redeemed', account: order?.account ?? '' }, page)
  assert.deepEqual([data.length, data[0]?.redeemedBy], [1, order?.account])
})

test('of using and revoking one code at once one happens, and an expired one is worth nothing', async (t) => {
  const db = await dbWith(t, 'acc_a')
  const codes = [newVoucherCode(), newVoucherCode()]
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
  await assert.rejects(claimVoucher(db, codes[1] ?? '', late), refusedAs('voucher_expired'))
  const { data } = await listVouchers(db, { status: 'expired' }, { limit: 10, at: at + 1 })
  assert.equal(data.length, 1)
})

test('a promotion grants as many as it has room for, and each mailbox and each account once', async (t) => {
  const ids = Array.from({ length: 12 }, (_, index) => `acc_${index}`)
  const db = await dbWith(t, ...ids)
  const terms = { name: 'Welcome', amountNanos: 7n, startsAt: at - 1, grantsMax: 5, creditDays: 30 }
  const { id } = await createPromotion(db, terms, { at, by })
  const promotion = await runningPromotion(db, null, at)
  assert.ok(promotion && promotion.id === id)
  const grant = (account: string, mailbox: string) =>
    db.write(...grantRows(promotion, { account, mailbox }, at))
  const sameMailbox = await Promise.allSettled(ids.map((account) => grant(account, 'one@example.com')))
  assert.equal(sameMailbox.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const each of sameMailbox)
    if (each.status === 'rejected') assert.ok(isTaken(each.reason, 'trial_grants.mailbox_hash'))
  const granted = await openCreditOrders(db, 10)
  const [first] = granted
  await assert.rejects(grant(first?.account ?? '', 'two@example.com'), (error) =>
    isTaken(error, 'trial_grants.account_id'),
  )
  const others = ids.filter((account) => account !== first?.account)
  const all = await Promise.allSettled(others.map((account) => grant(account, `${account}@example.com`)))
  assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 4)
  for (const each of all) if (each.status === 'rejected') assert.ok(isUnmet(each.reason, 0))
  assert.partialDeepStrictEqual(await promotionById(db, id, at), { granted: 5, state: 'used up' })
  assert.equal(await runningPromotion(db, null, at), undefined)
  await updatePromotion(db, id, { grantsMax: null, endsAt: at + day }, { at, by })
  assert.ok(await runningPromotion(db, null, at))
  assert.equal(await runningPromotion(db, null, at + day), undefined)
  assert.equal(await hasHadTrial(db, { account: '', mailbox: 'one@example.com' }), true)
  assert.equal(await hasHadTrial(db, { account: '', mailbox: 'two@example.com' }), false)
})

test('a trial credit ends only once it is entered, and what was taken is counted once', async (t) => {
  const db = await dbWith(t, 'acc_a')
  const terms = { name: 'Welcome', amountNanos: 7n, startsAt: at, creditDays: 1 }
  const promotion = await createPromotion(db, terms, { at, by })
  await db.write(...grantRows(promotion, { account: 'acc_a', mailbox: 'a@example.com' }, at))
  const over = { from: 0, to: at + day }
  assert.deepEqual(await endingTrials(db, over, 10), [])
  await noteCreditOrderEntered(db, trialCreditId('acc_a'), at)
  assert.deepEqual(await endingTrials(db, { from: 0, to: at + day - 1 }, 10), [])
  const [grant] = await endingTrials(db, over, 10)
  assert.ok(grant)
  assert.partialDeepStrictEqual(grant, { amountNanos: 7n, takenNanos: 0n, takes: 0, expiresAt: at + day })
  await noteTaken(db, grant, { nanos: 3n, isDone: false, at })
  await assert.rejects(noteTaken(db, grant, { nanos: 3n, isDone: true, at }), (error) => isUnmet(error, 0))
  const [again] = await endingTrials(db, over, 10)
  assert.partialDeepStrictEqual(again, { takenNanos: 3n, takes: 1 })
  if (again) await noteTaken(db, again, { nanos: 0n, isDone: true, at })
  assert.deepEqual(await endingTrials(db, over, 10), [])
})

test('refunds of a request, many at once, are never more than it cost, and each key counts once', async (t) => {
  const { db, commit } = await anyStore(t)
  await accounts(db, 'acc_one')
  await commit(ledgerCommit(1, { requests: [requestRow('req_a', { cost_nanos: 10n })] }))
  const refund = (key: string, amountNanos: bigint | null) =>
    orderRefund(db, { requestId: 'req_a', amountNanos, reason: 'r', idempotencyKey: key, at, by })
  const many = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => refund(`k${index}`, 3n)))
  assert.equal(many.filter(({ status }) => status === 'fulfilled').length, 3)
  assert.equal(await refundedNanos(db, 'req_a'), 9n)
  const rest = await Promise.all(Array.from({ length: 10 }, () => refund('rest', null)))
  assert.deepEqual(new Set(rest.map((each) => each.amountNanos)), new Set([1n]))
  assert.equal(rest.filter(({ isNew }) => isNew).length, 1)
  await assert.rejects(refund('rest', 2n), refusedAs('conflict'))
  await assert.rejects(refund('more', null), refusedAs('conflict'))
  assert.equal((await creditOrderById(db, 'refund:req_a:rest'))?.amountNanos, 1n)
})
