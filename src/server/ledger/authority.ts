/**
 * The authority of a single relay: the only place that decides about its money and limits, on the main thread. It makes
 * every decision in memory at once; the decision becomes durable with the commit that its result names. On a node of a
 * cluster, cluster/shared-authority.ts takes its place.
 */
import type { Caller, Directory } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { apiError } from '../../errors.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import { ownerAt } from '../../ledger/caps.ts'
import {
  accountOwner,
  keyOwner,
  modelOwner,
  ownerOf,
  type Hold,
  type LedgerState,
} from '../../ledger/state.ts'
import * as ledger from '../../ledger/operations.ts'
import type { RateLimiter, RateLimitSubject, RateStatus } from '../../limits/rate-limiter.ts'
import type {
  HoldResponse,
  HoldRequest,
  ResponseToStore,
  RequestOutcome,
  SettleRequest,
} from '../../relay/ledger-client.ts'
import { IdempotencyClaims } from './idempotency-claims.ts'
import type { CommitQueue } from './commit-queue.ts'
import { ledgerDenialError, rateDenialError } from './denials.ts'
import {
  capsOf,
  capsOfHold,
  rateLimitSubjectsOf,
  replaySubjectsOf,
  tokenCountSubjectsOf,
  walletOf,
} from './caller-limits.ts'
import { holdOperationOf, OpenPeriodCache, tokensToReserve } from './hold-operation.ts'
import type { PeriodReopening } from './period-reopening.ts'
import { requestRow } from './request-row.ts'
import type { SpendNotifications } from './spend-notifications.ts'
import type { Committed } from '../workers/protocol.ts'

export interface AuthorityDeps {
  readonly state: LedgerState
  readonly commits: CommitQueue
  readonly rates: RateLimiter
  readonly directory: Directory
  readonly catalog: Catalog
  readonly spendNotifications: SpendNotifications
  readonly reopening: Pick<PeriodReopening, 'isPending'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds of a monotonic clock, for the rate limit windows. */
  readonly monotonicNow: () => number
}

export class Authority {
  readonly #deps: AuthorityDeps
  readonly #claims: IdempotencyClaims
  #isAdmissionOpen = true
  readonly #periods = new OpenPeriodCache()

  constructor(deps: AuthorityDeps) {
    this.#deps = deps
    this.#claims = new IdempotencyClaims(deps)
  }

  /** The ledger is inconsistent: nothing is admitted until an operator has corrected it and restarted the relay. */
  haltAdmission(): void {
    this.#isAdmissionOpen = false
  }

  /** Adds an event to the next commit. */
  #record(event: LedgerEvent, account: string, key: string): number {
    return this.#deps.commits.add(event, [accountOwner(account), keyOwner(key)], account)
  }

  /** As `#record`; if the model's requests per day are limited, they have an owner of their own. */
  #recordHold(event: LedgerEvent, { accountId, keyId }: Caller, model: PricedModel): number {
    if (model.limits === null || model.limits.rpd === null) return this.#record(event, accountId, keyId)
    const owners = [accountOwner(accountId), keyOwner(keyId), modelOwner(accountId, model.id)]
    return this.#deps.commits.add(event, owners, accountId)
  }

  /** Admits a request: rate limits first, then money. If one of them denies it, nothing of the other is used. */
  hold(request: HoldRequest): HoldResponse {
    const { directory, catalog, commits, rates } = this.#deps
    const now = this.#deps.now()
    const monotonicNow = this.#deps.monotonicNow()
    const caller = directory.callerByKeyId(request.keyId)
    const model = catalog.model(request.model)
    if (!caller) return { granted: false, code: 'invalid_api_key', detail: {}, rates: null }
    if (!model) return { granted: false, code: 'model_not_found', detail: { param: 'model' }, rates: null }
    const periods = this.#periods.at(caller.timezone, now)
    const operation = holdOperationOf(request, { caller, model }, now, periods)
    const isAdmitting = commits.isAdmitting && this.#isAdmissionOpen
    if (!isAdmitting || this.#deps.reopening.isPending(operation, caller.timezone)) {
      return { granted: false, code: 'service_unavailable', detail: { retryAfterMs: 1000 }, rates: null }
    }
    const claimDenial = request.claim ? this.#claims.check(caller.accountId, request.claim) : null
    if (claimDenial) return claimDenial
    const subjects = rateLimitSubjectsOf(caller, model)
    if (this.#deps.state.holds.has(request.id))
      return { granted: false, code: 'server_error', detail: {}, rates: null }
    const denial = rates.reserve(request.id, subjects, tokensToReserve(request, model), monotonicNow)
    if (denial)
      return { granted: false, ...rateDenialError(denial), rates: rates.status(subjects, monotonicNow) }
    const held = ledger.hold(this.#deps.state, operation)
    if ('kind' in held) {
      rates.cancel(request.id)
      this.#deps.spendNotifications.onDenied(
        { account: caller.accountId, key: caller.keyId },
        held,
        capsOf(caller),
      )
      return { granted: false, ...ledgerDenialError(held, now), rates: rates.status(subjects, monotonicNow) }
    }
    const { outputTokens, maximumTokens } = held
    const commit = this.#recordHold(held.event, caller, model)
    return { granted: true, outputTokens, maximumTokens, commit, rates: rates.status(subjects, monotonicNow) }
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
    const { state, commits } = this.#deps
    const held = state.holds.get(id)
    if (!held) return { result: 0, commit: commits.newest }
    const caps = capsOfHold(this.#deps.directory, held)
    const granted = ledger.extend(state, { id, at: this.#deps.now(), remaining, caps })
    if (!granted) return { result: held.outputTokens, commit: commits.newest }
    const commit = this.#record(granted.event, held.account, held.key)
    return { result: granted.outputTokens, commit }
  }

  /** Records how far a stream has come. */
  mark(id: string, inputTokens: number, outputTokens: number): Committed<undefined> {
    const { state, commits } = this.#deps
    const held = state.holds.get(id)
    const event = ledger.mark(state, { id, at: this.#deps.now(), inputTokens, outputTokens })
    if (!held || !event) return { result: undefined, commit: commits.newest }
    return { result: undefined, commit: this.#record(event, held.account, held.key) }
  }

  /** Ends a hold with or without a bill; the request's row is written with the same commit. */
  settle(
    { id, usage, cause, servedModel, outcome }: SettleRequest,
    storedResponse: ResponseToStore | null,
  ): Committed<bigint> {
    const { state, commits, rates, catalog } = this.#deps
    const held = state.holds.get(id)
    const at = this.#deps.now()
    // The hold ended before: the reply waits until that is on disk.
    if (!held) return { result: 0n, commit: commits.newest }
    rates.finish(id, usage ? usage.input + usage.output : 0, this.#deps.monotonicNow())
    if (!usage) {
      const event = ledger.release(state, { id, at })
      if (event) this.#record(event, held.account, held.key)
      return { result: 0n, commit: commits.addRequest(requestRow(held, outcome, null)) }
    }
    const caps = capsOfHold(this.#deps.directory, held)
    const otherPrice = servedModel === null ? undefined : catalog.model(servedModel)?.price
    const settled = ledger.settle(state, { id, at, usage, cause, caps, otherPrice })
    if (!settled) return { result: 0n, commit: commits.newest }
    this.#record(settled.event, held.account, held.key)
    this.#deps.spendNotifications.onSettled(held, caps)
    const { charge } = settled
    if (held.claim && (charge > 0n || storedResponse?.isComplete === true))
      this.#claims.recordEnded(held, held.claim, charge, storedResponse?.sealed ?? null)
    const { balance } = ownerOf(state, accountOwner(held.account))
    const bill = { usage, cause, charge, balance }
    return { result: charge, commit: commits.addRequest(requestRow(held, outcome, bill)) }
  }

  /** A request whose worker has exited is charged at its last mark. */
  expire(id: string): void {
    const { state, commits, rates, catalog } = this.#deps
    const held = state.holds.get(id)
    if (!held) return
    const at = this.#deps.now()
    rates.finish(id, null, this.#deps.monotonicNow())
    const caps = capsOfHold(this.#deps.directory, held)
    const event = ledger.expire(state, { id, at, caps })
    if (!event) return
    this.#record(event, held.account, held.key)
    if (event.kind === 'settled') this.#deps.spendNotifications.onSettled(held, caps)
    const { balance } = ownerOf(state, accountOwner(held.account))
    const bill = event.kind === 'settled' ? { ...event, balance } : null
    if (held.claim && bill && bill.charge > 0n) this.#claims.recordEnded(held, held.claim, bill.charge, null)
    const outcome = expiredOutcome(held, at, soleUpstreamOf(catalog.model(held.model)))
    commits.requestFlush(commits.addRequest(requestRow(held, outcome, bill)))
  }

  /** The current wallet of an account, or of a key within it. */
  wallet(accountId: string, keyId: string | null): Wallet {
    const { state, directory } = this.#deps
    const at = this.#deps.now()
    const account = ownerAt(ownerOf(state, accountOwner(accountId)), at)
    const key = ownerAt(ownerOf(state, keyOwner(keyId ?? '')), at)
    return walletOf(directory, { accountId, keyId }, { account, key })
  }
}

/** The only upstream that can serve a model; `null`: there are several. */
export function soleUpstreamOf(model: PricedModel | undefined): string | null {
  if (!model || model.fallbacks.length > 0 || model.routes.length > 1) return null
  return model.routes[0]?.upstream.id ?? null
}

/**
 * The outcome of a request whose worker has exited. A mark means that it was a stream that had started. `upstream`: the
 * only one that can have served it, if known.
 */
export function expiredOutcome(held: Hold, at: number, upstream: string | null = null): RequestOutcome {
  const hasStarted = held.mark !== null
  const durationMs = Math.max(0, at - held.at)
  const attempt = { upstream, outcome: 'aborted', http_status: 200, duration_ms: durationMs, cost: null }
  return {
    httpStatus: hasStarted ? 200 : 500,
    outcome: hasStarted ? 'ended' : 'failed',
    upstream: hasStarted ? upstream : null,
    finish: null,
    errorCode: hasStarted ? 'service_unavailable' : 'server_error',
    firstTokenMs: null,
    durationMs,
    attempts: hasStarted && upstream !== null ? JSON.stringify([attempt]) : '[]',
    upstreamCost: null,
    isClamped: false,
    stream: hasStarted,
    model: held.model,
  }
}
