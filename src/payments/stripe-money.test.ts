import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  beginOrder,
  createMethod,
  paidOrder,
  readBills,
  receivedNotice,
  refundOf,
  testOrder,
} from '../../test/support/payments/method-fixture.ts'
import { openStripe, type OpenStripe } from '../../test/support/payments/open-stripe.ts'
import { ProviderError, type BillLine, type ProviderOrder, type SavedCard } from './payment-method.ts'
import { createStripe } from './stripe.ts'

/** The card that a payer saved with a payment. */
async function savedCard(open: OpenStripe): Promise<SavedCard> {
  const order = await paidOrder(open, { savesCard: true })
  const reading = await open.method.read(order)
  assert.ok(reading.state === 'paid' && reading.payment.savedCard !== null)
  return reading.payment.savedCard
}

async function charge(open: OpenStripe, changes: Partial<ProviderOrder> = {}) {
  const card = await savedCard(open)
  const order = testOrder(open.method, { automatic: true, ...changes })
  const { savedCards } = open.method
  assert.ok(savedCards)
  return { order, card, charge: async () => await savedCards.charge(order, card) }
}

describe('stripe saved cards', () => {
  test('cards – are saved only for a payer who agreed', async () => {
    await using open = await openStripe()
    assert.equal((await savedCard(open)).lastFour, '4242')
    const reading = await open.method.read(await paidOrder(open))
    assert.ok(reading.state === 'paid')
    assert.equal(reading.payment.savedCard, null)
  })

  test('cards – a charge is paid with the facts of its order, and read the same', async () => {
    await using open = await openStripe()
    const { order, card, charge: run } = await charge(open)
    const result = await run()
    assert.ok(result.state === 'paid')
    assert.equal(result.payment.order, order.id)
    assert.equal(result.payment.amountMinor, order.amountMinor)
    assert.deepEqual(result.payment.savedCard, card)
    const reading = await open.method.read(order)
    assert.ok(reading.state === 'paid')
    assert.deepEqual({ ...reading.payment, savedCard: card }, result.payment)
    const notice = receivedNotice(open.provider.notice(order.id))
    assert.partialDeepStrictEqual(await open.method.notices?.read(notice), { kind: 'order', order: order.id })
  })

  test('cards – a charge whose response is lost is made once', async () => {
    await using open = await openStripe()
    const { order, charge: run } = await charge(open)
    open.provider.lostResponses = 2
    await assert.rejects(run(), ProviderError)
    assert.equal((await open.method.read(order)).state, 'paid')
    assert.equal((await run()).state, 'paid')
    assert.equal(open.provider.payments.filter(({ order: id }) => id === order.id).length, 1)
  })

  test('cards – reading a charge that never arrived begins nothing', async () => {
    await using open = await openStripe()
    const { order, charge: run } = await charge(open)
    assert.deepEqual(await open.method.read(order), { state: 'unpaid' })
    assert.equal((await run()).state, 'paid')
  })

  test('cards – a slow charge is processing until it is paid or fails', async () => {
    await using open = await openStripe()
    const { order, charge: run } = await charge(open)
    open.provider.state.cardOutcome = 'processing'
    const result = await run()
    assert.ok(result.state === 'processing')
    const begun = { ...order, reference: result.reference }
    assert.deepEqual(await open.method.read(begun), { state: 'processing' })
    open.provider.state.intent(result.reference).status = 'requires_payment_method'
    assert.deepEqual(await open.method.read(begun), { state: 'closed' })
    assert.equal(await open.method.close(begun), 'closed')
  })

  const declines: [outcome: string, needsPayer: boolean][] = [
    ['authentication_required', true],
    ['insufficient_funds', false],
    ['card_declined', false],
    ['expired_card', false],
  ]
  for (const [outcome, needsPayer] of declines) {
    test(`cards – a charge that ends as ${outcome} is declined, and its order is closed`, async () => {
      await using open = await openStripe()
      const { order, charge: run } = await charge(open)
      open.provider.state.cardOutcome = outcome
      assert.deepEqual(await run(), { state: 'declined', code: outcome, needsPayer })
      open.provider.state.cardOutcome = 'succeeded'
      assert.deepEqual(await run(), { state: 'declined', code: outcome, needsPayer })
      assert.deepEqual(await open.method.read(order), { state: 'closed' })
    })
  }

  test('cards – one that Stripe does not detach is not removed; one that it does not know is', async () => {
    await using open = await openStripe()
    const card = await savedCard(open)
    const { savedCards } = open.method
    assert.ok(savedCards)
    open.provider.state.keepsCards = true
    await assert.rejects(savedCards.remove(card), ProviderError)
    await savedCards.remove({ ...card, card: 'pm_unknown' })
    open.provider.api.forbidden = 'payment_methods'
    await assert.rejects(savedCards.remove({ ...card, card: 'pm_unknown' }), ProviderError)
  })

  test('cards – one that was removed, twice even, cannot be charged', async () => {
    await using open = await openStripe()
    const { card, charge: run } = await charge(open)
    await open.method.savedCards?.remove(card)
    await open.method.savedCards?.remove(card)
    assert.deepEqual(open.provider.state.detached, [card.card])
    const result = await run()
    assert.ok(result.state === 'declined' && result.needsPayer)
  })
})

describe('stripe refunds', () => {
  test('refunds – one number refunds once, also after Stripe has forgotten its key', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const order = await paidOrder(open)
    const refund = refundOf(order, 400n)
    const first = await method.refund(refund)
    provider.api.forgetKeys()
    provider.api.pageSize = 1
    await method.refund(refundOf(order, 100n))
    assert.deepEqual(await method.refund(refund), first)
    assert.equal(provider.payments[0]?.refundedMinor, 500n)
  })

  test('refunds – a notice names ours by number, and others by Stripe’s reference', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const order = await paidOrder(open)
    const refund = refundOf(order, 400n)
    const sent = await method.refund(refund)
    assert.ok(sent.state === 'done')
    const elsewhere = provider.refundElsewhere(order.id, 100n)
    const transaction = order.transaction ?? ''
    assert.deepEqual(await method.notices?.read(receivedNotice(provider.refundNotice(refund.id))), {
      kind: 'refund',
      refund: refund.id,
      reference: sent.reference,
      transaction,
    })
    assert.deepEqual(await method.notices?.read(receivedNotice(provider.refundNotice(elsewhere))), {
      kind: 'refund',
      refund: null,
      reference: elsewhere,
      transaction,
    })
  })

  test('refunds – of an order that was not paid are refused without a call', async () => {
    await using open = await openStripe()
    const order = await beginOrder(open)
    open.provider.calls.length = 0
    assert.equal((await open.method.refund(refundOf(order, 1n))).state, 'refused')
    assert.deepEqual(open.provider.calls, [])
  })
})

describe('stripe disputes', () => {
  const states: [status: string, state: string][] = [
    ['needs_response', 'open'],
    ['under_review', 'open'],
    ['appeal_under_review', 'open'],
    ['won', 'won'],
    ['lost', 'lost'],
    ['warning_closed', 'won'],
    ['prevented', 'won'],
  ]
  for (const [status, state] of states) {
    test(`disputes – ${status} is read as ${state}`, async () => {
      await using open = await openStripe()
      const order = await paidOrder(open)
      const reference = open.provider.dispute(order.id, status)
      assert.deepEqual(await open.method.readDispute?.(reference), {
        reference,
        transaction: order.transaction,
        currency: order.currency,
        amountMinor: order.amountMinor,
        state,
      })
    })
  }

  test('disputes – a notice names the dispute, but not an inquiry, which takes no money', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const order = await paidOrder(open)
    const [dispute, inquiry] = [
      provider.dispute(order.id),
      provider.dispute(order.id, 'warning_needs_response'),
    ]
    const read = async (reference: string) =>
      await method.notices?.read(receivedNotice(provider.disputeNotice(reference)))
    assert.deepEqual(await read(dispute), { kind: 'dispute', reference: dispute })
    assert.deepEqual(await read(inquiry), { kind: 'other' })
  })
})

describe('stripe bills', () => {
  test('bills – list payments, refunds and disputes over all pages, each once', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    provider.api.pageSize = 2
    const orders = [await paidOrder(open), await paidOrder(open), await paidOrder(open)]
    const foreign = provider.pay('of another shop', { amountMinor: 7n })
    const [first, second] = orders
    assert.ok(first !== undefined && second !== undefined)
    const refund = refundOf(first, 300n)
    await method.refund(refund)
    provider.faults = { refund: 'abnormal' }
    await method.refund(refundOf(first, 100n))
    const dispute = provider.dispute(second.id)
    const lines = await readBills(method)
    const of = (kind: BillLine['kind']): BillLine[] => lines.filter((line) => line.kind === kind)
    assert.deepEqual(
      of('payment')
        .map((line) => line.transaction)
        .toSorted(),
      [...orders.map(({ transaction }) => transaction ?? ''), foreign].toSorted(),
    )
    assert.deepEqual(
      of('refund').map((line) => (line.kind === 'refund' ? [line.refund, line.amountMinor] : [])),
      [[refund.id, 300n]],
    )
    assert.deepEqual(
      of('dispute').map((line) => [line.transaction, 'reference' in line && line.reference]),
      [[second.transaction, dispute]],
    )
    const payment = of('payment').find(({ transaction }) => transaction === first.transaction)
    assert.ok(payment?.kind === 'payment')
    assert.deepEqual([payment.order, payment.feeMinor], [first.id, 59n])
  })

  test('bills – contain the days that are asked for, by UTC', async () => {
    await using open = await openStripe()
    const { method, provider, clock } = open
    const midnight = Date.parse('2026-11-28T00:00:00Z')
    const transactions: string[] = []
    for (const at of [midnight - 1000, midnight, midnight + 86_399_000, midnight + 86_400_000]) {
      clock.now = at
      const createdAt = at
      const order = testOrder(method, { createdAt, expiresAt: at + method.lifetimeMs(0, null) })
      await method.begin(order)
      transactions.push(provider.pay(order.id))
    }
    const listed: BillLine[] = []
    for await (const line of method.bills?.list('2026-11-28', '2026-11-28') ?? []) listed.push(line)
    assert.deepEqual(listed.map((line) => line.transaction).toSorted(), transactions.slice(1, 3).toSorted())
    assert.equal(method.bills?.timezone, 'UTC')
  })
})

describe('stripe check', () => {
  test('check – a key of the other mode is a problem', async () => {
    await using open = await openStripe()
    open.provider.api.livemode = true
    assert.equal(await open.method.check(), 'The secret key is one of the other mode (live or test).')
  })

  test('check – a key without a permission is a problem that names no key', async () => {
    await using open = await openStripe()
    open.provider.api.forbidden = 'disputes'
    assert.equal(await open.method.check(), 'The secret key has no permission for this call.')
  })

  test('check – an address that does not respond is a problem', async () => {
    const settings = await (async () => {
      await using open = await openStripe()
      return open.provider.settings
    })()
    await using created = createMethod(createStripe, settings)
    assert.match((await created.method?.check()) ?? '', /did not respond \(ECONNREFUSED\)/)
  })
})
