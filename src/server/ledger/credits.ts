/**
 * Money that comes in, or is taken back: each credit has a name and is entered once, also when it is asked for again
 * while the first is on its way, or years later.
 */
import { refuse } from '../../errors.ts'
import type { CreditOrder, CreditReceipt } from '../../http/house.ts'
import { decimalOf } from '../../lib/money.ts'
import { accountOwner, ownerOf, type LedgerState } from '../../ledger/state.ts'
import { endTrial, type TrialEnd } from '../../ledger/end-trial.ts'
import * as ledger from '../../ledger/operations.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { SpendNotices } from './spend-notifications.ts'

type Money = Pick<CreditOrder, 'account' | 'amount' | 'reason' | 'source'>

export interface CreditParts {
  readonly state: LedgerState
  readonly commits: CommitQueue
  readonly now: () => number
  readonly durable: (commit: number) => Promise<void>
  readonly spending: SpendNotices
  /** The amount of a credit that was entered before this process began; `null`: none. */
  readonly onDisk: (id: string) => Promise<bigint | null>
}

export class Credits {
  readonly #parts: CreditParts
  readonly #inFlight = new Map<string, Promise<CreditReceipt>>()

  constructor(parts: CreditParts) {
    this.#parts = parts
  }

  /** Enters money once by the key of whoever credits; resolves when it is durable. */
  enter(order: CreditOrder): Promise<CreditReceipt> {
    return this.enterAs(`credit:${order.account}:${order.idempotencyKey}`, order)
  }

  /** Enters money once under its id in the ledger; resolves when it is durable. */
  async enterAs(id: string, order: Money): Promise<CreditReceipt> {
    const before = this.#inFlight.get(id)
    if (before) {
      const receipt = await before
      return this.#repeated(id, receipt.amount, order)
    }
    const entering = this.#enter(id, order)
    this.#inFlight.set(id, entering)
    try {
      return await entering
    } finally {
      this.#inFlight.delete(id)
    }
  }

  async #enter(id: string, order: Money): Promise<CreditReceipt> {
    const { state, commits, durable } = this.#parts
    const known = state.credits.get(id) ?? (await this.#parts.onDisk(id))
    if (known !== null) {
      // Entered by a try that was given up because the disk was full, it may not be there yet.
      await durable(commits.newest)
      return this.#repeated(id, known, order)
    }
    if (!commits.admitting) throw refuse('service_unavailable', { retryAfterMs: 1000 })
    const { account, amount, source, reason } = order
    const event = ledger.credit(state, { id, at: this.#parts.now(), account, amount, source, reason })
    if (event === 'known') return this.#repeated(id, amount, order)
    if (event === 'too-much') {
      const owner = ownerOf(state, accountOwner(account))
      const free = decimalOf(owner.balance - owner.held)
      throw refuse('conflict', { param: 'amount', message: `No more than ${free} can be taken back.` })
    }
    if (event === 'too-large') {
      throw refuse('invalid_request', { param: 'amount', message: 'A balance may not be so large.' })
    }
    const commit = commits.add(event, [accountOwner(account)], account)
    commits.need(commit)
    await durable(commit)
    if (source !== 'refund') this.#parts.spending.credited(account, id, amount)
    return { id, amount, balance: ownerOf(state, accountOwner(account)).balance, isNew: true }
  }

  /** Takes back what is left of a trial credit; `isDone`: there will be no more. Resolves when it is durable. */
  async endTrial(end: Omit<TrialEnd, 'at'>): Promise<{ taken: bigint; isDone: boolean }> {
    const { state, commits, durable } = this.#parts
    const known = state.credits.get(end.id) ?? (await this.#parts.onDisk(end.id))
    if (known !== null) {
      await durable(commits.newest)
      return { taken: -known, isDone: false }
    }
    if (!commits.admitting) throw refuse('service_unavailable')
    const { event, isDone } = endTrial(state, { ...end, at: this.#parts.now() })
    if (event?.kind !== 'credited') return { taken: 0n, isDone }
    const commit = commits.add(event, [accountOwner(end.account)], end.account)
    await durable(commit)
    return { taken: -event.amount, isDone }
  }

  #repeated(id: string, amount: bigint, order: Money): CreditReceipt {
    if (amount !== order.amount) {
      throw refuse('conflict', {
        param: 'idempotency_key',
        message: 'This idempotency_key was used for another amount.',
      })
    }
    const { balance } = ownerOf(this.#parts.state, accountOwner(order.account))
    return { id, amount, balance, isNew: false }
  }
}
