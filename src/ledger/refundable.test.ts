import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { maxRefundMinor, partsOfRefund, type RefundableOrder } from './refundable.ts'

const yuan = 1_000_000_000n

function orderOf(fields: Pick<RefundableOrder, 'credit' | 'bonus' | 'paidMinor'>): RefundableOrder {
  return { ...fields, refundedMinor: 0n, taken: { payment: 0n, bonus: 0n } }
}

/** The order after a refund. */
function refunded(order: RefundableOrder, amountMinor: bigint): RefundableOrder {
  const { payment, bonus } = partsOfRefund(order, amountMinor)
  const { taken, refundedMinor } = order
  return {
    ...order,
    refundedMinor: refundedMinor + amountMinor,
    taken: { payment: taken.payment + payment, bonus: taken.bonus + bonus },
  }
}

const nanos = fc.oneof(fc.bigInt(0n, 10n ** 13n), fc.bigInt(0n, 500n))
const orders = fc
  .record({ credit: nanos, bonus: nanos, paidMinor: fc.bigInt(1n, 100_000n) })
  .map((fields) => orderOf(fields))

describe('maxRefundMinor', () => {
  const hundred = orderOf({ credit: 100n * yuan, bonus: 10n * yuan, paidMinor: 10_000n })

  test('100 paid with a bonus of 10, 60 unspent – 54.54 go back, with 5.454 of the bonus', () => {
    assert.equal(maxRefundMinor(hundred, 60n * yuan), 5454n)
    assert.deepEqual(partsOfRefund(hundred, 5454n), {
      payment: 54_540_000_000n,
      bonus: 5_454_000_000n,
    })
  })

  test('everything unspent – all goes back; nothing unspent – nothing', () => {
    assert.equal(maxRefundMinor(hundred, 110n * yuan), 10_000n)
    assert.equal(maxRefundMinor(hundred, 110n * yuan - 1n), 9999n)
    assert.equal(maxRefundMinor(hundred, 0n), 0n)
    assert.equal(maxRefundMinor(refunded(hundred, 10_000n), 110n * yuan), 0n)
  })

  test('an earlier refund that took less than its share – is made up for first', () => {
    const disputed = { ...hundred, refundedMinor: 5000n, taken: { payment: 20n * yuan, bonus: 0n } }
    assert.equal(maxRefundMinor(disputed, 35n * yuan), 0n)
    assert.equal(maxRefundMinor(disputed, 36n * yuan), 90n)
    assert.deepEqual(partsOfRefund(disputed, 5000n), { payment: 80n * yuan, bonus: 10n * yuan })
  })

  test('without money that can go back – the fee is all of it – is 0', () => {
    assert.equal(maxRefundMinor({ ...hundred, paidMinor: 0n, credit: 0n, bonus: 0n }, 5n), 0n)
  })

  test('any order – is the largest amount whose parts are within what is unspent', () => {
    fc.assert(
      fc.property(
        orders,
        fc.bigInt(0n, 2n * 10n ** 13n),
        fc.bigInt(0n, 100_000n),
        (fresh, unspent, before) => {
          const order = refunded(fresh, before % (fresh.paidMinor + 1n))
          const amount = maxRefundMinor(order, unspent)
          const costOf = (minor: bigint): bigint => {
            const { payment, bonus } = partsOfRefund(order, minor)
            return payment + bonus
          }
          const left = order.paidMinor - order.refundedMinor
          assert.ok(amount >= 0n && amount <= left && costOf(amount) <= unspent)
          if (amount < left) assert.ok(costOf(amount + 1n) > unspent)
        },
      ),
      { numRuns: 3000 },
    )
  })
})

describe('partsOfRefund', () => {
  test('any refunds – never take more than credit and bonus, a full one exactly both', () => {
    fc.assert(
      fc.property(orders, fc.array(fc.bigInt(0n, 40_000n), { maxLength: 12 }), (fresh, amounts) => {
        let order = fresh
        for (const wanted of amounts) {
          const left = order.paidMinor - order.refundedMinor
          order = refunded(order, wanted < left ? wanted : left)
          const { taken, credit, bonus } = order
          assert.ok(taken.payment <= credit && taken.bonus <= bonus)
          // Never less than in proportion: the rest of the balance is not paid back twice.
          assert.ok(taken.payment * order.paidMinor >= credit * order.refundedMinor)
        }
        order = refunded(order, order.paidMinor - order.refundedMinor)
        assert.deepEqual(order.taken, { payment: fresh.credit, bonus: fresh.bonus })
      }),
      { numRuns: 3000 },
    )
  })

  test('a negative amount, or more than is left – is rejected', () => {
    const order = refunded(orderOf({ credit: 10n, bonus: 0n, paidMinor: 10n }), 4n)
    for (const amount of [-1n, 7n]) assert.throws(() => partsOfRefund(order, amount), RangeError)
  })
})
