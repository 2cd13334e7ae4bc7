/** What of a paid order can go back now: the rules are in ledger/refundable.ts, the figures in the store. */
import { apiError } from '../../errors.ts'
import { unspentOf, type UnspentQuery } from '../../ledger/credits/unspent.ts'
import { maxRefundMinor, type RefundableOrder } from '../../ledger/refundable.ts'
import type { Order } from '../../payments/payment-orders.ts'
import {
  countedStates,
  disputesOfOrder,
  openRefundStates,
  paybacksOf,
  refundsOfOrder,
} from '../../payments/payment-refunds.ts'
import { bonusCreditId, paymentCreditId, paymentOfOrder, type Payment } from '../../payments/payments.ts'
import { rewardsTakenBack } from '../../payments/referrals.ts'
import type { PaymentDeps } from './payment-deps.ts'

export interface RefundablePayment {
  readonly payment: Payment
  readonly refundable: RefundableOrder
  /** In minor units: at most this can go back now, a multiple of `step`. */
  readonly maxMinor: bigint
  /** What the amount of a refund must be a multiple of. */
  readonly step: bigint
  /** How many refunds the order has, whatever became of them. */
  readonly refunds: number
  /** Whether one of them is neither made nor given back. */
  readonly hasOpenRefund: boolean
}

/** Throws 409 if the order is not paid. */
export async function refundablePayment(deps: PaymentDeps, order: Order): Promise<RefundablePayment> {
  const { db } = deps
  const payment = await paymentOfOrder(db, order.id)
  if (payment === undefined) throw apiError('conflict', { message: 'This order is not paid.' })
  const [refunds, disputes] = await Promise.all([refundsOfOrder(db, order.id), disputesOfOrder(db, order.id)])
  const counted = [
    ...refunds.filter(({ state }) => countedStates.includes(state)),
    ...disputes.filter(({ state }) => state !== 'won'),
  ]
  const refundable = {
    credit: payment.creditNanos,
    bonus: payment.bonusNanos,
    paidMinor: payment.amountMinor - order.feeMinor,
    refundedMinor: counted.reduce((sum, { amountMinor }) => sum + amountMinor, 0n),
    taken: {
      payment: counted.reduce((sum, { paymentNanos }) => sum + paymentNanos, 0n),
      bonus: counted.reduce((sum, { bonusNanos }) => sum + bonusNanos, 0n),
    },
  }
  // What is requested and may not have left the account yet is not there a second time.
  const waiting = refunds.filter(({ state, nextCheckAt }) => state === 'requested' && nextCheckAt !== null)
  const pending = waiting.reduce((sum, each) => sum + each.paymentNanos + each.bonusNanos, 0n)
  const left = (await unspentOfPayment(deps, payment)) - pending
  const unspent = left > 0n ? left : 0n
  const exactMax = maxRefundMinor(refundable, unspent)
  const step = deps.methods.get(order.method)?.amountStep?.(payment.currency) ?? 1n
  return {
    payment,
    refundable,
    maxMinor: exactMax - (exactMax % step),
    step,
    refunds: refunds.length,
    hasOpenRefund: refunds.some(({ state }) => openRefundStates.includes(state)),
  }
}

function unspentOfPayment(deps: PaymentDeps, payment: Payment): Promise<bigint> {
  const { accountId: account, orderId, bonusNanos } = payment
  const bonusId = bonusNanos > 0n ? bonusCreditId(orderId) : null
  return unspentOfCredit(deps, { account, creditId: paymentCreditId(payment), bonusId })
}

/** What is unspent of a credit in the ledger, in nanos. */
export async function unspentOfCredit(
  { db, wallet }: Pick<PaymentDeps, 'db' | 'wallet'>,
  { account, creditId, bonusId }: Pick<UnspentQuery, 'account' | 'creditId' | 'bonusId'>,
): Promise<bigint> {
  const paybacks = await paybacksOf(db, account)
  const creditIds = new Map<string, string>()
  for (const { orderId: order } of paybacks) {
    if (creditIds.has(order)) continue
    const paid = await paymentOfOrder(db, order)
    if (paid !== undefined) creditIds.set(order, paymentCreditId(paid))
  }
  const rewards = await rewardsTakenBack(db, account)
  const { held } = await wallet(account)
  return unspentOf(db, {
    account,
    held,
    creditId,
    bonusId,
    paybacks: [
      ...paybacks.map(({ id, orderId: of }) => ({ id, creditId: creditIds.get(of) ?? '' })),
      ...rewards.map((id) => ({ id, creditId: id })),
    ],
  })
}
