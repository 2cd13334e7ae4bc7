/**
 * Refunds of unused balance: the row with its final amount, then the balance is taken back, then the provider is asked with
 * the refund's number. Whatever stops in between goes on from there; nothing is ever refunded under a second number.
 */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges } from '../../db/db.ts'
import { isExpectationFailure, isUniqueViolation } from '../../db/store-error.ts'
import { apiError, notFound } from '../../errors.ts'
import { partsOfRefund } from '../../ledger/refundable.ts'
import { formatMinor, parseMinor } from '../../lib/currency.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import type { RefundState } from '../../db/schema/schema.ts'
import { requireMultiple } from '../../payments/amounts.ts'
import { needsCreditNote, unlessInvoiced } from '../../payments/invoices.ts'
import { updateOrder } from '../../payments/payment-orders.ts'
import {
  insertRefund,
  refundById,
  refundIdOf,
  updateRefund,
  type Refund,
} from '../../payments/payment-refunds.ts'
import { recheckReward } from '../../payments/referrals.ts'
import { requireOrder } from './check-order.ts'
import { methodOf, type PaymentDeps } from './payment-deps.ts'
import { refundNotification } from './refund-notifications.ts'
import { refundablePayment, type RefundablePayment } from './refundable-order.ts'
import { claimMs, returnBalance, sendRefund } from './send-refund.ts'

export interface RefundInput {
  readonly order: string
  /** In the order's currency; null: all that can go back. */
  readonly amount: string | null
  readonly reason: string
  readonly by: string
  /** An operator's request is approved at once. */
  readonly isOperator: boolean
}

const selfRefundWithinMs = 86_400_000

/**
 * Throws 404, 409 if nothing, or less than the amount, can go back, if the method is no longer configured, if a customer's
 * refund of the order is open, or if an operator refunds what is invoiced. A customer's request for what is invoiced waits.
 */
export async function requestRefund(deps: PaymentDeps, input: RefundInput): Promise<Refund> {
  const order = await requireOrder(deps, input.order)
  methodOf(deps, order)
  for (;;) {
    const found = await refundablePayment(deps, order)
    if (!input.isOperator && found.hasOpenRefund) throw refundIsOpen()
    const amountMinor = amountOf(found, input)
    if (input.isOperator && (await needsCreditNote(deps.db, order.id, amountMinor))) throw creditNoteFirst()
    const { payment: paymentNanos, bonus: bonusNanos } = partsOfRefund(found.refundable, amountMinor)
    const at = deps.now()
    const refund: Refund = {
      id: refundIdOf(order.id, found.refunds + 1),
      orderId: order.id,
      accountId: order.accountId,
      state: 'requested',
      amountMinor,
      paymentNanos,
      bonusNanos,
      reason: input.reason,
      requestedBy: input.by,
      decidedBy: null,
      reference: null,
      problem: null,
      // Until the balance is taken back: a crash leaves it to the poller.
      nextCheckAt: at + 30_000,
      checks: 0,
      createdAt: at,
      updatedAt: at,
    }
    try {
      await deps.db.write(
        expectChanges(insertRefund(refund), 1),
        recheckReward(order.id, at),
        ...requestRecords(refund, found, input),
      )
    } catch (error) {
      if (isUniqueViolation(error, 'payment_refunds.id')) continue
      throw error
    }
    await takeBalance(deps, refund)
    const isOwnChoice =
      deps.config.refundSelf &&
      isUnused(found, amountMinor, at) &&
      !(await needsCreditNote(deps.db, order.id))
    return input.isOperator || isOwnChoice
      ? approveRefund(deps, refund.id, input.isOperator ? input.by : 'REFUND_SELF')
      : requireRefund(deps, refund.id)
  }
}

function amountOf({ payment, maxMinor, step }: RefundablePayment, { amount }: RefundInput): bigint {
  const { currency } = payment
  if (maxMinor === 0n) throw apiError('conflict', { message: 'Nothing of this payment can go back.' })
  const amountMinor = amount === null ? maxMinor : parseMinor(amount, currency, 'amount')
  requireMultiple(amountMinor, step, currency)
  if (amountMinor > 0n && amountMinor <= maxMinor) return amountMinor
  const message = `At most ${formatMinor(maxMinor, currency)} ${currency} can go back.`
  throw apiError('conflict', { param: 'amount', message })
}

/** The whole payment, within a day, with nothing spent. */
function isUnused({ payment, refundable, maxMinor }: RefundablePayment, amount: bigint, at: number): boolean {
  const isWhole = amount === refundable.paidMinor && maxMinor === refundable.paidMinor
  return isWhole && at - payment.settledAt <= selfRefundWithinMs
}

function requestRecords(
  refund: Refund,
  { payment }: RefundablePayment,
  { by, isOperator, reason }: RefundInput,
) {
  const amount = formatMinor(refund.amountMinor, payment.currency)
  const audit = auditStatement(by, 'payment-refund.request', refund.id, {
    account: refund.accountId,
    amount,
    currency: payment.currency,
    reason,
  })
  if (isOperator) return [audit]
  const notice = insertNotification({
    audience: operatorAudience,
    kind: 'payment',
    severity: 'warning',
    subject: `refund:${refund.id}`,
    period: 'requested',
    code: 'refund_requested',
    params: { order: refund.orderId, amount, currency: payment.currency },
  })
  return [audit, notice]
}

/** Throws 409 if the balance is not there any more: then the refund is refused, and nothing was taken. */
export async function takeBalance(deps: PaymentDeps, refund: Refund): Promise<void> {
  const { id, accountId: account, paymentNanos, bonusNanos } = refund
  const parts = [
    { kind: 'payment', amount: paymentNanos },
    { kind: 'bonus', amount: bonusNanos },
  ] as const
  const taken = await deps.credits.takeBack({ id, account, parts, mode: 'all' })
  const at = deps.now()
  if (taken.kind === 'taken' && taken.payment === paymentNanos && taken.bonus === bonusNanos) {
    await deps.db.write(updateRefund(id, ['requested'], { nextCheckAt: null }, at))
    return
  }
  const problem = 'The balance was spent or held in the meantime.'
  await deps.db.write(updateRefund(id, ['requested'], { state: 'refused', problem, nextCheckAt: null }, at))
  throw apiError('conflict', { message: problem })
}

const refundIsOpen = () =>
  apiError('conflict', {
    message: 'A refund of this payment is in progress. Wait until it is done or refused.',
  })

const creditNoteFirst = () =>
  apiError('conflict', {
    message: 'This payment is invoiced. Issue the credit note and reverse the invoice first.',
  })

/**
 * Throws 404, 409 if it was decided before, its method is no longer configured or what goes back is invoiced. Resolves with
 * what became of it.
 */
export async function approveRefund(deps: PaymentDeps, id: string, by: string): Promise<Refund> {
  const refund = await requireRefund(deps, id)
  methodOf(deps, await requireOrder(deps, refund.orderId))
  if (refund.nextCheckAt !== null && refund.state === 'requested') await takeBalance(deps, refund)
  await decide(deps, refund, { from: ['requested'], to: 'debited', by, action: 'approve', problem: null })
  await sendRefund(deps, await requireRefund(deps, id))
  return requireRefund(deps, id)
}

/** Gives the balance back, also of a transfer that the payer's bank has returned. Throws 404, 409 if it was decided before. */
export async function refuseRefund(
  deps: PaymentDeps,
  id: string,
  reason: string,
  by: string,
): Promise<Refund> {
  const refund = await requireRefund(deps, id)
  const { method } = await requireOrder(deps, refund.orderId)
  if (refund.nextCheckAt !== null && refund.state === 'requested') await takeBalance(deps, refund)
  await decide(deps, refund, {
    from: ['requested', 'unknown', ...(method === 'bank' ? (['sent'] as const) : [])],
    to: 'refused',
    by,
    action: 'refuse',
    problem: reason,
  })
  await returnBalance(deps, { ...refund, state: 'refused' })
  return requireRefund(deps, id)
}

/** An operator has sent the money, or knows that it has arrived. Throws 404, 409 in other states. */
export async function completeRefund(
  deps: PaymentDeps,
  id: string,
  transaction: string,
  by: string,
): Promise<Refund> {
  const refund = await requireRefund(deps, id)
  await decide(deps, refund, {
    from: ['debited', 'sent', 'unknown'],
    to: 'done',
    by,
    action: 'done',
    problem: null,
    reference: transaction,
  })
  return requireRefund(deps, id)
}

interface Decision {
  readonly from: readonly RefundState[]
  readonly to: 'debited' | 'refused' | 'done'
  readonly by: string
  readonly action: string
  readonly problem: string | null
  readonly reference?: string
}

async function decide(deps: PaymentDeps, refund: Refund, decision: Decision): Promise<void> {
  const { from, to, by, action, problem, reference } = decision
  const at = deps.now()
  // A refusal is checked again until the balance is back; an approval until the provider has responded.
  const nextCheckAt = to === 'done' ? null : at + (to === 'debited' ? claimMs : 30_000)
  const patch = {
    state: to,
    decidedBy: by,
    problem,
    nextCheckAt,
    ...(reference === undefined ? {} : { reference }),
  }
  const update = updateRefund(refund.id, from, patch, at)
  const isApproval = to === 'debited'
  const { currency } = await requireOrder(deps, refund.orderId)
  try {
    await deps.db.write(
      // Locks the order against an invoice that is asked for at the same time.
      ...(isApproval ? [updateOrder(refund.orderId, ['paid'], {}, at)] : []),
      isApproval ? unlessInvoiced(update, refund.orderId) : expectChanges(update, 1),
      auditStatement(by, `payment-refund.${action}`, refund.id, problem === null ? {} : { reason: problem }),
      ...(to === 'debited' ? [] : [refundNotification(refund, currency, to, problem ?? '')]),
    )
  } catch (error) {
    if (!isExpectationFailure(error)) throw error
    const { state } = await requireRefund(deps, refund.id)
    if (isApproval && state === 'requested') throw creditNoteFirst()
    throw apiError('conflict', { message: `This refund is ${state}.` })
  }
}

/** Throws 404. */
export async function requireRefund({ db }: Pick<PaymentDeps, 'db'>, id: string): Promise<Refund> {
  const refund = await refundById(db, id)
  if (refund === undefined) throw notFound('Refund')
  return refund
}
