/**
 * Notices of providers. A notice is never believed: once its signature is verified, what it names is read from the provider,
 * and the response says whether the notice may stop coming. Nothing of a notice is logged.
 */
import { toApiError } from '../../db/store-error.ts'
import { apiError } from '../../errors.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification } from '../../notifications/notifications.ts'
import { orderById, unpaidStates, updateOrder } from '../../payments/payment-orders.ts'
import {
  ForgedNoticeError,
  ProviderError,
  type MethodName,
  type NoticeResponse,
  type NoticeOutcome,
  type Notices,
  type NoticeSubject,
  type ReceivedNotice,
} from '../../payments/payment-method.ts'
import { paymentOfOrder, type Payment } from '../../payments/payments.ts'
import type { CheckOutcome } from './check-order.ts'
import { ForgedNotices } from './forged-notices.ts'
import type { OrderChecks } from './order-checks.ts'
import { requireMethod, type PaymentDeps } from './payment-deps.ts'

/**
 * WeChat Pay waits five seconds for a response, the others longer; the poller goes on with what takes longer. A check that
 * has to wait for the last one has the rest of this time.
 */
const respondWithinMs = 4500

/** What else a notice can be about. */
export interface NoticeHandlers {
  onRefund(method: MethodName, subject: NoticeSubject & { kind: 'refund' }): Promise<NoticeOutcome>
  onDispute(method: MethodName, reference: string): Promise<NoticeOutcome>
  onCardRemoved(method: MethodName, removed: NoticeSubject & { kind: 'card-removed' }): Promise<NoticeOutcome>
}

type OrderSubject = NoticeSubject & { kind: 'order' }

export class NoticeReceiver {
  readonly #deps: PaymentDeps
  readonly #checks: OrderChecks
  readonly #handlers: NoticeHandlers
  readonly #forged = new ForgedNotices()

  constructor(deps: PaymentDeps, checks: OrderChecks, handlers: NoticeHandlers) {
    this.#deps = deps
    this.#checks = checks
    this.#handlers = handlers
  }

  /** Throws 404 for a method that is not configured or has no notices. */
  async receive(name: string, notice: ReceivedNotice): Promise<NoticeResponse> {
    const method = requireMethod(this.#deps, name)
    const { notices } = method
    if (notices?.httpMethods.includes(notice.method) !== true) throw apiError('not_found')
    const outcome = await this.#handle(method.name, notices, notice)
    return notices.responseTo(outcome)
  }

  async #handle(method: MethodName, notices: Notices, notice: ReceivedNotice): Promise<NoticeOutcome> {
    try {
      const subject = await notices.read(notice)
      return await within(respondWithinMs, this.#act(method, subject))
    } catch (error) {
      if (error instanceof ForgedNoticeError) {
        await this.countForged(method, notice.address)
        return 'forged'
      }
      const isUnread = error instanceof ProviderError || toApiError(error).status === 503
      if (!isUnread) this.#deps.log.error({ err: error, method }, 'payment notice failed')
      return 'retry'
    }
  }

  #act(method: MethodName, subject: NoticeSubject): Promise<NoticeOutcome> {
    switch (subject.kind) {
      case 'order':
        return this.#checkOrder(method, subject)
      case 'refund':
        return this.#handlers.onRefund(method, subject)
      case 'dispute':
        return this.#handlers.onDispute(method, subject.reference)
      case 'card-removed':
        return this.#handlers.onCardRemoved(method, subject)
      case 'other':
        return Promise.resolve('accepted')
    }
  }

  /** Anybody who has seen a notice can send it again: once its payment is credited, the provider is not asked. */
  async #checkOrder(method: MethodName, { order: id, payment }: OrderSubject): Promise<NoticeOutcome> {
    const { db, now, log } = this.#deps
    const arrivedAt = performance.now()
    // A check that is running may have begun before the payment, or may credit it.
    await this.#checks.idle(id)
    const order = await orderById(db, id)
    if (order?.method !== method) {
      log.warn({ method }, 'payment notice for an order that is not here')
      return 'accepted'
    }
    if (order.state !== 'paid') {
      const at = now()
      const patch = { nextCheckAt: at }
      await db.write(updateOrder(id, unpaidStates, patch, at))
    } else if (isSame(await paymentOfOrder(db, id), payment)) return 'accepted'
    return noticeOutcomes[await this.#checks.checkAfter(arrivedAt, order, 'notice')]
  }

  async countForged(method: MethodName, address: string): Promise<void> {
    const now = this.#deps.now()
    const { isLogged, isNotified } = this.#forged.count(method, address, now)
    if (isLogged) this.#deps.log.warn({ method, address }, 'payment notice with a wrong signature')
    if (!isNotified) return
    await raiseNotification(this.#deps.db, {
      audience: operatorAudience,
      kind: 'payment',
      severity: 'warning',
      subject: `notices:${method}`,
      period: new Date(now).toISOString().slice(0, 13),
      code: 'payment_notices_forged',
      params: { method },
    })
  }
}

const noticeOutcomes: Readonly<Record<CheckOutcome, NoticeOutcome>> = {
  settled: 'accepted',
  known: 'accepted',
  mismatch: 'accepted',
  surplus: 'accepted',
  foreign: 'accepted',
  closed: 'accepted',
  processing: 'accepted',
  unpaid: 'retry',
  unread: 'retry',
}

function isSame(credited: Payment | undefined, stated: OrderSubject['payment']): boolean {
  return (
    stated !== null &&
    credited?.transactionId === stated.transaction &&
    credited.amountMinor === stated.amountMinor
  )
}

async function within(ms: number, work: Promise<NoticeOutcome>): Promise<NoticeOutcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<NoticeOutcome>((resolve) => {
    timer = setTimeout(() => resolve('retry'), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
