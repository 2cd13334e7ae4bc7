/**
 * Credits and their take-backs: each credit has an id and is entered once, even if it is requested again while the first
 * is in flight, or years later.
 */
import { apiError } from '../../errors.ts'
import type { CreditRequest, CreditReceipt } from '../../ledger/credits/credit-request.ts'
import { formatAmount } from '../../lib/money.ts'
import { accountOwner, ownerOf, type LedgerState } from '../../ledger/state.ts'
import { endTrial, type TrialEnd } from '../../ledger/end-trial.ts'
import * as ledger from '../../ledger/operations.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { SpendNotifications } from './spend-notifications.ts'

type CreditInput = Pick<CreditRequest, 'account' | 'amount' | 'reason' | 'source'>

export interface CreditsDeps {
  readonly state: LedgerState
  readonly commits: CommitQueue
  readonly now: () => number
  readonly whenDurable: (commit: number) => Promise<void>
  readonly spendNotifications: SpendNotifications
  /** The amount of a credit that an earlier process entered; `null`: none. */
  readonly storedAmount: (id: string) => Promise<bigint | null>
}

export class Credits {
  readonly #deps: CreditsDeps
  readonly #inFlight = new Map<string, Promise<CreditReceipt>>()

  constructor(deps: CreditsDeps) {
    this.#deps = deps
  }

  /** Enters money once per `idempotency_key`; resolves when it is durable. */
  enter(order: CreditRequest): Promise<CreditReceipt> {
    return this.enterWithId(`credit:${order.account}:${order.idempotencyKey}`, order)
  }

  /** Enters money once under its id in the ledger; resolves when it is durable. */
  async enterWithId(id: string, order: CreditInput): Promise<CreditReceipt> {
    const before = this.#inFlight.get(id)
    if (before) {
      const receipt = await before
      return this.#repeatedReceipt(id, receipt.amount, order)
    }
    const entering = this.#enter(id, order)
    this.#inFlight.set(id, entering)
    try {
      return await entering
    } finally {
      this.#inFlight.delete(id)
    }
  }

  async #enter(id: string, order: CreditInput): Promise<CreditReceipt> {
    const { state, commits, whenDurable } = this.#deps
    const known = state.credits.get(id) ?? (await this.#deps.storedAmount(id))
    if (known !== null) {
      // An attempt that failed because the disk was full may have entered it, so it may not be durable yet.
      await whenDurable(commits.newest)
      return this.#repeatedReceipt(id, known, order)
    }
    if (!commits.isAdmitting) throw apiError('service_unavailable', { retryAfterMs: 1000 })
    const { account, amount, source, reason } = order
    const event = ledger.credit(state, { id, at: this.#deps.now(), account, amount, source, reason })
    if (event === 'known') return this.#repeatedReceipt(id, amount, order)
    if (event === 'too-much') {
      const owner = ownerOf(state, accountOwner(account))
      const free = formatAmount(owner.balance - owner.held)
      throw apiError('conflict', { param: 'amount', message: `At most ${free} can be taken back.` })
    }
    if (event === 'too-large') {
      throw apiError('invalid_request', {
        param: 'amount',
        message: 'The balance would exceed the maximum.',
      })
    }
    const commit = commits.add(event, [accountOwner(account)], account)
    commits.requestFlush(commit)
    await whenDurable(commit)
    if (source !== 'refund') this.#deps.spendNotifications.onCredited(account, id, amount)
    return { id, amount, balance: ownerOf(state, accountOwner(account)).balance, isNew: true }
  }

  /** Takes back the remainder of a trial credit. `isDone`: nothing remains. Resolves when it is durable. */
  async endTrial(end: Omit<TrialEnd, 'at'>): Promise<{ taken: bigint; isDone: boolean }> {
    const { state, commits, whenDurable } = this.#deps
    const known = state.credits.get(end.id) ?? (await this.#deps.storedAmount(end.id))
    if (known !== null) {
      await whenDurable(commits.newest)
      return { taken: -known, isDone: false }
    }
    if (!commits.isAdmitting) throw apiError('service_unavailable')
    const { event, isDone } = endTrial(state, { ...end, at: this.#deps.now() })
    if (event?.kind !== 'credited') return { taken: 0n, isDone }
    const commit = commits.add(event, [accountOwner(end.account)], end.account)
    await whenDurable(commit)
    return { taken: -event.amount, isDone }
  }

  #repeatedReceipt(id: string, amount: bigint, order: CreditInput): CreditReceipt {
    if (amount !== order.amount) {
      throw apiError('conflict', {
        param: 'idempotency_key',
        message: 'This idempotency_key was already used with a different amount.',
      })
    }
    const { balance } = ownerOf(this.#deps.state, accountOwner(order.account))
    return { id, amount, balance, isNew: false }
  }
}
