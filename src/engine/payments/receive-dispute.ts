/**
 * Disputes (chargebacks): the money has left the merchant, so the balance goes back as far as it is there; the rest is what
 * the account owes. A dispute that is won gives back what was taken.
 */
import { updateAccount } from '../../accounts/accounts.ts'
import { expectChanges } from '../../db/db.ts'
import { isUniqueViolation } from '../../db/store-error.ts'
import { partsOfRefund } from '../../ledger/refundable.ts'
import { formatMinor } from '../../lib/currency.ts'
import { formatAmount } from '../../lib/money.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import { insertDifference } from '../../payments/differences.ts'
import type { DisputeFacts, MethodName } from '../../payments/payment-method.ts'
import {
  disputeByReference,
  disputeId,
  insertDispute,
  updateDispute,
  type Dispute,
} from '../../payments/payment-refunds.ts'
import { paymentByTransaction, type Payment } from '../../payments/payments.ts'
import { recheckReward } from '../../payments/referrals.ts'
import { requireOrder } from './check-order.ts'
import { requireMethod, type PaymentDeps } from './payment-deps.ts'
import { refundablePayment } from './refundable-order.ts'
import { giveBack } from './send-refund.ts'

/** Reads a dispute from its provider, and acts on its state. One for a payment that is not here changes nothing. */
export async function receiveDispute(deps: PaymentDeps, name: MethodName, reference: string): Promise<void> {
  const method = requireMethod(deps, name)
  if (method.readDispute === undefined) return
  const facts = await method.readDispute(reference)
  const transaction = { method: name, merchant: method.merchant, transactionId: facts.transaction }
  const payment = await paymentByTransaction(deps.db, transaction)
  if (payment === undefined) return
  const dispute = (await disputeByReference(deps.db, name, reference)) ?? (await open(deps, payment, facts))
  if (facts.state === dispute.state) return
  if (facts.state === 'won') {
    const { accountId, paymentNanos, bonusNanos } = dispute
    await giveBack(deps, { id: disputeId(dispute), accountId, paymentNanos, bonusNanos })
  }
  await deps.db.write(updateDispute(dispute, facts.state, deps.now()))
}

/** Takes back what is available, once, and notifies the operators. */
async function open(deps: PaymentDeps, payment: Payment, facts: DisputeFacts): Promise<Dispute> {
  const { method, orderId, accountId: account } = payment
  // First, because the dispute's row ends all this: a crash in between must not leave the account active.
  if (deps.config.disputeStopsKeys) {
    const { changes } = await updateAccount(deps.db, account, { status: 'suspended' }, 'DISPUTE_STOPS_KEYS')
    await deps.publishChanges(changes)
  }
  const { refundable } = await refundablePayment(deps, await requireOrder(deps, orderId))
  const left = refundable.paidMinor - refundable.refundedMinor
  const wanted = partsOfRefund(refundable, facts.amountMinor < left ? facts.amountMinor : left)
  const parts = [
    { kind: 'payment', amount: wanted.payment },
    { kind: 'bonus', amount: wanted.bonus },
  ] as const
  const id = disputeId({ method, reference: facts.reference })
  const reason = `Dispute ${facts.reference}`
  const taken = await deps.credits.takeBack({ id, account, parts, mode: 'available', reason })
  const [paymentNanos, bonusNanos] = taken.kind === 'taken' ? [taken.payment, taken.bonus] : [0n, 0n]
  const at = deps.now()
  const dispute: Dispute = {
    method,
    reference: facts.reference,
    orderId,
    accountId: account,
    state: 'open',
    amountMinor: facts.amountMinor < left ? facts.amountMinor : left,
    paymentNanos,
    bonusNanos,
    receivableNanos: wanted.payment + wanted.bonus - paymentNanos - bonusNanos,
    createdAt: at,
    updatedAt: at,
  }
  try {
    await deps.db.write(expectChanges(insertDispute(dispute), 1), ...records(deps, payment, dispute))
  } catch (error) {
    if (!isUniqueViolation(error, 'payment_disputes.method')) throw error
    return (await disputeByReference(deps.db, method, facts.reference)) ?? dispute
  }
  return dispute
}

function records({ now, platformCurrency }: PaymentDeps, payment: Payment, dispute: Dispute) {
  const { method, merchant, currency } = payment
  const { reference, orderId, accountId, amountMinor, receivableNanos } = dispute
  const at = now()
  const difference = {
    kind: 'dispute',
    method,
    merchant,
    reference,
    orderId,
    accountId,
    currency,
    amountMinor,
    expectedMinor: null,
    detail: payment.transactionId,
    at,
  } as const
  return [
    recheckReward(orderId, at),
    insertDifference(difference, 'open', at),
    insertNotification({
      audience: operatorAudience,
      kind: 'payment',
      severity: 'critical',
      subject: `dispute:${method}:${reference}`,
      period: 'open',
      code: 'payment_disputed',
      params: {
        order: orderId,
        amount: formatMinor(amountMinor, currency),
        currency,
        receivable: formatAmount(receivableNanos),
        platform: platformCurrency,
      },
    }),
  ]
}
