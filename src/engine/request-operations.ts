/** Turns what workers request into operations of the ledger. */
import type { Caller } from '../accounts/directory.ts'
import { maximumOfRoutes, type Catalog, type PricedModel } from '../catalog/catalog.ts'
import type { MaximumState } from '../catalog/route-maximums.ts'
import type { SettleRequest } from '../ledger/transaction.ts'
import type { HoldOperation } from '../ledger/operations.ts'
import { dayEndOf, monthEndOf, type PeriodEnds } from '../ledger/periods.ts'
import type { Price } from '../ledger/price.ts'
import type { HoldRequest } from '../relay/ledger-client.ts'
import { capsForModel } from './caller-limits.ts'

function maxOutputTokensOf(model: PricedModel): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/**
 * What the rate limits must have room for: the estimated input, and the requested maximum of output, if given. Once the
 * request is admitted, they count what is held, if that is more.
 */
export function tokensToReserve(request: HoldRequest, model: PricedModel): number {
  if (request.requestedTokens === null) return request.inputTokens
  return request.inputTokens + Math.min(request.requestedTokens, maxOutputTokensOf(model)) * request.results
}

/** The ends of the current day and month in each time zone, computed once a day, and when the clock was set back. */
export class OpenPeriodCache {
  readonly #ends = new Map<string, { since: number; dayEnd: number; monthEnd: number }>()

  at(timezone: string, at: number): PeriodEnds {
    let ends = this.#ends.get(timezone)
    if (!ends || at < ends.since || at >= ends.dayEnd) {
      ends = { since: at, dayEnd: dayEndOf(timezone, at), monthEnd: monthEndOf(timezone, at) }
      this.#ends.set(timezone, ends)
    }
    return ends
  }
}

/** Who requests which model. */
export interface Requested {
  readonly caller: Caller
  readonly model: PricedModel
}

/** The only upstream that can serve a model; `null`: there are several. */
export function soleUpstreamOf(model: PricedModel | undefined): string | null {
  if (!model || model.fallbacks.length > 0 || model.routes.length > 1) return null
  return model.routes[0]?.upstream.id ?? null
}

/** The price of the fallback model that served a request, if one did. */
export function servedPriceOf({ servedModel }: SettleRequest, catalog: Catalog): Price | undefined {
  return servedModel === null ? undefined : catalog.model(servedModel)?.price
}

function maximumOf({ holdsOwnMaximum, maximumField }: HoldRequest, model: PricedModel): MaximumState {
  if (holdsOwnMaximum) return 'obeyed'
  return maximumField === undefined ? model.maximum : maximumOfRoutes(model.routes, maximumField)
}

/** `periods`: those of the caller's time zone that contain `at`. */
export function holdOperation(
  request: HoldRequest,
  { caller, model }: Requested,
  at: number,
  periods: PeriodEnds,
): HoldOperation {
  const mode = request.stream ? 'stream' : 'non-streaming'
  return {
    id: request.id,
    at,
    account: caller.accountId,
    key: caller.keyId,
    price: model.price,
    model: model.id,
    factorPpm: caller.priceFactorPpm,
    inputTokens: request.inputTokens,
    results: request.results,
    requestedTokens: request.requestedTokens,
    searches: request.searches,
    terms: request.terms,
    modelTokens: maxOutputTokensOf(model),
    maximum: maximumOf(request, model),
    mode: model.hiddenReasoning ? 'hidden' : mode,
    caps: capsForModel(caller, model),
    claim: request.claim && { key: request.claim.key, body: request.claim.body },
    dayEnd: periods.dayEnd,
    monthEnd: periods.monthEnd,
  }
}
