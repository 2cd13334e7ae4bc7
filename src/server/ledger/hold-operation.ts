/** Turns a worker's request for a hold into an operation of the ledger, on a single node and in a cluster alike. */
import type { Caller } from '../../accounts/directory.ts'
import type { PricedModel } from '../../catalog/catalog.ts'
import type { PeriodEnds } from '../../ledger/caps.ts'
import { dayEndOf, monthEndOf } from '../../ledger/periods.ts'
import type { HoldOperation } from '../../ledger/operations.ts'
import type { HoldRequest } from '../../relay/ledger-client.ts'
import { capsForModel } from './caller-limits.ts'

function maxOutputTokensOf(model: PricedModel): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/** What the rate limits count until the usage is known: the estimated input, and the requested maximum of output, if given. */
export function tokensToReserve(request: HoldRequest, model: PricedModel): number {
  if (request.requestedTokens === null) return request.inputTokens
  return request.inputTokens + Math.min(request.requestedTokens, maxOutputTokensOf(model)) * request.results
}

/** `at`: milliseconds since the epoch, within `periods`. */
export function holdOperationOf(
  request: HoldRequest,
  { caller, model }: { readonly caller: Caller; readonly model: PricedModel },
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
    modelTokens: maxOutputTokensOf(model),
    mode: model.hiddenReasoning ? 'hidden' : mode,
    caps: capsForModel(caller, model),
    claim: request.claim && { key: request.claim.key, body: request.claim.body },
    dayEnd: periods.dayEnd,
    monthEnd: periods.monthEnd,
  }
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
