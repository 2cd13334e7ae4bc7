/** What an operator decides about a difference. Each decision is written once, with its reason, to the audit log. */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import { isExpectationFailure, isUniqueViolation } from '../../db/store-error.ts'
import { accountById } from '../../accounts/accounts.ts'
import { apiError, invalidField, notFound } from '../../errors.ts'
import { insertCreditOrder } from '../../ledger/credits/credit-orders.ts'
import { partsOfRefund } from '../../ledger/refundable.ts'
import { creditOf } from '../../payments/amounts.ts'
import { differenceById, resolveDifference, type Difference } from '../../payments/differences.ts'
import { insertRefund, listedRefundIdOf, type Refund } from '../../payments/payment-refunds.ts'
import { paymentCreditId } from '../../payments/payments.ts'
import { rateAt } from '../../payments/rates.ts'
import { recheckReward } from '../../payments/referrals.ts'
import { hasRoom } from './balance-room.ts'
import { checkOrder, requireOrder } from './check-order.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { refundNotification } from './refund-notifications.ts'
import { refundablePayment } from './refundable-order.ts'

export const differenceActions = ['settle', 'credit', 'foreign', 'refund_row', 'dismiss'] as const
export type DifferenceAction = (typeof differenceActions)[number]

export interface DifferenceDecision {
  readonly action: DifferenceAction
  /** Whom to credit, if the difference names no account. */
  readonly account: string | null
  readonly reason: string
  readonly by: string
}

/** Throws 400 naming the field, 404, 409 if it was resolved before or the action does not apply. */
export async function decideDifference(
  deps: PaymentDeps,
  id: string,
  decision: DifferenceDecision,
): Promise<Difference> {
  const difference = await requireDifference(deps, id)
  if (difference.state !== 'open') throw apiError('conflict', { message: 'This difference is resolved.' })
  switch (decision.action) {
    case 'settle':
      await settle(deps, difference, decision)
      break
    case 'credit':
      await credit(deps, difference, decision)
      break
    case 'refund_row':
      await addRefund(deps, difference, decision)
      break
    default:
      await resolve(deps, difference, decision)
  }
  return requireDifference(deps, id)
}

async function requireDifference({ db }: PaymentDeps, id: string): Promise<Difference> {
  const difference = await differenceById(db, id)
  if (difference === undefined) throw notFound('Difference')
  return difference
}

async function resolve(
  deps: PaymentDeps,
  { id }: Difference,
  { action, reason, by }: DifferenceDecision,
  extraStatements: readonly Statement[] = [],
): Promise<void> {
  try {
    await deps.db.write(
      expectChanges(resolveDifference(id, { by, action, reason }, deps.now()), 1),
      auditStatement(by, 'payment-difference.resolve', id, { action, reason }),
      ...extraStatements,
    )
  } catch (error) {
    if (isUniqueViolation(error, 'credit_orders.id'))
      throw apiError('conflict', { message: 'This payment was already credited.' })
    if (!isExpectationFailure(error)) throw error
    throw apiError('conflict', { message: 'This difference is resolved.' })
  }
}

/** Asks the provider again; it settles only if every fact is equal. */
async function settle(
  deps: PaymentDeps,
  difference: Difference,
  decision: DifferenceDecision,
): Promise<void> {
  if (difference.orderId === null) throw notApplicable('It names no order.')
  const outcome = await checkOrder(deps, await requireOrder(deps, difference.orderId), decision.by)
  if (outcome !== 'settled' && outcome !== 'known') throw notApplicable(`The provider says: ${outcome}.`)
  await resolve(deps, difference, decision)
}

/** Credits what arrived under the number of its transaction: once, even if two operators decide. */
async function credit(
  deps: PaymentDeps,
  difference: Difference,
  decision: DifferenceDecision,
): Promise<void> {
  const { method, merchant, reference, currency, amountMinor } = difference
  const account = decision.account ?? difference.accountId
  if (account === null) throw invalidField('account', 'is required')
  if ((await accountById(deps.db, account)) === undefined)
    throw apiError('not_found', { param: 'account', message: 'Account not found.' })
  const isPayment = ['surplus', 'amount', 'unknown_order', 'paid_there_only'].includes(difference.kind)
  if (amountMinor === null || !isPayment) throw notApplicable('It is not about a payment that arrived.')
  const ratePpm = await rateAt(deps.db, currency, deps.platformCurrency, deps.now())
  if (ratePpm === undefined) throw notApplicable(`There is no rate for ${currency}.`)
  const amountNanos = creditOf(amountMinor, ratePpm, currency)
  if (!(await hasRoom(deps, account, amountNanos)))
    throw notApplicable('The balance would exceed the maximum.')
  const order = {
    id: paymentCreditId({ method, merchant, transactionId: reference }),
    account,
    amountNanos,
    source: 'payment',
    reason: decision.reason,
  } as const
  await resolve(deps, difference, decision, [insertCreditOrder(order, deps.now())])
  await deps.applyCreditOrder(order.id)
}

/** A refund that was made in the provider's own pages: the balance goes back as far as it is there. */
async function addRefund(
  deps: PaymentDeps,
  difference: Difference,
  decision: DifferenceDecision,
): Promise<void> {
  const { kind, orderId, amountMinor, reference } = difference
  if (kind !== 'refund_there_only' || orderId === null || amountMinor === null)
    throw notApplicable('It is not about a refund of a known order with its amount.')
  const order = await requireOrder(deps, orderId)
  const { refundable } = await refundablePayment(deps, order)
  const left = refundable.paidMinor - refundable.refundedMinor
  if (left <= 0n) throw notApplicable('Nothing of this payment can go back.')
  // The provider's pages return the fee, too, which was never credited.
  const countedMinor = amountMinor < left ? amountMinor : left
  const id = listedRefundIdOf(orderId, difference.id)
  const wanted = partsOfRefund(refundable, countedMinor)
  const parts = [
    { kind: 'payment', amount: wanted.payment },
    { kind: 'bonus', amount: wanted.bonus },
  ] as const
  const account = order.accountId
  const taken = await deps.credits.takeBack({ id, account, parts, mode: 'available' })
  const [paymentNanos, bonusNanos] = taken.kind === 'taken' ? [taken.payment, taken.bonus] : [0n, 0n]
  const at = deps.now()
  const refund: Refund = {
    id,
    orderId,
    accountId: account,
    state: 'done',
    amountMinor: countedMinor,
    paymentNanos,
    bonusNanos,
    reason: decision.reason,
    requestedBy: decision.by,
    decidedBy: decision.by,
    reference,
    problem: null,
    nextCheckAt: null,
    checks: 0,
    createdAt: at,
    updatedAt: at,
  }
  await resolve(deps, difference, decision, [
    expectChanges(insertRefund(refund), 1),
    recheckReward(orderId, at),
    refundNotification(refund, order.currency, 'done'),
  ])
}

function notApplicable(reason: string) {
  return apiError('conflict', { param: 'action', message: `This action does not apply. ${reason}` })
}
