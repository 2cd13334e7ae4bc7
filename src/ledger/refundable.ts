/**
 * What can go back of a paid order, exactly. Credit and bonus go back in proportion to the money: after refunds of T in
 * total, of what was paid without the fee, ⌈credit · T ÷ paid⌉ and ⌈bonus · T ÷ paid⌉ have left the account. What has
 * been spent, and what came from elsewhere, never becomes cash (credits/unspent.ts).
 */

/** A paid order and its refunds so far. Amounts of the account in nanos, those of the payer in minor units. */
export interface RefundableOrder {
  readonly credit: bigint
  readonly bonus: bigint
  /** What was paid, without the fee. */
  readonly paidMinor: bigint
  readonly refundedMinor: bigint
  /** What the refunds so far have taken from the account, less what was given back. */
  readonly taken: RefundParts
}

/** What a refund takes from the account, in nanos. */
export interface RefundParts {
  readonly payment: bigint
  readonly bonus: bigint
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n
}

/** What a refund of this amount takes. Throws a RangeError if it is negative or more than what was paid and is not refunded. */
export function partsOfRefund(order: RefundableOrder, amountMinor: bigint): RefundParts {
  const { credit, bonus, paidMinor, refundedMinor, taken } = order
  const total = refundedMinor + amountMinor
  if (amountMinor < 0n || total > paidMinor)
    throw new RangeError(`${amountMinor} of ${paidMinor - refundedMinor} minor units cannot be refunded`)
  if (total === 0n) return { payment: 0n, bonus: 0n }
  return {
    payment: atLeastZero(ceilDivide(credit * total, paidMinor) - taken.payment),
    bonus: atLeastZero(ceilDivide(bonus * total, paidMinor) - taken.bonus),
  }
}

/** The largest refund, in minor units, that takes no more than what is unspent of the order, in nanos. */
export function maxRefundMinor(order: RefundableOrder, unspent: bigint): bigint {
  let most = atLeastZero(order.paidMinor - order.refundedMinor)
  let least = 0n
  while (least < most) {
    const amount = (least + most + 1n) / 2n
    const { payment, bonus } = partsOfRefund(order, amount)
    if (payment + bonus <= unspent) least = amount
    else most = amount - 1n
  }
  return least
}
