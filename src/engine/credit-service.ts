/**
 * Credits, on the main thread. Vouchers, promotions and refunds are written together with a credit order; this service
 * enters each order into the ledger once, including those that a crash left behind. It also records first payments.
 */
import { recordFirstPayment, type TierChange } from '../accounts/first-payment.ts'
import type { Change } from '../db/change.ts'
import type { Statement } from '../db/statement.ts'
import { apiError, ApiError } from '../errors.ts'
import { isBalanceFull, type CreditReceipt, type CreditRequest } from './credits.ts'
import type { VoucherReceipt } from '../ledger/credits/vouchers.ts'
import {
  accountsMissingFirstPayment,
  countsAsPayment,
  type EnteredCredit,
} from '../ledger/credits/counted-credits.ts'
import {
  creditOrderById,
  markCreditOrderEntered,
  openCreditOrders,
  type OrderedCredit,
} from '../ledger/credits/credit-orders.ts'
import { claimVoucher } from '../ledger/credits/vouchers.ts'
import { insertNotification } from '../notifications/notifications.ts'
import type { Log } from '../lib/log.ts'
import type { LoginThrottle } from '../limits/login-throttle.ts'
import type { Core } from './core.ts'
import { expireTrialCredits } from './trial-credits.ts'

export interface CreditServiceDeps {
  readonly core: Core
  readonly loginThrottle: LoginThrottle
  /** Resolves when every thread has applied the changes. */
  readonly publishChanges: (changes: readonly Change[]) => Promise<void>
}

const reconcileEveryMs = 60_000
const ordersPerBatch = 500

export class CreditService {
  readonly #deps: CreditServiceDeps
  readonly #redemptions = new KeyedMutex()
  /** A first payment may not have been recorded: because of a crash before this start, or of a store that rejected writes. */
  #mayHaveMissedPayers = true

  constructor(deps: CreditServiceDeps) {
    this.#deps = deps
  }

  /** Enters a credit of an operator. */
  async credit(order: CreditRequest): Promise<CreditReceipt> {
    const receipt = await this.#deps.core.credits.enter(order)
    await this.#onCreditEntered(order.account, { ...receipt, source: order.source })
    return receipt
  }

  /** Enters a stored credit order. */
  async applyOrder(id: string): Promise<CreditReceipt> {
    const order = await creditOrderById(this.#deps.core.store.db, id)
    if (order === undefined) throw apiError('not_found')
    return this.#applyOrder(order)
  }

  /** Redeems a voucher. All unknown codes get the same error; too many of them block every redemption for a while. */
  redeem(account: string, code: string, by: string): Promise<VoucherReceipt> {
    return this.#redemptions.runExclusive(account, async () => {
      const { loginThrottle, core } = this.#deps
      await loginThrottle.check('voucher-account', { id: account })
      try {
        const { voucher, creditId } = await claimVoucher(core.store.db, code, { account, at: Date.now(), by })
        const { balance } = await this.applyOrder(creditId)
        return { voucher, creditId, balance }
      } catch (error) {
        const isGuess = error instanceof ApiError && error.code === 'not_found'
        if (isGuess) await loginThrottle.count('voucher-account', { id: account })
        throw error
      }
    })
  }

  async #applyOrder({ id, account, amountNanos, source, reason }: OrderedCredit): Promise<CreditReceipt> {
    const { credits, store } = this.#deps.core
    const receipt = await credits.enterWithId(id, { account, amount: amountNanos, source, reason })
    await markCreditOrderEntered(store.db, id, Date.now())
    await this.#onCreditEntered(account, { ...receipt, source })
    return receipt
  }

  /** Records a first payment, which may change the tier. The credit is valid even if that fails. */
  async #onCreditEntered(account: string, credit: EnteredCredit): Promise<void> {
    if (!countsAsPayment(credit)) return
    if ((this.#deps.core.directory.account(account)?.firstPaidAt ?? null) !== null) return
    try {
      await this.#recordFirstPayment(account)
    } catch {
      this.#mayHaveMissedPayers = true
    }
  }

  async #recordFirstPayment(account: string): Promise<void> {
    const { db } = this.#deps.core.store
    const { changes } = await recordFirstPayment(db, account, (change) => [tierNotification(account, change)])
    await this.#deps.publishChanges(changes)
  }

  /** Completes, now and every minute, what a crash or a store that rejected writes has left. The returned function stops it. */
  startReconciliation(log: Log): () => Promise<void> {
    let running = Promise.resolve()
    const run = (): void => {
      running = running
        .then(() => this.#reconcile())
        .catch((error: unknown) => log.warn({ err: error }, 'credit reconciliation failed'))
    }
    run()
    const timer = setInterval(run, reconcileEveryMs)
    return async () => {
      clearInterval(timer)
      await running
    }
  }

  async #reconcile(): Promise<void> {
    const { db } = this.#deps.core.store
    const failures: unknown[] = []
    for (const order of await openCreditOrders(db, ordersPerBatch)) {
      await this.#applyOrder(order).catch((error: unknown) => {
        // It stays open, and is entered once the balance has room for it.
        if (!isBalanceFull(error)) failures.push(error)
      })
    }
    if (this.#mayHaveMissedPayers) {
      for (const account of await accountsMissingFirstPayment(db)) await this.#recordFirstPayment(account)
      this.#mayHaveMissedPayers = false
    }
    await expireTrialCredits(this.#deps.core, Date.now())
    if (failures.length > 0) throw failures[0]
  }
}

/** Runs work with the same key one after another, and work with different keys concurrently. */
class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs the work after all earlier work with this key. */
  async runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const previous = this.#tails.get(key) ?? Promise.resolve()
    const running = previous.then(work)
    const settled = running.catch(() => undefined)
    this.#tails.set(key, settled)
    try {
      return await running
    } finally {
      if (this.#tails.get(key) === settled) this.#tails.delete(key)
    }
  }
}

function tierNotification(account: string, { from, to }: TierChange): Statement {
  const params = { from, to }
  const about = { audience: account, kind: 'account' as const, severity: 'info' as const }
  return insertNotification({
    ...about,
    subject: 'tier',
    period: 'first payment',
    code: 'tier_changed',
    params,
  })
}
