/** Saved cards over the scripted Stripe; test/checks/unit-tests-on-postgres.test.ts runs these on PostgreSQL, too. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../../db/schema/schema.ts'
import { saveCard as saveCardStatements } from '../../payments/automatic-recharges.ts'
import { orderById } from '../../payments/payment-orders.ts'
import {
  account,
  notified,
  openLow,
  openRecharges,
  read,
  saveCard,
  sweepAfter,
} from './automatic-recharge.fixture.ts'
import { receiveCardRemoval } from './recharge-consent.ts'

const hour = 3_600_000

describe('Saved cards', () => {
  test('removing the card – switches off and detaches it, also after Stripe was away', async (t) => {
    const open = await openLow(t)
    open.stripe.lostResponses = 4
    await assert.rejects(open.service.removeCard(account, 'person:one'), { code: 'payment_unavailable' })
    assert.equal((await read(open)).state, 'off')
    open.stripe.lostResponses = 0
    await open.service.removeCard(account, 'person:one')
    assert.equal((await read(open)).cardId, null)
    assert.equal(open.stripe.state.detached.length, 1)
    await assert.rejects(open.service.removeCard(account, 'person:one'), { status: 404 })
    assert.deepEqual(await notified(open), [])
  })

  test('removing the card – leaves it known if Stripe rejects that', async (t) => {
    const open = await openLow(t)
    open.stripe.state.keepsCards = true
    await assert.rejects(open.service.removeCard(account, 'person:one'), { code: 'payment_unavailable' })
    assert.equal((await read(open)).cardLastFour, '4242')
    open.stripe.state.keepsCards = false
    await open.service.removeCard(account, 'person:one')
    assert.equal((await read(open)).cardId, null)
  })

  test('replaced card – is detached after the new one is saved, later if Stripe rejects that', async (t) => {
    const open = await openRecharges(t)
    const replacedCards = async () =>
      await open.db.all(sql.selectFrom('replaced_cards').select('card_id').orderBy('card_id'))
    await saveCard(open)
    const { cardId: first } = await read(open)
    await open.service.sweep()
    open.stripe.state.keepsCards = true
    await saveCard(open)
    const { cardId: second } = await read(open)
    await open.service.sweep()
    assert.deepEqual(await replacedCards(), [{ card_id: first }])
    open.stripe.state.keepsCards = false
    await saveCard(open)
    await sweepAfter(open, hour - 1)
    assert.deepEqual(open.stripe.state.detached, [second])
    assert.deepEqual(await replacedCards(), [{ card_id: first }])
    await sweepAfter(open, 1)
    assert.deepEqual(open.stripe.state.detached, [second, first])
    assert.deepEqual(await replacedCards(), [])
  })

  test('saved card – is not detached if it is saved again, even after another one', async (t) => {
    const open = await openRecharges(t)
    const cards = ['pm_one', 'pm_one', 'pm_two', 'pm_one']
    for (const card of cards) {
      const id = await saveCard(open)
      const order = await orderById(open.db, id)
      assert.ok(order)
      await open.db.write(...saveCardStatements(order, { customer: 'cus_1', card, lastFour: '4242' }, 1))
    }
    const replaced = sql.selectFrom('replaced_cards').select('card_id').where('card_customer', '=', 'cus_1')
    assert.deepEqual(await open.db.all(replaced), [{ card_id: 'pm_two' }])
  })

  test('card removed at the provider – switches off and notifies; another card does not', async (t) => {
    const open = await openLow(t)
    const { cardCustomer, cardId } = await read(open)
    const removed = { kind: 'card-removed', customer: cardCustomer ?? '', card: 'pm_other' } as const
    await receiveCardRemoval(open.deps, 'stripe', removed)
    assert.equal((await read(open)).state, 'on')
    for (const card of [cardId, null]) await receiveCardRemoval(open.deps, 'stripe', { ...removed, card })
    assert.partialDeepStrictEqual(await read(open), { state: 'off', cardId: null, problem: 'card_removed' })
    assert.deepEqual(await notified(open), ['recharge_card_removed'])
  })
})
