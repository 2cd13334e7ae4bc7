/**
 * Payments, on the main thread: orders, notices and checks. HTTP handlers of every thread, the control socket and the
 * leader's jobs call it. Two calls for one order at the same time are one; what makes a credit unique is in the store.
 */
import type { PaymentFee } from '../../config/payments.ts'
import { setTimeout } from 'node:timers/promises'
import { parseMinor } from '../../lib/currency.ts'
import { errorMessage } from '../../lib/error-message.ts'
import {
  checkOpenOrdersAt,
  deleteUnpaidOrders,
  dueOrders,
  type Order,
} from '../../payments/payment-orders.ts'
import type {
  MethodName,
  NoticeResponse,
  PaymentMethod,
  ReceivedNotice,
} from '../../payments/payment-method.ts'
import type { Difference } from '../../payments/differences.ts'
import type { PaymentRun } from '../../payments/payment-runs.ts'
import type { Refund } from '../../payments/payment-refunds.ts'
import { rateAt } from '../../payments/rates.ts'
import { cancelOrder, requireOrder, scheduleRetry } from './check-order.ts'
import { confirmOrder, type ReceivedTransfer } from './confirm-order.ts'
import { createOrder, quoteOrder, type OrderInput, type OrderQuote } from './create-order.ts'
import { DailyReconciliation } from './daily-reconciliation.ts'
import { inTurn } from './in-turn.ts'
import { OrderChecks } from './order-checks.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { reconcile, type ReconcileInput } from './reconcile.ts'
import { decideDifference, type DifferenceDecision } from './resolve-difference.ts'
import { receiveCardRemoval } from './recharge-consent.ts'
import { receiveDispute } from './receive-dispute.ts'
import { checkDueRefunds, receiveRefund } from './receive-refund.ts'
import {
  approveRefund,
  completeRefund,
  refuseRefund,
  requestRefund,
  type RefundInput,
} from './refund-order.ts'
import { refundablePayment } from './refundable-order.ts'
import { NoticeReceiver } from './receive-notice.ts'
import { checkDueReferrals } from './reward-referral.ts'

/** `maxMinor`: in minor units of the order's currency. */
export interface RefundPreview {
  readonly maxMinor: bigint
  readonly currency: string
}

export interface MethodStatus {
  readonly method: MethodName
  readonly currency: string
  readonly products: readonly string[]
  /** In minor units of its currency. */
  readonly minMinor: bigint
  readonly maxMinor: bigint
  readonly fee: PaymentFee | null
  /** Whether a card can be saved for automatic recharges. */
  readonly savesCards: boolean
  readonly checkedAt: number | null
  /** Why it is not offered, or null. */
  readonly problem: string | null
}

/** What an order will cost and credit, without what reserves its bonus. */
export type OrderPreview = Omit<OrderQuote, 'bonus'> & { readonly bonusNanos: bigint }

/** What HTTP handlers and commands call, from any thread. */
export interface PaymentServices {
  /** The methods that are configured, in the order of `PAYMENT_METHODS`. */
  methods(): Promise<readonly MethodStatus[]>
  preview(input: Pick<OrderInput, 'account' | 'method' | 'amount'>): Promise<OrderPreview>
  createOrder(input: OrderInput): Promise<{ readonly order: Order; readonly isNew: boolean }>
  /** Asks the provider now, at most once in three seconds per order, if its method is configured. Throws 404. */
  checkOrder(id: string, by: string): Promise<Order>
  /** Throws 404, 409 if it is paid, 503 if the provider cannot be asked. */
  cancelOrder(id: string, by: string): Promise<Order>
  /** Bank transfers only. Throws 400, 404 or 409. */
  confirmOrder(id: string, transfer: ReceivedTransfer, by: string): Promise<Order>
  /** Takes the balance back at once. Throws 404, 409 if nothing, or less than the amount, can go back. */
  requestRefund(input: RefundInput): Promise<Refund>
  /** How much of a paid order can go back now. Throws 404, 409 if it is not paid. */
  refundable(orderId: string): Promise<RefundPreview>
  /** Throws 404, 409 if it was decided before. */
  approveRefund(id: string, by: string): Promise<Refund>
  refuseRefund(id: string, reason: string, by: string): Promise<Refund>
  /** `transaction`: of the transfer that an operator has made. */
  completeRefund(id: string, transaction: string, by: string): Promise<Refund>
  /** Throws 400 naming the field. A list that cannot be read is a run that failed. */
  reconcile(input: ReconcileInput): Promise<PaymentRun>
  /** Throws 404, 409 if it was resolved before, or the action does not apply. */
  decideDifference(id: string, decision: DifferenceDecision): Promise<Difference>
  /** undefined: the method is not configured. */
  currencyOf(method: MethodName): Promise<string | undefined>
  /** Throws 404 for a method that is not configured. */
  receiveNotice(method: string, notice: ReceivedNotice): Promise<NoticeResponse>
  /** A webhook had a wrong signature or none. `address`: of its sender. */
  countForgedNotice(method: MethodName, address: string): Promise<void>
  /** The provider is asked about all open orders of a method in the next round of the poller; at most once a minute. */
  checkOpenOrdersSoon(method: MethodName): Promise<void>
}

const openOrdersEveryMs = 60_000

const checkMethodsEveryMs = 600_000
const waitForCheckMs = 2000
/** Of each method. */
const ordersPerRound = 50
const unpaidKeptMs = 90 * 86_400_000

interface MethodCheck {
  /** null: not yet. */
  readonly at: number | null
  readonly problem: string | null
  readonly running?: Promise<void>
}

export class PaymentService implements PaymentServices {
  readonly #deps: PaymentDeps
  readonly #checks: OrderChecks
  readonly #receiver: NoticeReceiver
  readonly #daily: DailyReconciliation
  #isStopped = false
  /** When a webhook that was not read last caused checks, by method. */
  readonly #openOrdersAt = new Map<MethodName, number>()
  readonly #methodChecks = new Map<MethodName, MethodCheck>()

  constructor(deps: PaymentDeps) {
    this.#deps = deps
    this.#daily = new DailyReconciliation(deps)
    this.#checks = new OrderChecks(deps)
    this.#receiver = new NoticeReceiver(deps, this.#checks, {
      onRefund: async (method, { refund, reference, transaction }) => {
        await receiveRefund(deps, method, { refund, reference, transaction })
        return 'accepted'
      },
      onDispute: async (method, reference) => {
        await receiveDispute(deps, method, reference)
        return 'accepted'
      },
      onCardRemoved: async (method, removed) => {
        await receiveCardRemoval(deps, method, removed)
        return 'accepted'
      },
    })
  }

  /** Without a method there is nothing to ask and nothing to compare. */
  get hasMethods(): boolean {
    return this.#deps.methods.size > 0
  }

  async methods(): Promise<readonly MethodStatus[]> {
    return Promise.all([...this.#deps.methods.values()].map((method) => this.#status(method)))
  }

  async #status(method: PaymentMethod): Promise<MethodStatus> {
    const { name, currency, products } = method
    const { config, db, platformCurrency, now } = this.#deps
    const { at, problem } = await this.#checkMethod(method)
    const hasRate = (await rateAt(db, currency, platformCurrency, now())) !== undefined
    const noRate = hasRate ? null : `There is no rate from ${currency} to ${platformCurrency}.`
    const fee = config.paymentFees.get(name) ?? null
    return {
      method: name,
      currency,
      products,
      minMinor: parseMinor(config.paymentMin, currency),
      maxMinor: parseMinor(config.paymentMax, currency),
      fee,
      savesCards: method.savedCards !== undefined,
      checkedAt: at,
      problem: problem ?? noRate,
    }
  }

  /**
   * A problem never refuses the start: a provider is asked once somebody looks, and then every ten minutes. Nobody waits
   * long for one that does not respond: until it does, what was found before holds.
   */
  async #checkMethod(method: PaymentMethod): Promise<MethodCheck> {
    const { name } = method
    const now = this.#deps.now()
    const last = this.#methodChecks.get(name)
    if (last?.running !== undefined || (last !== undefined && (last.at ?? 0) > now - checkMethodsEveryMs))
      return last
    const running = method
      .check()
      .catch((error: unknown) => errorMessage(error))
      .then((problem) => void this.#methodChecks.set(name, { at: now, problem }))
    this.#methodChecks.set(name, { ...(last ?? { at: null, problem: null }), running })
    await Promise.race([running, setTimeout(waitForCheckMs, undefined, { ref: false })])
    return this.#methodChecks.get(name) ?? { at: null, problem: null }
  }

  async preview(input: Pick<OrderInput, 'account' | 'method' | 'amount'>): Promise<OrderPreview> {
    const { bonus, ...quote } = await quoteOrder(this.#deps, input)
    return { ...quote, bonusNanos: bonus.nanos }
  }

  createOrder(input: OrderInput): Promise<{ readonly order: Order; readonly isNew: boolean }> {
    return createOrder(this.#deps, input)
  }

  async checkOrder(id: string, by: string): Promise<Order> {
    const order = await requireOrder(this.#deps, id)
    if (order.state === 'paid' || !this.#deps.methods.has(order.method)) return order
    await this.#checks.check(order, by)
    return requireOrder(this.#deps, id)
  }

  cancelOrder(id: string, by: string): Promise<Order> {
    return cancelOrder(this.#deps, id, by)
  }

  confirmOrder(id: string, transfer: ReceivedTransfer, by: string): Promise<Order> {
    return confirmOrder(this.#deps, id, transfer, by)
  }

  requestRefund(input: RefundInput): Promise<Refund> {
    return requestRefund(this.#deps, input)
  }

  async refundable(orderId: string): Promise<RefundPreview> {
    const order = await requireOrder(this.#deps, orderId)
    const { maxMinor, payment } = await refundablePayment(this.#deps, order)
    return { maxMinor, currency: payment.currency }
  }

  approveRefund(id: string, by: string): Promise<Refund> {
    return approveRefund(this.#deps, id, by)
  }

  refuseRefund(id: string, reason: string, by: string): Promise<Refund> {
    return refuseRefund(this.#deps, id, reason, by)
  }

  completeRefund(id: string, transaction: string, by: string): Promise<Refund> {
    return completeRefund(this.#deps, id, transaction, by)
  }

  reconcile(input: ReconcileInput): Promise<PaymentRun> {
    return reconcile(this.#deps, input)
  }

  decideDifference(id: string, decision: DifferenceDecision): Promise<Difference> {
    return decideDifference(this.#deps, id, decision)
  }

  currencyOf(method: MethodName): Promise<string | undefined> {
    return Promise.resolve(this.#deps.methods.get(method)?.currency)
  }

  receiveNotice(method: string, notice: ReceivedNotice): Promise<NoticeResponse> {
    return this.#receiver.receive(method, notice)
  }

  countForgedNotice(method: MethodName, address: string): Promise<void> {
    return this.#receiver.countForged(method, address)
  }

  async checkOpenOrdersSoon(method: MethodName): Promise<void> {
    const { db, now } = this.#deps
    const at = now()
    if (at - (this.#openOrdersAt.get(method) ?? Number.NEGATIVE_INFINITY) < openOrdersEveryMs) return
    this.#openOrdersAt.set(method, at)
    await db.write(checkOpenOrdersAt(method, at))
  }

  /** One round of the poller: every order, refund and referral that is due. The leader's jobs call it. */
  async checkDueOrders(): Promise<void> {
    const { db, now, methods, log } = this.#deps
    const isStopped = (): boolean => this.#isStopped
    const at = now()
    // Each method has its own: many orders of one whose provider is silent must not keep others from their turn.
    const due = await Promise.all(
      [...methods.keys()].map((method) => dueOrders(db, method, at, ordersPerRound)),
    )
    await inTurn(due.flat(), isStopped, async (order) => {
      try {
        return (await this.#checks.check(order, 'poller')) !== 'unread'
      } catch (error) {
        log.warn({ err: error, order: order.id }, 'order could not be checked')
        await scheduleRetry(this.#deps, order)
        return true
      }
    })
    await checkDueRefunds(this.#deps, isStopped)
    await checkDueReferrals(this.#deps, isStopped)
  }

  /** Nothing that the leader's jobs began goes on to the next order. */
  stop(): void {
    this.#isStopped = true
  }

  /** Compares the day before with each provider's list, if that is due, and deletes old unpaid orders. */
  async runDailyWork(): Promise<void> {
    const { db, now } = this.#deps
    await this.#daily.run()
    await db.write(deleteUnpaidOrders(now() - unpaidKeptMs))
  }
}
