/** Turns what workers request into operations of the ledger. */
import type { Caller, Directory } from '../accounts/directory.ts'
import type { Catalog, PricedModel } from '../catalog/catalog.ts'

import type { Operation, SettleRequest } from '../ledger/transaction.ts'
import type { HoldOperation } from '../ledger/operations.ts'
import { dayEndOf, monthEndOf, type PeriodEnds } from '../ledger/periods.ts'
import type { Price } from '../ledger/price.ts'
import type { Hold } from '../ledger/state.ts'
import type { HoldRejected, HoldRequest } from '../relay/ledger-client.ts'
import { capsForModel, capsOfHold } from './caller-limits.ts'
import { rejected } from './denials.ts'

function maxOutputTokensOf(model: PricedModel): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/** What the rate limits count until the usage is known: the estimated input, and the requested maximum of output, if given. */
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
function soleUpstreamOf(model: PricedModel | undefined): string | null {
  if (!model || model.fallbacks.length > 0 || model.routes.length > 1) return null
  return model.routes[0]?.upstream.id ?? null
}

/** The price of the fallback model that served a request, if one did. */
function servedPriceOf({ servedModel }: SettleRequest, catalog: Catalog): Price | undefined {
  return servedModel === null ? undefined : catalog.model(servedModel)?.price
}

export interface RequestOperationsDeps {
  readonly directory: Directory
  readonly catalog: Catalog
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export class RequestOperations {
  readonly #deps: RequestOperationsDeps
  readonly #periods = new OpenPeriodCache()

  constructor(deps: RequestOperationsDeps) {
    this.#deps = deps
  }

  find(request: HoldRequest): Requested | HoldRejected {
    const { directory, catalog } = this.#deps
    const caller = directory.callerByKeyId(request.keyId)
    if (!caller) return rejected({ code: 'invalid_api_key', detail: {} }, null)
    const model = catalog.model(request.model)
    if (!model) return rejected({ code: 'model_not_found', detail: { param: 'model' } }, null)
    return { caller, model }
  }

  hold(request: HoldRequest, { caller, model }: Requested): Operation<'hold'> {
    const at = this.#deps.now()
    const periods = this.#periods.at(caller.timezone, at)
    const mode = request.stream ? 'stream' : 'non-streaming'
    const hold: HoldOperation = {
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
      modelTokens: maxOutputTokensOf(model),
      mode: model.hiddenReasoning ? 'hidden' : mode,
      caps: capsForModel(caller, model),
      claim: request.claim && { key: request.claim.key, body: request.claim.body },
      dayEnd: periods.dayEnd,
      monthEnd: periods.monthEnd,
    }
    return { kind: 'hold', hold, timezone: caller.timezone, seenCommit: request.claim?.seenCommit }
  }

  extend(id: string, remaining: number, held: Hold | undefined): Operation<'extend'> {
    const { directory, now } = this.#deps
    return { kind: 'extend', id, at: now(), remaining, caps: capsOfHold(directory, held) }
  }

  settle(
    ended: Pick<Operation<'settle'>, 'request' | 'storedResponse' | 'at'>,
    held: Hold | undefined,
  ): Operation<'settle'> {
    const { directory, catalog } = this.#deps
    const otherPrice = servedPriceOf(ended.request, catalog)
    return { kind: 'settle', ...ended, otherPrice, caps: capsOfHold(directory, held) }
  }

  /** A request whose worker has exited is charged at its last mark. */
  expire(id: string, held: Hold | undefined): Operation<'expire'> {
    const { directory, catalog, now } = this.#deps
    const upstream = held ? soleUpstreamOf(catalog.model(held.model)) : null
    return { kind: 'expire', id, at: now(), caps: capsOfHold(directory, held), upstream }
  }
}
