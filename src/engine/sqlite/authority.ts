/**
 * The authority of a single relay: the only place that decides about its money and limits, on the main thread. It makes
 * every decision in memory at once; the decision becomes durable with the commit that its result names. On a node of a
 * cluster, cluster/shared-authority.ts takes its place.
 */
import { apiError } from '../../errors.ts'
import { ownerAt } from '../../ledger/caps.ts'
import { claimConflict } from '../../ledger/decide.ts'
import type { ResponseToStore, SettleRequest } from '../../ledger/transaction.ts'
import { accountOwner, keyOwner, ownerOf } from '../../ledger/state.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import type { RateLimiter, RateLimitSubject, RateStatus } from '../../limits/rate-limiter.ts'
import type { HoldResponse, HoldRequest } from '../../relay/ledger-client.ts'
import { rateLimitSubjectsOf, replaySubjectsOf, tokenCountSubjectsOf, walletOf } from '../caller-limits.ts'
import type { CommitQueue } from './commit-queue.ts'
import { ledgerDenialError, rateDenialError, rejected, unavailable } from '../denials.ts'
import type { EmbeddedLedger } from './embedded-ledger.ts'
import type { PeriodReopening } from './period-reopening.ts'
import { RequestOperations, tokensToReserve, type RequestOperationsDeps } from '../request-operations.ts'
import type { SpendNotifications } from '../spend-notifications.ts'
import type { Committed } from '../ledger-calls.ts'

export interface AuthorityDeps extends RequestOperationsDeps {
  readonly ledger: EmbeddedLedger
  readonly commits: CommitQueue
  readonly rates: RateLimiter
  readonly spendNotifications: SpendNotifications
  readonly reopening: Pick<PeriodReopening, 'isPending'>
  /** Milliseconds of a monotonic clock, for the rate limit windows. */
  readonly monotonicNow: () => number
}

export class Authority {
  readonly #deps: AuthorityDeps
  readonly #operations: RequestOperations
  #isAdmissionOpen = true

  constructor(deps: AuthorityDeps) {
    this.#deps = deps
    this.#operations = new RequestOperations(deps)
  }

  /** The ledger is inconsistent: nothing is admitted until an operator has corrected it and restarted the relay. */
  haltAdmission(): void {
    this.#isAdmissionOpen = false
  }

  /** Admits a request: rate limits first, then money. If one of them denies it, nothing of the other is used. */
  hold(request: HoldRequest): HoldResponse {
    const { ledger, commits, rates, spendNotifications } = this.#deps
    const monotonicNow = this.#deps.monotonicNow()
    const requested = this.#operations.find(request)
    if ('granted' in requested) return requested
    const { caller, model } = requested
    const operation = this.#operations.hold(request, requested)
    const { hold } = operation
    const isAdmitting = commits.isAdmitting && this.#isAdmissionOpen
    if (!isAdmitting || this.#deps.reopening.isPending(hold, caller.timezone))
      return rejected(unavailable, null)
    const { claim } = request
    const conflict = claim && claimConflict(ledger, caller.accountId, claim, claim.seenCommit)
    if (conflict) return rejected(ledgerDenialError(conflict, claim, hold.at), null)
    if (ledger.state.holds.has(request.id)) return rejected({ code: 'server_error', detail: {} }, null)
    const subjects = rateLimitSubjectsOf(caller, model)
    const denial = rates.reserve(request.id, subjects, tokensToReserve(request, model), monotonicNow)
    if (denial) return rejected(rateDenialError(denial), rates.status(subjects, monotonicNow))
    const held = ledger.decide(operation)
    if ('kind' in held) {
      rates.cancel(request.id)
      spendNotifications.onDenied(hold, held)
      return rejected(ledgerDenialError(held, claim, hold.at), rates.status(subjects, monotonicNow))
    }
    const { outputTokens, maximumTokens } = held
    const status = rates.status(subjects, monotonicNow)
    return { granted: true, outputTokens, maximumTokens, commit: commits.newest, rates: status }
  }

  /** Counts a token count in its own windows. Throws an ApiError if a limit is exceeded. */
  takeTokenCount(id: string, keyId: string): RateStatus {
    const caller = this.#deps.directory.callerByKeyId(keyId)
    if (!caller) throw apiError('invalid_api_key')
    return this.#countRequest(id, tokenCountSubjectsOf(caller))
  }

  /** Counts a replay of a stored response in its own window. Throws an ApiError if the limit is exceeded. */
  takeReplay(id: string, keyId: string): RateStatus {
    return this.#countRequest(id, replaySubjectsOf(keyId))
  }

  #countRequest(id: string, subjects: readonly RateLimitSubject[]): RateStatus {
    const { rates } = this.#deps
    const monotonicNow = this.#deps.monotonicNow()
    const denial = rates.reserve(id, subjects, 0, monotonicNow)
    if (denial) {
      const { code, detail } = rateDenialError(denial)
      throw apiError(code, detail)
    }
    rates.finish(id, 0, monotonicNow)
    return rates.status(subjects, monotonicNow)
  }

  /** Extends a stream's hold. Returns the output tokens that are held in total, unchanged if no money is left. */
  extend(id: string, remaining: number): Committed<number> {
    const { ledger, commits } = this.#deps
    const held = ledger.state.holds.get(id)
    const result = ledger.decide(this.#operations.extend(id, remaining, held))
    return { result, commit: commits.newest }
  }

  /** Records how far a stream has come. */
  mark(id: string, inputTokens: number, outputTokens: number): Committed<undefined> {
    const { ledger, commits, now } = this.#deps
    const result = ledger.decide({ kind: 'mark', id, at: now(), inputTokens, outputTokens })
    return { result, commit: commits.newest }
  }

  /** Ends a hold with or without a bill; the request's row is written with the same commit. */
  settle(request: SettleRequest, storedResponse: ResponseToStore | null): Committed<bigint> {
    const { ledger, commits, rates, spendNotifications } = this.#deps
    const { id, usage } = request
    const held = ledger.state.holds.get(id)
    // The hold ended before: the reply waits until that is on disk.
    if (!held) return { result: 0n, commit: commits.newest }
    rates.finish(id, usage ? usage.input + usage.output : 0, this.#deps.monotonicNow())
    const operation = this.#operations.settle(request, storedResponse, held)
    const charge = ledger.decide(operation)
    if (usage) spendNotifications.onSettled(held, operation.caps)
    return { result: charge, commit: commits.newest }
  }

  /** A request whose worker has exited is charged at its last mark. */
  expire(id: string): void {
    const { ledger, commits, rates, spendNotifications } = this.#deps
    const held = ledger.state.holds.get(id)
    if (!held) return
    rates.finish(id, null, this.#deps.monotonicNow())
    const operation = this.#operations.expire(id, held)
    if (ledger.decide(operation)) spendNotifications.onSettled(held, operation.caps)
    commits.requestFlush(commits.newest)
  }

  /** The current wallet of an account, or of a key within it. */
  wallet(accountId: string, keyId: string | null): Wallet {
    const { ledger, directory, now } = this.#deps
    const at = now()
    const account = ownerAt(ownerOf(ledger.state, accountOwner(accountId)), at)
    const key = ownerAt(ownerOf(ledger.state, keyOwner(keyId ?? '')), at)
    return walletOf(directory, { accountId, keyId }, { account, key })
  }
}
