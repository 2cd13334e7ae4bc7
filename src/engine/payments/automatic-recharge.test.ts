/** Automatic recharges over the scripted Stripe; test/checks/unit-tests-on-postgres.test.ts runs them on PostgreSQL, too. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../../db/schema/schema.ts'
import { updateAccount } from '../../accounts/accounts.ts'
import { listNotifications } from '../../notifications/notifications.ts'
import { insertDispute, insertRefund, updateRefund } from '../../payments/payment-refunds.ts'
import {
  account,
  automaticOrders,
  charges,
  consent,
  notified,
  openLow,
  openRecharges,
  read,
  saveCard,
  sweepAfter,
  yuan,
} from './automatic-recharge.fixture.ts'
import { AutomaticRechargeService } from './automatic-recharge-service.ts'
import { checkOrder } from './check-order.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const minute = 60_000
const hour = 60 * minute

describe('Consent to automatic recharge', () => {
  test('consent – turns it on together with a saved card, whichever comes first', async (t) => {
    const cardFirst = await openRecharges(t)
    await saveCard(cardFirst)
    assert.equal((await read(cardFirst)).state, 'off')
    await consent(cardFirst)
    assert.partialDeepStrictEqual(await read(cardFirst), {
      state: 'on',
      thresholdNanos: 8n * yuan,
      amountMinor: 2000n,
      monthlyLimitMinor: 5000n,
      consentedBy: 'person:one',
      cardLastFour: '4242',
    })
    const consentFirst = await openRecharges(t)
    await consent(consentFirst)
    assert.equal((await read(consentFirst)).state, 'off')
    await saveCard(consentFirst)
    assert.equal((await read(consentFirst)).state, 'on')
  })

  test('consent – is recorded with its amounts and version, which must be the current one', async (t) => {
    const open = await openRecharges(t)
    const invalid = { consentVersion: 'old', threshold: '0', amount: '0.5', monthlyLimit: '19.99' }
    for (const [name, value] of Object.entries(invalid))
      await assert.rejects(consent(open, { [name]: value }), { status: 400 }, name)
    await consent(open)
    const audit = await open.db.all<{ detail: string }>(
      sql.selectFrom('audit').selectAll().where('action', '=', 'automatic-recharge.consent'),
    )
    assert.deepEqual(JSON.parse(audit[0]?.detail ?? ''), {
      threshold: '8',
      amount: '20.00',
      monthly_limit: '50.00',
      currency: 'CNY',
      consent_version: '2026-11-28',
    })
  })

  test('switching off – ends the consent; a card saved later does not turn it on', async (t) => {
    const open = await openLow(t)
    await open.service.switchOff(account, 'operator')
    await open.service.sweep()
    await saveCard(open)
    assert.partialDeepStrictEqual(await read(open), { state: 'off', consentedAt: null })
    assert.deepEqual(charges(open), [])
  })
})

describe('Automatic recharge', () => {
  test('balance – below the threshold is recharged once, then at the earliest after ten minutes', async (t) => {
    const open = await openLow(t)
    open.wallet.balance = 8n * yuan
    await open.service.sweep()
    assert.deepEqual(charges(open), [])
    // What is held is not available.
    open.wallet.held = 1n
    await open.service.sweep()
    const [order] = await automaticOrders(open)
    assert.partialDeepStrictEqual(order, {
      state: 'paid',
      orderedBy: 'automatic-recharge',
      amountMinor: 2000n,
    })
    assert.equal(open.wallet.balance, 28n * yuan)
    assert.partialDeepStrictEqual(await read(open), { state: 'on', orderId: null, failures: 0 })
    open.wallet.balance = yuan
    await sweepAfter(open, 10 * minute - 1)
    assert.equal(charges(open).length, 1)
    await sweepAfter(open, 1)
    assert.equal(charges(open).length, 2)
  })

  test('hundred charges at once – make one order, over two nodes', async (t) => {
    const open = await openLow(t)
    const other = new AutomaticRechargeService(open.deps)
    for (let call = 0; call < 50; call += 1)
      for (const node of [open.service, other]) node.onCharged(account, 5n * yuan)
    await waitUntil(() => open.wallet.balance === 25n * yuan, 'the recharge')
    await Promise.all([open.service.stop(), other.stop()])
    assert.equal((await automaticOrders(open)).length, 1)
    assert.equal(charges(open).length, 1)
  })

  test('lost responses – the same order is charged again, once', async (t) => {
    const open = await openLow(t)
    open.stripe.lostResponses = 100
    await open.service.sweep()
    assert.equal((await automaticOrders(open))[0]?.state, 'created')
    open.stripe.lostResponses = 0
    await sweepAfter(open, minute)
    assert.equal((await automaticOrders(open))[0]?.state, 'paid')
    assert.equal(charges(open).length, 1)
    assert.equal((await read(open)).orderId, null)
  })

  test('withdrawn consent – an order whose charge never arrived is not charged any more', async (t) => {
    const open = await openLow(t)
    open.stripe.faults = { create: 'unreachable' }
    await open.service.sweep()
    open.stripe.faults = {}
    await open.service.switchOff(account, 'operator')
    await sweepAfter(open, minute)
    assert.equal((await automaticOrders(open))[0]?.state, 'created')
    assert.deepEqual(charges(open), [])
  })

  test('unreachable provider – the order is only read in its last minutes, and counts as failed', async (t) => {
    const open = await openLow(t)
    open.stripe.faults = { create: 'unreachable' }
    await open.service.sweep()
    open.stripe.faults = {}
    const [order] = await automaticOrders(open)
    assert.ok(order)
    await sweepAfter(open, order.expiresAt - open.clock.now - 10 * minute)
    assert.deepEqual(charges(open), [])
    open.clock.now = order.expiresAt + 1
    assert.equal(await checkOrder(open.deps, order, 'poller'), 'closed')
    await open.service.sweep()
    assert.partialDeepStrictEqual(await read(open), { orderId: null, failures: 1, problem: 'not_completed' })
  })

  test('declines – are tried again after an hour and a day, each as a new order, then it pauses', async (t) => {
    const open = await openLow(t)
    open.stripe.state.cardOutcome = 'insufficient_funds'
    await open.service.sweep()
    const start = open.clock.now
    assert.partialDeepStrictEqual(await read(open), { failures: 1, nextAttemptAt: start + hour })
    await sweepAfter(open, hour - 1)
    assert.equal((await automaticOrders(open)).length, 1)
    await sweepAfter(open, 1)
    assert.partialDeepStrictEqual(await read(open), { failures: 2, nextAttemptAt: start + 25 * hour })
    await sweepAfter(open, 24 * hour)
    assert.partialDeepStrictEqual(await read(open), { state: 'paused', problem: 'insufficient_funds' })
    await sweepAfter(open, 48 * hour)
    const orders = await automaticOrders(open)
    assert.deepEqual(
      orders.map(({ state, problem }) => [state, problem]),
      Array.from({ length: 3 }, () => ['failed', 'The card was declined (insufficient_funds).']),
    )
    assert.deepEqual(await notified(open), ['recharge_declined', 'recharge_declined', 'recharge_paused'])
    // A new consent goes on at once.
    open.stripe.state.cardOutcome = 'succeeded'
    await consent(open)
    await open.service.sweep()
    assert.partialDeepStrictEqual(await read(open), { state: 'on', failures: 0, problem: null })
    assert.equal(charges(open).length, 1)
  })

  test('payer – who must confirm is sent to an ordinary order; a card saved there goes on', async (t) => {
    const open = await openLow(t)
    open.stripe.state.cardOutcome = 'authentication_required'
    await open.service.sweep()
    assert.equal((await read(open)).state, 'paused')
    const { data } = await listNotifications(open.db, { audience: account }, { limit: 1 })
    assert.equal(data[0]?.code, 'recharge_needs_payer')
    const page = 'https://relay.example/console/billing/recharge'
    assert.equal(data[0].params['url'], `${page}?method=stripe&amount=20.00`)
    await saveCard(open)
    assert.equal((await read(open)).state, 'on')
  })

  test('card that is gone at the provider – is forgotten, and it is off', async (t) => {
    const open = await openLow(t)
    open.stripe.state.detached.push((await read(open)).cardId ?? '')
    await open.service.sweep()
    assert.partialDeepStrictEqual(await read(open), { state: 'off', cardId: null, problem: 'card_removed' })
    assert.deepEqual(await notified(open), ['recharge_card_removed'])
  })

  test('slow charge – is pending and the only one until it is paid', async (t) => {
    const open = await openLow(t)
    open.stripe.state.cardOutcome = 'processing'
    await open.service.sweep()
    await sweepAfter(open, 20 * minute)
    const [order, ...others] = await automaticOrders(open)
    assert.ok(order?.state === 'pending' && others.length === 0)
    const intent = open.stripe.state.intent(order.reference ?? '')
    Object.assign(intent, { status: 'succeeded', entered: open.stripe.state.seconds })
    assert.equal(await checkOrder(open.deps, order, 'notice'), 'settled')
    await open.service.sweep()
    assert.equal((await read(open)).orderId, null)
    assert.equal(open.wallet.balance, 25n * yuan)
  })

  test('monthly limit – counts what is paid, and ends with the account’s month', async (t) => {
    // Two days before the end of the month in UTC, the zone of the account.
    const open = await openLow(t, Date.UTC(2026, 10, 29))
    for (let round = 0; round < 3; round += 1) {
      open.wallet.balance = yuan
      await sweepAfter(open, hour)
    }
    assert.equal(charges(open).length, 2)
    const nextMonth = Date.UTC(2026, 11, 1)
    assert.partialDeepStrictEqual(await read(open), { problem: 'monthly_limit', nextAttemptAt: nextMonth })
    assert.deepEqual(await notified(open), ['recharge_limit_reached'])
    open.clock.now = nextMonth
    await open.service.sweep()
    assert.equal(charges(open).length, 3)
  })

  test('suspended and disputed accounts – are never recharged', async (t) => {
    const suspended = await openLow(t)
    await updateAccount(suspended.db, account, { status: 'suspended' }, 'test')
    await suspended.service.sweep()
    assert.deepEqual(charges(suspended), [])
    const disputed = await openLow(t)
    const amounts = { amountMinor: 1000n, paymentNanos: 0n, bonusNanos: 0n, receivableNanos: 0n }
    const times = { createdAt: 1, updatedAt: 1 }
    const orderId = await saveCard(disputed)
    disputed.wallet.balance = yuan
    const dispute = { method: 'stripe', reference: 'dp_1', orderId, accountId: account } as const
    await disputed.db.write(insertDispute({ ...dispute, ...amounts, ...times, state: 'open' }))
    await disputed.service.sweep()
    assert.deepEqual(charges(disputed), [])
  })

  test('account with an open refund – is recharged only once its balance is back', async (t) => {
    const open = await openLow(t)
    const orderId = await saveCard(open)
    open.wallet.balance = 0n
    const id = `${orderId}R1`
    const amounts = { amountMinor: 1000n, paymentNanos: 10n * yuan, bonusNanos: 0n, reason: 'I leave' }
    const decision = { requestedBy: 'person:one', decidedBy: null, reference: null, problem: null }
    const times = { nextCheckAt: null, checks: 0, createdAt: 1, updatedAt: 1 }
    const refund = { id, orderId, accountId: account, ...amounts, ...decision, ...times }
    await open.db.write(insertRefund({ ...refund, state: 'requested' }))
    await open.service.sweep()
    // It is refused, and its balance is not back yet.
    await open.db.write(updateRefund(id, ['requested'], { state: 'refused', nextCheckAt: 1 }, 1))
    await sweepAfter(open, hour)
    assert.deepEqual([charges(open), await automaticOrders(open)], [[], []])
    await open.db.write(updateRefund(id, ['refused'], { nextCheckAt: null }, 1))
    await sweepAfter(open, hour)
    assert.equal(charges(open).length, 1)
  })
})
