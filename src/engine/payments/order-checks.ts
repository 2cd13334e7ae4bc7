/**
 * Checks of orders that people can cause, by the page of an order and by notices, which they can send again. However many
 * they cause, a node asks the provider about one order once at a time, and once in three seconds.
 */
import { setTimeout } from 'node:timers/promises'
import type { Order } from '../../payments/payment-orders.ts'
import { checkOrder, requireOrder, type CheckOutcome } from './check-order.ts'
import type { PaymentDeps } from './payment-deps.ts'

const intervalMs = 3000

interface Check {
  /** When it began, in milliseconds of `performance.now()`. */
  readonly at: number
  readonly outcome: Promise<CheckOutcome>
  isRunning: boolean
  /** What the next one finds, for those who wait for it. */
  next: Promise<CheckOutcome> | null
}

export class OrderChecks {
  readonly #deps: PaymentDeps
  /** The last check of each order; those that began first come first. */
  readonly #last = new Map<string, Check>()

  constructor(deps: PaymentDeps) {
    this.#deps = deps
  }

  /** What the last check finds if it is running or recent, or else what a new one finds. */
  check(order: Order, by: string): Promise<CheckOutcome> {
    const last = this.#last.get(order.id)
    return last !== undefined && blocksNext(last) ? last.outcome : this.#begin(order, by)
  }

  /** What a check finds that began after `since`, a time of `performance.now()`; if need be, when the next one may begin. */
  async checkAfter(since: number, order: Order, by: string): Promise<CheckOutcome> {
    const last = this.#last.get(order.id)
    if (last === undefined) return this.#begin(order, by)
    if (last.at > since) return last.outcome
    if (!blocksNext(last)) return this.#begin(order, by)
    return (last.next ??= this.#next(last, order.id, by))
  }

  /** Resolves when no check of the order is running. */
  async idle(id: string): Promise<void> {
    await Promise.allSettled([this.#last.get(id)?.outcome])
  }

  async #next(last: Check, id: string, by: string): Promise<CheckOutcome> {
    await Promise.allSettled([last.outcome])
    await setTimeout(last.at + intervalMs - performance.now(), undefined, { ref: false })
    const order = await requireOrder(this.#deps, id)
    const current = this.#last.get(id)
    return current === undefined || current === last ? this.#begin(order, by) : current.outcome
  }

  #begin(order: Order, by: string): Promise<CheckOutcome> {
    const now = performance.now()
    const outcome = checkOrder(this.#deps, order, by)
    const check: Check = { at: now, outcome, isRunning: true, next: null }
    void outcome.catch(() => undefined).finally(() => (check.isRunning = false))
    this.#last.delete(order.id)
    this.#last.set(order.id, check)
    for (const [id, old] of this.#last) {
      if (old.at > now - intervalMs) break
      if (!old.isRunning) this.#last.delete(id)
    }
    return outcome
  }
}

function blocksNext({ at, isRunning }: Check): boolean {
  return isRunning || at > performance.now() - intervalMs
}
