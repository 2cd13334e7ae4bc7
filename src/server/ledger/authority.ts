/**
 * The authority: the one place that decides about money and limits, on a thread of its own. Every decision is made
 * in memory at once, and becomes durable with the commit that its answer names.
 */
import type { Caller, Directory } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { refuse } from '../../errors.ts'
import type { Wallet } from '../../http/house.ts'
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
import type { Rates, RateStatus } from '../../limits/rate-limiter.ts'
import type { HoldAnswer, HoldAsk, KeptAnswer, RequestOutcome, SettleAsk } from '../../relay/ledger-client.ts'
import { Claims } from '../claims.ts'
import type { CommitQueue } from './commit-queue.ts'
import { deniedByLedger, deniedByRate } from './denials.ts'
import { capsOf, capsOfHold, claimsOf, walletOf } from './caller-limits.ts'
import { holdOperationOf, OpenPeriods, tokensToReserve } from './hold-operation.ts'
import { requestRow } from './request-row.ts'
import type { SpendNotices } from './spend-notifications.ts'
import type { Committed } from '../messages.ts'

export interface AuthorityParts {
  readonly state: LedgerState
  readonly commits: CommitQueue
  readonly rates: Rates
  readonly directory: Directory
  readonly catalog: Catalog
  readonly spending: SpendNotices
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds that never go back: the clock of the windows. */
  readonly steady: () => number
}

export class Authority {
  readonly #parts: AuthorityParts
  readonly #claims: Claims
  #isTrusted = true
  readonly #periods = new OpenPeriods()

  constructor(parts: AuthorityParts) {
    this.#parts = parts
    this.#claims = new Claims(parts)
  }

  /** The ledger does not add up: nothing new is admitted until somebody has looked at it and started again. */
  distrust(): void {
    this.#isTrusted = false
  }

  /** Takes an event into the next commit. */
  #record(event: LedgerEvent, account: string, key: string): number {
    return this.#parts.commits.add(event, [accountOwner(account), keyOwner(key)], account)
  }

  /** As `#record`; a model's requests per day are an owner of their own. */
  #recordHold(event: LedgerEvent, { accountId, keyId }: Caller, model: PricedModel): number {
    if (model.limits === null || model.limits.rpd === null) return this.#record(event, accountId, keyId)
    const owners = [accountOwner(accountId), keyOwner(keyId), modelOwner(accountId, model.id)]
    return this.#parts.commits.add(event, owners, accountId)
  }

  /** Admits a request: rates first, then money; refused by one, it has consumed nothing of the other. */
  hold(ask: HoldAsk): HoldAnswer {
    const { directory, catalog, commits, rates } = this.#parts
    const now = this.#parts.now()
    const steady = this.#parts.steady()
    const caller = directory.keyById(ask.keyId)
    const model = catalog.model(ask.model)
    if (!caller) return { granted: false, code: 'invalid_api_key', detail: {}, rates: null }
    if (!model) return { granted: false, code: 'model_not_found', detail: { param: 'model' }, rates: null }
    if (!commits.admitting || !this.#isTrusted) {
      return { granted: false, code: 'service_unavailable', detail: { retryAfterMs: 1000 }, rates: null }
    }
    const taken = ask.claim ? this.#claims.denial(caller.accountId, ask.claim) : null
    if (taken) return taken
    const claims = claimsOf(caller, model)
    if (this.#parts.state.holds.has(ask.id))
      return { granted: false, code: 'server_error', detail: {}, rates: null }
    const denial = rates.reserve(ask.id, claims, tokensToReserve(ask, model), steady)
    if (denial) return { granted: false, ...deniedByRate(denial), rates: rates.status(claims, steady) }
    const periods = this.#periods.at(caller.timezone, now)
    const held = ledger.hold(this.#parts.state, holdOperationOf(ask, { caller, model }, now, periods))
    if ('kind' in held) {
      rates.giveBack(ask.id)
      this.#parts.spending.denied({ account: caller.accountId, key: caller.keyId }, held, capsOf(caller))
      return { granted: false, ...deniedByLedger(held, now), rates: rates.status(claims, steady) }
    }
    const { outputTokens, maximumTokens } = held
    const commit = this.#recordHold(held.event, caller, model)
    return { granted: true, outputTokens, maximumTokens, commit, rates: rates.status(claims, steady) }
  }

  /** Takes a place in the rates for a request that costs nothing and is over at once. Throws the refusal. */
  takeRate(id: string, keyId: string): RateStatus {
    const { directory, rates } = this.#parts
    const steady = this.#parts.steady()
    const caller = directory.keyById(keyId)
    if (!caller) throw refuse('invalid_api_key')
    const claims = claimsOf(caller, null)
    const denial = rates.reserve(id, claims, 0, steady)
    if (denial) {
      const { code, detail } = deniedByRate(denial)
      throw refuse(code, detail)
    }
    rates.finish(id, 0, steady)
    return rates.status(claims, steady)
  }

  /** Extends a stream's hold; the total that was paid before when nothing more can be. */
  extend(id: string, remaining: number): Committed<number> {
    const { state, commits } = this.#parts
    const held = state.holds.get(id)
    if (!held) return { result: 0, commit: commits.newest }
    const caps = capsOfHold(this.#parts.directory, held)
    const granted = ledger.extend(state, { id, at: this.#parts.now(), remaining, caps })
    if (!granted) return { result: held.outputTokens, commit: commits.newest }
    const commit = this.#record(granted.event, held.account, held.key)
    return { result: granted.outputTokens, commit }
  }

  /** Notes how far a stream has come. */
  mark(id: string, inputTokens: number, outputTokens: number): Committed<undefined> {
    const { state, commits } = this.#parts
    const held = state.holds.get(id)
    const event = ledger.mark(state, { id, at: this.#parts.now(), inputTokens, outputTokens })
    if (!held || !event) return { result: undefined, commit: commits.newest }
    return { result: undefined, commit: this.#record(event, held.account, held.key) }
  }

  /** Ends a hold with its bill, or without one; its row goes into the same commit. */
  settle({ id, usage, cause, servedModel, outcome }: SettleAsk, kept: KeptAnswer | null): Committed<bigint> {
    const { state, commits, rates, catalog } = this.#parts
    const held = state.holds.get(id)
    const at = this.#parts.now()
    // Ended before, it is told again only once that is on disk.
    if (!held) return { result: 0n, commit: commits.newest }
    rates.finish(id, usage ? usage.input + usage.output : 0, this.#parts.steady())
    if (!usage) {
      const event = ledger.release(state, { id, at })
      if (event) this.#record(event, held.account, held.key)
      return { result: 0n, commit: commits.addRequest(requestRow(held, outcome, null)) }
    }
    const caps = capsOfHold(this.#parts.directory, held)
    const otherPrice = servedModel === null ? undefined : catalog.model(servedModel)?.price
    const settled = ledger.settle(state, { id, at, usage, cause, caps, otherPrice })
    if (!settled) return { result: 0n, commit: commits.newest }
    this.#record(settled.event, held.account, held.key)
    this.#parts.spending.settled(held, caps)
    const { charge } = settled
    if (held.claim && (charge > 0n || kept?.isWhole === true))
      this.#claims.keep(held, held.claim, charge, kept?.sealed ?? null)
    const { balance } = ownerOf(state, accountOwner(held.account))
    const bill = { usage, cause, charge, balance }
    return { result: charge, commit: commits.addRequest(requestRow(held, outcome, bill)) }
  }

  /** A request whose relay is gone: charged at its last mark. */
  expire(id: string): void {
    const { state, commits, rates, catalog } = this.#parts
    const held = state.holds.get(id)
    if (!held) return
    const at = this.#parts.now()
    rates.finish(id, null, this.#parts.steady())
    const caps = capsOfHold(this.#parts.directory, held)
    const event = ledger.expire(state, { id, at, caps })
    if (!event) return
    this.#record(event, held.account, held.key)
    if (event.kind === 'settled') this.#parts.spending.settled(held, caps)
    const { balance } = ownerOf(state, accountOwner(held.account))
    const bill = event.kind === 'settled' ? { ...event, balance } : null
    if (held.claim && bill && bill.charge > 0n) this.#claims.keep(held, held.claim, bill.charge, null)
    const outcome = goneOutcome(held, at, onlyUpstreamOf(catalog.model(held.model)))
    commits.need(commits.addRequest(requestRow(held, outcome, bill)))
  }

  /** A request that was refused: a row, and no money. */
  refused(id: string, keyId: string, outcome: RequestOutcome): void {
    const { directory, commits } = this.#parts
    const caller = directory.keyById(keyId)
    if (!caller) return
    const at = this.#parts.now()
    const who = { id, at, account: caller.accountId, key: keyId, amount: 0n, priceVersion: 0 }
    commits.addRequest(requestRow(who, outcome, null))
  }

  /** What an account, and within it a key, has now. */
  wallet(accountId: string, keyId: string | null): Wallet {
    const { state, directory } = this.#parts
    const at = this.#parts.now()
    const account = ownerAt(ownerOf(state, accountOwner(accountId)), at)
    const key = ownerAt(ownerOf(state, keyOwner(keyId ?? '')), at)
    return walletOf(directory, { accountId, keyId }, { account, key })
  }
}

/** The upstream that alone can have answered a model's request; `null`: there are several. */
export function onlyUpstreamOf(model: PricedModel | undefined): string | null {
  if (!model || model.fallbacks.length > 0 || model.routes.length > 1) return null
  return model.routes[0]?.upstream.id ?? null
}

/**
 * What is known of a request whose relay is gone. With a mark it was a stream that had begun; `upstream`: the only one
 * that can have answered it, where there is but one.
 */
export function goneOutcome(held: Hold, at: number, upstream: string | null = null): RequestOutcome {
  const hasBegun = held.mark !== null
  const durationMs = Math.max(0, at - held.at)
  const attempt = { upstream, outcome: 'aborted', http_status: 200, duration_ms: durationMs, cost: null }
  return {
    httpStatus: hasBegun ? 200 : 500,
    outcome: hasBegun ? 'ended' : 'failed',
    upstream: hasBegun ? upstream : null,
    finish: null,
    errorCode: hasBegun ? 'service_unavailable' : 'server_error',
    firstTokenMs: null,
    durationMs,
    attempts: hasBegun && upstream !== null ? JSON.stringify([attempt]) : '[]',
    upstreamCost: null,
    isClamped: false,
    stream: hasBegun,
    model: held.model,
  }
}
