/**
 * The authority of a node: the only place that decides about its limits and money, on the main thread. Rate limits count
 * first, then the store decides about money (ledger-store.ts). Over the store of a single relay, nothing here waits, and
 * no operation needs a promise.
 */
import type { Directory } from '../accounts/directory.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { ChangeFeed } from '../db/postgres/change-feed.ts'
import { apiError } from '../errors.ts'
import { ownerAt } from '../ledger/caps.ts'
import { heldTokensToCount } from '../ledger/holds.ts'
import { accountOwner, emptyOwner, keyOwner, type Hold } from '../ledger/state.ts'
import type { Operation, ResponseToStore, Results, SettleRequest } from '../ledger/transaction.ts'
import { billEarlyAbort } from './early-abort-bill.ts'
import type { EarlyAborts } from '../limits/early-aborts.ts'
import type { AdmissionRates, RateLimitResult } from '../limits/local-rate-limiter.ts'
import type { RateLimitSubject, RateStatus } from '../limits/rate-limiter.ts'
import type { HoldRejected, HoldRequest, HoldResponse } from '../relay/ledger-client.ts'
import {
  capsOfHold,
  rateLimitSubjectsOf,
  replaySubjectsOf,
  tokenCountSubjectsOf,
  walletOf,
  type Wallet,
} from './caller-limits.ts'
import { ledgerDenialError, rateDenialError, rejected, unavailable } from './denials.ts'
import type { Decided, LedgerStore } from './ledger-store.ts'
import {
  holdOperation,
  OpenPeriodCache,
  servedPriceOf,
  soleUpstreamOf,
  tokensToReserve,
} from './request-operations.ts'
import type { SpendNotifications } from './spend-notifications.ts'

export interface AuthorityDeps {
  readonly directory: Directory
  readonly catalog: Catalog
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds that never go back. */
  readonly monotonicNow: () => number
  readonly store: LedgerStore
  readonly rates: AdmissionRates
  readonly earlyAborts: EarlyAborts
  readonly spendNotifications: SpendNotifications
  /** The changes of other nodes; `null`: there are none. */
  readonly feed: Pick<ChangeFeed, 'isFresh' | 'waitUntilFresh'> | null
}

export class Authority {
  readonly #deps: AuthorityDeps
  readonly #periods = new OpenPeriodCache()
  #isAdmissionOpen = true

  constructor(deps: AuthorityDeps) {
    this.#deps = deps
  }

  /** The ledger is inconsistent: nothing is admitted until an operator has corrected it and restarted the relay. */
  haltAdmission(): void {
    this.#isAdmissionOpen = false
  }

  /** Admits a request: rate limits first, then money. If one of them denies it, nothing of the other is used. */
  hold(request: HoldRequest): HoldResponse | Promise<HoldResponse> {
    const { feed, store } = this.#deps
    if (feed === null || feed.isFresh || !store.isAdmitting) return this.#admit(request)
    // Do not admit by outdated configuration: after a stall, or while changes do not reach this node.
    return feed
      .waitUntilFresh()
      .then((isFresh) => (isFresh ? this.#admit(request) : rejected(unavailable, null)))
  }

  #admit(request: HoldRequest): HoldResponse | Promise<HoldResponse> {
    const { store, rates, directory, catalog, now } = this.#deps
    const caller = directory.callerByKeyId(request.keyId)
    if (!caller) return rejected({ code: 'invalid_api_key', detail: {} }, null)
    const model = catalog.model(request.model)
    if (!model) return rejected({ code: 'model_not_found', detail: { param: 'model' } }, null)
    if (!store.isAdmitting || !this.#isAdmissionOpen) return rejected(unavailable, null)
    const { timezone } = caller
    const at = now()
    const hold = holdOperation(request, { caller, model }, at, this.#periods.at(timezone, at))
    const operation = { kind: 'hold', hold, timezone, seenCommit: request.claim?.seenCommit } as const
    const denial = store.check(operation)
    if (denial === 'unavailable') return rejected(unavailable, null)
    if (denial) return rejected(ledgerDenialError(denial, request.claim, at), null)
    const subjects = rateLimitSubjectsOf(caller, model)
    const reserved = rates.reserve(request.id, subjects, tokensToReserve(request, model))
    return reserved instanceof Promise
      ? reserved.then((result) => this.#holdMoney(operation, subjects, result))
      : this.#holdMoney(operation, subjects, reserved)
  }

  #holdMoney(
    operation: Operation<'hold'>,
    subjects: readonly RateLimitSubject[],
    { denial, status }: RateLimitResult,
  ): HoldResponse | Promise<HoldResponse> {
    if (denial) return rejected(rateDenialError(denial), status)
    const held = this.#deps.store.decide(operation)
    return held instanceof Promise
      ? held.then((result) => this.#respond(operation, subjects, status, result))
      : this.#respond(operation, subjects, status, held)
  }

  #respond(
    operation: Operation<'hold'>,
    subjects: readonly RateLimitSubject[],
    status: RateStatus,
    held: Results['hold'] | null,
  ): HoldResponse {
    if (!held || !('event' in held)) return this.#reject(operation, subjects, status, held)
    const { outputTokens, maximumTokens } = held
    // The rate limits count what may be written, but reject no request for more than it asked for.
    const { hold } = operation
    this.#deps.rates.raise(hold.id, hold.inputTokens + heldTokensToCount(hold, outputTokens))
    return { granted: true, outputTokens, maximumTokens, commit: this.#deps.store.newest, rates: status }
  }

  #reject(
    { hold }: Operation<'hold'>,
    subjects: readonly RateLimitSubject[],
    reserved: RateStatus,
    denial: Exclude<Results['hold'], { readonly event: unknown }> | null,
  ): HoldRejected {
    const { rates, spendNotifications, now } = this.#deps
    rates.cancel(hold.id)
    const status = rates.status(subjects) ?? reserved
    if (!denial) return rejected(unavailable, status)
    spendNotifications.onDenied(hold, denial)
    const isOfClaim = denial.kind === 'running' || denial.kind === 'stored'
    return rejected(ledgerDenialError(denial, hold.claim, now()), isOfClaim ? null : status)
  }

  /** Counts a token count in its own windows. Throws an ApiError if a limit is exceeded. */
  takeTokenCount(id: string, keyId: string): Promise<RateStatus> {
    const caller = this.#deps.directory.callerByKeyId(keyId)
    if (!caller) throw apiError('invalid_api_key')
    return this.#countRequest(id, tokenCountSubjectsOf(caller))
  }

  /** Counts a replay of a stored response in its own window. Throws an ApiError if the limit is exceeded. */
  takeReplay(id: string, keyId: string): Promise<RateStatus> {
    return this.#countRequest(id, replaySubjectsOf(keyId))
  }

  async #countRequest(id: string, subjects: readonly RateLimitSubject[]): Promise<RateStatus> {
    const { rates } = this.#deps
    const { denial, status } = await rates.reserve(id, subjects, 0)
    if (denial) {
      const { code, detail } = rateDenialError(denial)
      throw apiError(code, detail)
    }
    rates.finish(id, 0)
    return status
  }

  /** Extends a stream's hold. Returns the output tokens that are held in total, unchanged if no money is left. */
  extend(id: string, remaining: number, searches: number): Decided<number> {
    const { store, directory, now } = this.#deps
    const caps = capsOfHold(directory, store.state.holds.get(id))
    return store.decide({ kind: 'extend', id, at: now(), remaining, searches, caps })
  }

  /** Records how far a stream has come. */
  mark(id: string, inputTokens: number, outputTokens: number): Decided<undefined> {
    const { store, now } = this.#deps
    return store.mark({ kind: 'mark', id, at: now(), inputTokens, outputTokens })
  }

  /** Ends a hold with or without a bill; the request's row is written with the same commit. Returns what was charged. */
  settle(
    request: SettleRequest,
    storedResponse: ResponseToStore | null,
    at: number = this.#deps.now(),
  ): Decided<bigint> {
    const { store, rates, directory, catalog, earlyAborts, monotonicNow } = this.#deps
    const { id, usage, leftEarly } = request
    const { bound = usage } = request
    const tokens = bound ? bound.input + bound.output : 0
    rates.finish(id, leftEarly ? null : tokens)
    const held = store.state.holds.get(id)
    const counted = { earlyAborts, now: monotonicNow() }
    const billed = leftEarly ? billEarlyAbort(request, held, counted) : request
    const [otherPrice, caps] = [servedPriceOf(request, catalog), capsOfHold(directory, held)]
    return this.#end({ kind: 'settle', request: billed, storedResponse, otherPrice, at, caps }, held)
  }

  /** A request whose worker has exited is charged at its last mark. */
  expire(id: string): Decided<bigint | null> {
    const { store, rates, directory, catalog, now } = this.#deps
    rates.finish(id, null)
    const held = store.state.holds.get(id)
    const [upstream, caps] = [
      held ? soleUpstreamOf(catalog.model(held.model)) : null,
      capsOfHold(directory, held),
    ]
    const charge = this.#end({ kind: 'expire', id, at: now(), caps, upstream }, held)
    store.requestFlush(store.newest)
    return charge
  }

  #end<Kind extends 'settle' | 'expire'>(
    operation: Operation<Kind> & Operation<'settle' | 'expire'>,
    held: Hold | undefined,
  ): Decided<Results[Kind]> {
    const charge = this.#deps.store.decide(operation)
    if (charge instanceof Promise) void charge.then((result) => this.#onEnd(held, operation, result))
    else this.#onEnd(held, operation, charge)
    return charge
  }

  #onEnd(held: Hold | undefined, { caps }: Operation<'settle' | 'expire'>, charge: bigint | null): void {
    if (held && charge) this.#deps.spendNotifications.onSettled(held, caps)
  }

  /** By account, of those with open holds: the balance less what is held. */
  availableUnderHolds(): Promise<ReadonlyMap<string, bigint>> {
    return this.#deps.store.availableUnderHolds()
  }

  /** The current wallet of an account, or of a key within it. */
  async wallet(accountId: string, keyId: string | null): Promise<Wallet> {
    const { store, directory, now } = this.#deps
    const [account = emptyOwner(), key = emptyOwner()] = await store.readOwners([
      accountOwner(accountId),
      keyOwner(keyId ?? ''),
    ])
    const at = now()
    const owners = { account: ownerAt(account, at), key: ownerAt(key, at) }
    return walletOf(directory, { accountId, keyId }, owners)
  }
}
