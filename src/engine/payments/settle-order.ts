/**
 * The one way in which a payment becomes a credit. Notices, the return page, the poller, reconciliation and operators all
 * call `settleOrder` with what the provider itself has confirmed. One batch writes the order, the payment, the orders of
 * its credits, the notification and the audit record; the unique row of the payment makes it happen once, ever.
 */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, type Db, type Query } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import { isExpectationFailure, isUniqueViolation } from '../../db/store-error.ts'
import { creditOrderById, insertCreditOrder } from '../../ledger/credits/credit-orders.ts'
import { formatMinor } from '../../lib/currency.ts'
import { formatAmount } from '../../lib/money.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import type { DifferenceKind } from '../../db/schema/schema.ts'
import { saveCard } from '../../payments/automatic-recharges.ts'
import { insertDifference, listedDifference, surplusKey } from '../../payments/differences.ts'
import { orderById, unpaidStates, updateOrder, type Order } from '../../payments/payment-orders.ts'
import { releaseBonus, type SettledBonus } from '../../payments/recharge-bonuses.ts'
import type { MethodName, PaymentFacts } from '../../payments/payment-method.ts'
import {
  bonusCreditId,
  insertPayment,
  paymentByTransaction,
  paymentCreditId,
  type Payment,
} from '../../payments/payments.ts'
import { recordReferralPayment, type ReferralConfig } from '../../payments/referrals.ts'
import { isBalanceFull } from '../credits.ts'
import { hasRoom, type BalanceDeps } from './balance-room.ts'

/** `settled`: now. `known`: before. `mismatch`, `surplus`: listed for an operator. `foreign`: of another shop. */
export type SettleOutcome = 'settled' | 'known' | 'mismatch' | 'surplus' | 'foreign'

export interface SettleDeps extends BalanceDeps {
  readonly config: ReferralConfig
  readonly db: Db
  readonly platformCurrency: string
  readonly now: () => number
  /** Enters a stored credit order into the ledger; resolves when durable. */
  readonly applyCreditOrder: (creditId: string) => Promise<unknown>
  /** The bonus that still applies now that the order is paid (first recharge, budget). */
  readonly bonusAtSettlement: (order: Order, isAsOrdered: boolean) => Promise<SettledBonus>
}

export interface Settlement {
  /** Of the route, poller or run that confirmed the payment: another method's order is never settled by it. */
  readonly method: MethodName
  readonly facts: PaymentFacts
  /** `notice`, `poller`, `reconciliation`, or an operator. */
  readonly by: string
  /** An operator credits what came in place of what was ordered: the amount to credit, without a bonus. */
  readonly credited?: { readonly creditNanos: bigint; readonly feeMinor: bigint }
}

/** Compares, writes once, and enters the credits. Throws only if the store is unavailable: then nothing is concluded. */
export async function settleOrder(deps: SettleDeps, settlement: Settlement): Promise<SettleOutcome> {
  const { db } = deps
  const { method, facts } = settlement
  const transaction = { method, merchant: facts.merchant, transactionId: facts.transaction }
  for (;;) {
    // The order first: if it was paid by then and this payment is not stored after that, another one has paid it.
    const order = await orderById(db, facts.order)
    const known = await paymentByTransaction(db, transaction)
    if (known !== undefined) {
      await enterCredits(deps, known)
      if (known.orderId === facts.order) return 'known'
      // An operator who enters a transfer again gets an error; only what a provider says is listed.
      return method === 'bank' ? 'mismatch' : list(deps, settlement, undefined, 'mismatch')
    }
    if (order === undefined) return 'foreign'
    if (!matches(order, settlement)) return list(deps, settlement, order, 'mismatch')
    if (order.state === 'paid') return list(deps, settlement, order, 'surplus')
    if ((await creditOrderById(db, paymentCreditId(transaction))) !== undefined) {
      await endCredited(deps, order)
      return 'known'
    }
    // It was returned, or dismissed.
    if ((await listedDifference(db, surplusKey(transaction)))?.state === 'resolved') return 'surplus'
    const bonus = await deps.bonusAtSettlement(order, settlement.credited === undefined)
    const payment = paymentOf(deps, order, { settlement, bonus })
    if (!(await hasRoom(deps, order.accountId, payment.creditNanos + payment.bonusNanos)))
      return list(deps, settlement, order, 'surplus')
    try {
      await db.write(
        ...settlementBatch(
          deps,
          { ...order, feeMinor: settlement.credited?.feeMinor ?? order.feeMinor },
          payment,
        ),
        ...bonus.statements,
        ...cardStatements(order, facts, payment.settledAt),
      )
    } catch (error) {
      // Another call was faster, here or at another node: look again.
      if (isLost(error)) continue
      throw error
    }
    await enterCredits(deps, payment)
    return 'settled'
  }
}

/** Everything that was fixed when the order was made. Coupons of a provider do not change the amount of the order. */
function matches(order: Order, { method, facts, credited }: Settlement): boolean {
  return (
    order.method === method &&
    order.merchant === facts.merchant &&
    order.currency === facts.currency &&
    (order.amountMinor === facts.amountMinor || credited !== undefined)
  )
}

function isLost(error: unknown): boolean {
  const columns = ['payments.method', 'recharge_bonuses.account_id']
  return isExpectationFailure(error) || columns.some((column) => isUniqueViolation(error, column))
}

interface Settling {
  readonly settlement: Settlement
  readonly bonus: SettledBonus
}

function paymentOf(deps: SettleDeps, order: Order, { settlement, bonus }: Settling): Payment {
  const { method, facts, by, credited } = settlement
  const now = deps.now()
  return {
    method,
    merchant: facts.merchant,
    transactionId: facts.transaction,
    orderId: order.id,
    accountId: order.accountId,
    currency: facts.currency,
    amountMinor: facts.amountMinor,
    creditNanos: credited?.creditNanos ?? order.creditNanos,
    bonusNanos: bonus.nanos,
    payer: facts.payer,
    paidAt: facts.paidAt ?? now,
    settledAt: now,
    settledBy: by,
  }
}

function settlementBatch(
  { config, platformCurrency }: SettleDeps,
  order: Order,
  payment: Payment,
): Statement[] {
  const { creditNanos, bonusNanos, accountId: account, settledAt: at } = payment
  const patch = {
    state: 'paid',
    paidAt: payment.paidAt,
    nextCheckAt: null,
    creditNanos,
    bonusNanos,
    feeMinor: order.feeMinor,
  } as const
  const amount = formatMinor(payment.amountMinor, payment.currency)
  const reason = `Recharge ${order.id}`
  const paid = {
    id: paymentCreditId(payment),
    account,
    amountNanos: creditNanos,
    source: 'payment',
    reason,
  } as const
  const bonus = {
    id: bonusCreditId(order.id),
    account,
    amountNanos: bonusNanos,
    source: 'bonus',
    reason,
  } as const
  const detail = {
    account,
    method: payment.method,
    transaction: payment.transactionId,
    amount,
    currency: payment.currency,
    credit: formatAmount(creditNanos),
    bonus: formatAmount(bonusNanos),
  }
  return [
    expectChanges(updateOrder(order.id, unpaidStates, patch, at), 1),
    expectChanges(insertPayment(payment), 1),
    insertCreditOrder(paid, at),
    ...(bonusNanos > 0n ? [insertCreditOrder(bonus, at)] : []),
    ...recordReferralPayment(config, payment),
    insertNotification({
      audience: account,
      kind: 'payment',
      severity: 'info',
      subject: `order:${order.id}`,
      period: 'paid',
      code: 'payment_received',
      params: {
        amount,
        currency: payment.currency,
        credit: formatAmount(creditNanos + bonusNanos),
        platform: platformCurrency,
      },
    }),
    auditStatement(payment.settledBy, 'payment.settle', order.id, detail),
  ]
}

/** The card of a payer who agreed to save it. */
function cardStatements(order: Order, { savedCard }: PaymentFacts, at: number): Query[] {
  return order.savesCard && savedCard !== null ? saveCard(order, savedCard, at) : []
}

/** An operator has credited this payment by a decision about a difference: the order is not settled any more. */
async function endCredited({ db, now }: SettleDeps, order: Order): Promise<void> {
  const patch = { state: 'failed', problem: 'Credited by an operator.', nextCheckAt: null } as const
  await db.write(updateOrder(order.id, unpaidStates, patch, now()), ...releaseBonus(order))
}

/**
 * Both are entered once under their ids; a crash, or another credit that took the last room of the balance, leaves their
 * orders to the reconciliation of credits.
 */
async function enterCredits({ applyCreditOrder }: SettleDeps, payment: Payment): Promise<void> {
  try {
    await applyCreditOrder(paymentCreditId(payment))
    if (payment.bonusNanos > 0n) await applyCreditOrder(bonusCreditId(payment.orderId))
  } catch (error) {
    if (!isBalanceFull(error)) throw error
  }
}

/** Keeps a genuine payment that was not credited: it is shown to the operators until one decides. */
async function list(
  { db, now }: SettleDeps,
  { method, facts }: Settlement,
  order: Order | undefined,
  outcome: 'mismatch' | 'surplus',
): Promise<SettleOutcome> {
  const kind: DifferenceKind = outcome === 'surplus' ? 'surplus' : 'amount'
  const at = now()
  await db.write(
    insertDifference(
      {
        kind,
        method,
        merchant: facts.merchant,
        reference: facts.transaction,
        orderId: facts.order,
        accountId: order?.accountId ?? null,
        currency: facts.currency,
        amountMinor: facts.amountMinor,
        expectedMinor: outcome === 'surplus' ? null : (order?.amountMinor ?? null),
        detail: order === undefined ? '' : `${order.method} ${order.merchant} ${order.currency}`,
        at: facts.paidAt ?? at,
      },
      'open',
      at,
    ),
    insertNotification({
      audience: operatorAudience,
      kind: 'payment',
      severity: 'warning',
      subject: `payment:${method}:${facts.transaction}`,
      period: kind,
      code: 'payment_difference',
      params: {
        method,
        order: facts.order,
        amount: formatMinor(facts.amountMinor, facts.currency),
        currency: facts.currency,
      },
    }),
  )
  return outcome
}
