/**
 * How money comes in beside an operator's own credits, on the thread that decides: vouchers, promotions and refunds are
 * written down together with an order for their credit; here orders are entered into the ledger, once each, also those
 * that a crash left behind. And what a first payment changes.
 */
import { noteFirstPayment, unnotedPayers, type TierChange } from '../accounts/first-payment.ts'
import type { Change } from '../db/change.ts'
import type { Statement } from '../db/messages.ts'
import { refuse, Refusal } from '../errors.ts'
import type { CreditOrder, CreditReceipt, VoucherReceipt } from '../http/house.ts'
import {
  creditOrderById,
  noteCreditOrderEntered,
  openCreditOrders,
  type OrderedCredit,
} from '../ledger/credits/credit-orders.ts'
import type { CreditKind } from '../ledger/events.ts'
import { claimVoucher } from '../ledger/credits/vouchers.ts'
import { noticeRow } from '../notifications/notifications.ts'
import type { Log } from '../lib/log.ts'
import type { Attempts } from '../limits/attempts.ts'
import type { Core } from './core.ts'
import { tendTrials } from './ledger/trial-credits.ts'
import { Turns } from './turns.ts'

export interface ProgrammeParts {
  readonly core: Core
  readonly attempts: Attempts
  /** Resolves when every thread works with what has changed. */
  readonly announce: (changes: readonly Change[]) => Promise<void>
}

/** Sources of credits that are payments: the account's tier may change at the first of them. */
const paidSources: readonly CreditKind[] = ['payment', 'voucher']
const choresEveryMs = 60_000
const ordersPerRound = 500

export class Programmes {
  readonly #parts: ProgrammeParts
  readonly #redeeming = new Turns()
  /** Payers may have been missed: by a crash before this start, or by a store that took no writes. */
  #mayHaveMissed = true

  constructor(parts: ProgrammeParts) {
    this.#parts = parts
  }

  /** Enters what an operator credits. */
  async credit(order: CreditOrder): Promise<CreditReceipt> {
    const receipt = await this.#parts.core.credits.enter(order)
    await this.#entered(order.account, order.source)
    return receipt
  }

  /** Enters an order that is written down. */
  async enterOrder(id: string): Promise<CreditReceipt> {
    const order = await creditOrderById(this.#parts.core.store.db, id)
    if (order === undefined) throw refuse('not_found')
    return this.#enterOrder(order)
  }

  /** Uses a voucher. Refuses by one answer what is unknown, and after too many of those, for a while, everything. */
  redeem(account: string, code: string, by: string): Promise<VoucherReceipt> {
    return this.#redeeming.take(account, async () => {
      const { attempts, core } = this.#parts
      await attempts.check('voucher-account', account)
      try {
        const { voucher, creditId } = await claimVoucher(core.store.db, code, { account, at: Date.now(), by })
        const { balance } = await this.enterOrder(creditId)
        return { voucher, creditId, balance }
      } catch (error) {
        const isGuess = error instanceof Refusal && error.code === 'not_found'
        if (isGuess) await attempts.count('voucher-account', account)
        throw error
      }
    })
  }

  async #enterOrder({ id, account, amountNanos, source, reason }: OrderedCredit): Promise<CreditReceipt> {
    const { credits, store } = this.#parts.core
    const receipt = await credits.enterAs(id, { account, amount: amountNanos, source, reason })
    await noteCreditOrderEntered(store.db, id, Date.now())
    await this.#entered(account, source)
    return receipt
  }

  /** A first payment may change the tier; that it did not come through here in time takes nothing from the credit. */
  async #entered(account: string, source: CreditKind): Promise<void> {
    if (!paidSources.includes(source)) return
    if ((this.#parts.core.directory.account(account)?.firstPaidAt ?? null) !== null) return
    try {
      await this.#noteFirstPayment(account)
    } catch {
      this.#mayHaveMissed = true
    }
  }

  async #noteFirstPayment(account: string): Promise<void> {
    const { db } = this.#parts.core.store
    const { changes } = await noteFirstPayment(db, account, (change) => [tierNotice(account, change)])
    await this.#parts.announce(changes)
  }

  /** Does what a crash, or a store that took no writes, has left undone, now and every minute; the answer ends it. */
  startChores(log: Log): () => Promise<void> {
    let running = Promise.resolve()
    const run = (): void => {
      running = running
        .then(() => this.#doChores())
        .catch((error: unknown) => log.warn({ err: error }, 'credits that are owed wait for the next round'))
    }
    run()
    const timer = setInterval(run, choresEveryMs)
    return async () => {
      clearInterval(timer)
      await running
    }
  }

  async #doChores(): Promise<void> {
    const { db } = this.#parts.core.store
    const failures: unknown[] = []
    for (const order of await openCreditOrders(db, ordersPerRound)) {
      await this.#enterOrder(order).catch((error: unknown) => failures.push(error))
    }
    if (this.#mayHaveMissed) {
      for (const account of await unnotedPayers(db, paidSources)) await this.#noteFirstPayment(account)
      this.#mayHaveMissed = false
    }
    await tendTrials(this.#parts.core, Date.now())
    if (failures.length > 0) throw failures[0]
  }
}

function tierNotice(account: string, { from, to }: TierChange): Statement {
  const params = { from, to }
  const about = { audience: account, kind: 'account' as const, severity: 'info' as const }
  return noticeRow({ ...about, subject: 'tier', period: 'first payment', code: 'tier_changed', params })
}
