/** From what a worker asks for a request to what the ledger and the rates are asked: the same in a house alone and in a cluster. */
import type { Caller } from '../../accounts/directory.ts'
import type { PricedModel } from '../../catalog/catalog.ts'
import type { Periods } from '../../ledger/caps.ts'
import { dayEndOf, monthEndOf } from '../../ledger/periods.ts'
import type { HoldOperation } from '../../ledger/operations.ts'
import type { HoldAsk } from '../../relay/ledger-client.ts'
import { capsFor } from './caller-limits.ts'

function mostTokensOf(model: PricedModel): number {
  return model.maxOutputTokens ?? model.contextTokens
}

/** What the rates count until the real usage is known: the estimate of the input and what may be answered, where that is said. */
export function tokensToReserve(ask: HoldAsk, model: PricedModel): number {
  if (ask.askedTokens === null) return ask.inputTokens
  return ask.inputTokens + Math.min(ask.askedTokens, mostTokensOf(model)) * ask.results
}

/** `at`: milliseconds since the epoch, within `periods`. */
export function holdOperationOf(
  ask: HoldAsk,
  { caller, model }: { readonly caller: Caller; readonly model: PricedModel },
  at: number,
  periods: Periods,
): HoldOperation {
  const manner = ask.stream ? 'stream' : 'whole'
  return {
    id: ask.id,
    at,
    account: caller.accountId,
    key: caller.keyId,
    price: model.price,
    model: model.id,
    factorPpm: caller.priceFactorPpm,
    inputTokens: ask.inputTokens,
    results: ask.results,
    askedTokens: ask.askedTokens,
    modelTokens: mostTokensOf(model),
    manner: model.hiddenReasoning ? 'hidden' : manner,
    caps: capsFor(caller, model),
    claim: ask.claim && { key: ask.claim.key, body: ask.claim.body },
    dayEnd: periods.dayEnd,
    monthEnd: periods.monthEnd,
  }
}

/** The ends of the open day and month of each time zone: a calendar is asked once in a day. */
export class OpenPeriods {
  readonly #ends = new Map<string, { dayEnd: number; monthEnd: number }>()

  at(timezone: string, at: number): Periods {
    let ends = this.#ends.get(timezone)
    if (!ends) this.#ends.set(timezone, (ends = { dayEnd: 0, monthEnd: 0 }))
    if (ends.dayEnd <= at) ends.dayEnd = dayEndOf(timezone, at)
    if (ends.monthEnd <= at) ends.monthEnd = monthEndOf(timezone, at)
    return ends
  }
}
