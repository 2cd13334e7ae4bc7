// @suite all – starts PostgreSQL
/** Rewards for inviting over both stores: clearing, each refusal, the maximum, taking back, two nodes at once. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { expectChanges } from '../../db/db.ts'
import { formatAmount, parseAmount } from '../../lib/money.ts'
import { updateRefund } from '../../payments/payment-refunds.ts'
import { refuseReferral, rewardWithinMax } from '../../payments/referrals.ts'
import { stores } from '../credits.fixture.ts'
import { ann, at, cleared, day, orderOf, Referrals } from './referrals.fixture.ts'

for (const { name, skip, open } of stores) {
  describe(`referrals on ${name}`, () => {
    test('cleared payment – rewards both sides once, with two nodes at once', { skip }, async (t) => {
      const referrals = await Referrals.open(t, open)
      await referrals.invite('acc_ben')
      await referrals.pay('acc_ben', { orderId: 'S_second' })
      await referrals.check(cleared - 1)
      assert.deepEqual(await referrals.stateOf('acc_ben'), ['pending', null])
      assert.deepEqual([await referrals.balance(ann), await referrals.balance('acc_ben')], ['0', '0'])
      for (let round = 0; round < 3; round += 1) await referrals.check()
      assert.deepEqual([await referrals.balance(ann), await referrals.balance('acc_ben')], ['20', '5'])
      const { state, orderId, nextCheckAt } = await referrals.of('acc_ben')
      assert.deepEqual([state, orderId, nextCheckAt], ['rewarded', orderOf('acc_ben'), null])
      await referrals.assertLedger()
    })

    test('refusals – each has its reason, and nobody gets anything', { skip }, async (t) => {
      const referrals = await Referrals.open(t, open)
      await referrals.pay(ann, { payer: 'of ann' })
      await referrals.invite('acc_mailbox', {}, { email: 'Ann+shop@Example.com' })
      await referrals.invite('acc_payer', { payer: 'of ann' })
      await referrals.invite('acc_later', { payer: 'of both', settledAt: at + 1 })
      await referrals.invite('acc_first', { payer: 'of both' })
      await referrals.invite('acc_suspended', {}, { status: 'suspended' })
      await referrals.invite('acc_refunded')
      await referrals.refund('acc_refunded', 'done')
      await referrals.invite('acc_disputed')
      await referrals.dispute('acc_disputed')
      await referrals.invite('acc_requested')
      const refund = await referrals.refund('acc_requested', 'requested')
      const expected = {
        acc_mailbox: ['refused', 'same_person'],
        acc_payer: ['refused', 'same_payer'],
        acc_later: ['refused', 'same_payer'],
        acc_first: ['rewarded', null],
        acc_suspended: ['refused', 'suspended'],
        acc_refunded: ['refused', 'refunded'],
        acc_disputed: ['refused', 'disputed'],
        acc_requested: ['pending', null],
      }
      await referrals.check(cleared + 1)
      for (const [invited, state] of Object.entries(expected))
        assert.deepEqual(await referrals.stateOf(invited), state, invited)
      assert.deepEqual([await referrals.balance(ann), await referrals.balance('acc_first')], ['20', '5'])
      // The refund is refused: nothing went back.
      await referrals.db.write(updateRefund(refund, ['requested'], { state: 'refused' }, at))
      await referrals.check(cleared + day)
      assert.deepEqual(await referrals.stateOf('acc_requested'), ['rewarded', null])
    })

    test('monthly maximum – is never exceeded, and the next month is another one', { skip }, async (t) => {
      const referrals = await Referrals.open(t, open)
      const invited = Array.from({ length: 5 }, (_, number) => `acc_${number}`)
      for (const id of invited) await referrals.invite(id)
      await referrals.check()
      const states = await Promise.all(invited.map((id) => referrals.stateOf(id)))
      assert.deepEqual(states.filter(([state]) => state === 'rewarded').length, 3)
      assert.deepEqual(
        states.filter(([state]) => state !== 'rewarded'),
        [
          ['refused', 'monthly_maximum'],
          ['refused', 'monthly_maximum'],
        ],
      )
      assert.equal(await referrals.balance(ann), '60')
      await referrals.invite('acc_next')
      await referrals.check(cleared + 40 * day)
      assert.deepEqual(await referrals.stateOf('acc_next'), ['rewarded', null])
      await referrals.assertLedger()
    })

    test('monthly maximum – holds for ten decisions at once', { skip }, async (t) => {
      const referrals = await Referrals.open(t, open)
      const invited = Array.from({ length: 10 }, (_, number) => `acc_${number}`)
      for (const id of invited) await referrals.invite(id)
      const rows = await Promise.all(invited.map((id) => referrals.of(id)))
      const bounds = { since: cleared - day, maxNanos: parseAmount('60') }
      const decisions = await Promise.allSettled(
        rows.map((row) => referrals.db.write(expectChanges(rewardWithinMax(row, bounds, cleared), 1))),
      )
      assert.equal(decisions.filter(({ status }) => status === 'fulfilled').length, 3)
    })

    test('payment that goes back – takes back what is there, once', { skip }, async (t) => {
      const referrals = await Referrals.open(t, open)
      await referrals.invite('acc_ben')
      await referrals.invite('acc_cat')
      await referrals.check()
      await referrals.check()
      assert.equal(await referrals.balance(ann), '40')
      const refund = await referrals.refund('acc_ben', 'requested')
      await referrals.check()
      assert.deepEqual(await referrals.stateOf('acc_ben'), ['rewarded', null])
      await referrals.db.write(updateRefund(refund, ['requested'], { state: 'done' }, at))
      await referrals.debit('acc_ben', '3')
      for (let round = 0; round < 3; round += 1) await referrals.check(cleared + day)
      assert.deepEqual(await referrals.stateOf('acc_ben'), ['taken_back', 'refunded'])
      const { referrerTakenNanos, invitedTakenNanos, nextCheckAt } = await referrals.of('acc_ben')
      const taken = [formatAmount(referrerTakenNanos), formatAmount(invitedTakenNanos)]
      assert.deepEqual([taken, nextCheckAt], [['20', '2'], null])
      assert.deepEqual([await referrals.balance(ann), await referrals.balance('acc_ben')], ['20', '0'])
      await referrals.dispute('acc_cat')
      await referrals.check()
      assert.deepEqual(await referrals.stateOf('acc_cat'), ['taken_back', 'disputed'])
      assert.deepEqual([await referrals.balance(ann), await referrals.balance('acc_cat')], ['0', '0'])
      await referrals.assertLedger()
    })

    test('reward that is spent – is not taken from what came later', { skip }, async (t) => {
      const referrals = await Referrals.open(t, open)
      await referrals.invite('acc_ben')
      await referrals.check()
      await referrals.debit(ann, '15')
      await referrals.credit(ann, '50')
      await referrals.dispute('acc_ben')
      await referrals.check()
      assert.equal(await referrals.balance(ann), '50')
      await referrals.assertLedger()
    })

    test(
      'small payment – does not count, and an operator can refuse until the reward',
      { skip },
      async (t) => {
        const referrals = await Referrals.open(t, open)
        await referrals.invite('acc_ben', { creditNanos: parseAmount('9.99') })
        assert.deepEqual(await referrals.stateOf('acc_ben'), ['waiting', null])
        await referrals.pay('acc_ben', { orderId: 'S_second', creditNanos: parseAmount('10') })
        const { id, orderId, invitedNanos } = await referrals.of('acc_ben')
        assert.deepEqual([orderId, formatAmount(invitedNanos)], ['S_second', '1'])
        const refuseAs = (referral: string) =>
          refuseReferral(referrals.db, referral, { reason: 'the same office', by: 'operator:o', at })
        assert.deepEqual((await refuseAs(id)).state, 'refused')
        await referrals.check()
        assert.deepEqual(await referrals.stateOf('acc_ben'), ['refused', 'the same office'])
        await referrals.invite('acc_cat')
        await referrals.check()
        for (const late of [id, (await referrals.of('acc_cat')).id])
          await assert.rejects(refuseAs(late), /This referral is/)
        await assert.rejects(refuseAs('ref_none'), /Referral not found/)
        assert.equal(await referrals.balance(ann), '20')
      },
    )
  })
}
