/**
 * The ledger's operations: each takes the state and a request and returns a decision. They are pure: no
 * clock, no randomness, no I/O; the caller passes the time. A decision that changes money is an event that
 * has been applied to the state. All operations are idempotent.
 */
import { apply } from './apply.ts'
import {
  availableNanos,
  denialOf,
  ownerInPeriods,
  periodsForHold,
  availableForHold,
  remainingByLimit,
} from './caps.ts'
import type { Caps, Denial } from './caps.ts'
import type { PeriodEnds } from './periods.ts'
import type {
  Credited,
  CreditKind,
  Extended,
  Held,
  IdempotencyClaim,
  Late,
  LedgerEvent,
  Marked,
  Released,
  Settled,
  SettleCause,
} from './events.ts'
import { boundOf, feesOfCalls, maxCostOf } from './cost-bound.ts'
import { costOf, type Price, type Usage } from './price.ts'
import { isPayback } from './payback-ids.ts'
import { sizeOfExtension, sizeOfHold, type HoldOptions } from './holds.ts'
import { toValidText } from '../lib/valid-text.ts'
import { accountOwner, claimId, keyOwner, modelOwner, ownerOf, type Hold, type LedgerState } from './state.ts'

export interface HoldOperation extends HoldOptions, PeriodEnds {
  readonly id: string
  readonly at: number
  readonly account: string
  readonly key: string
  readonly model: string
  readonly caps: Caps
  /** The `Idempotency-Key` to claim in the same operation. */
  readonly claim?: IdempotencyClaim | undefined
}

/** Applies a decision. */
function applied<Event extends LedgerEvent>(state: LedgerState, event: Event): Event {
  apply(state, event)
  return event
}

export interface GrantedHold {
  readonly event: Held
  readonly outputTokens: number
  readonly maximumTokens: number | null
}

/** Holds money for a request, or says which limit forbids it. */
export function hold(state: LedgerState, operation: HoldOperation): GrantedHold | Denial {
  if (state.holds.has(operation.id) || state.ended.has(operation.id)) return { kind: 'known' }
  const { caps, claim } = operation
  if (claim && state.claims.has(claimId(operation.account, claim))) return { kind: 'known' }
  const ownerBefore = ownerOf(state, accountOwner(operation.account))
  const periods = periodsForHold(ownerBefore, operation.at, operation)
  const account = ownerInPeriods(ownerBefore, periods, 0n)
  const key = ownerInPeriods(ownerOf(state, keyOwner(operation.key)), periods, 0n)
  const size = sizeOfHold(operation, availableNanos(account, key, caps))
  if (size === null) return denialOf(operation, remainingByLimit(account, key, caps), periods)
  if (size.isAll && account.held > 0n && size.amount > 0n) return { kind: 'one-at-a-time' }
  if (caps.accountRequestsPerDay !== null && account.dayRequests >= caps.accountRequestsPerDay) {
    return { kind: 'requests-per-day', of: 'account', resumesAt: periods.dayEnd }
  }
  if (caps.keyRequestsPerDay !== null && key.dayRequests >= caps.keyRequestsPerDay) {
    return { kind: 'requests-per-day', of: 'key', resumesAt: periods.dayEnd }
  }
  const maxModelRequests = caps.modelRequestsPerDay ?? null
  if (maxModelRequests !== null) {
    const model = ownerOf(state, modelOwner(operation.account, operation.model))
    if (ownerInPeriods(model, periods, 0n).dayRequests >= maxModelRequests)
      return { kind: 'requests-per-day', of: 'model', resumesAt: periods.dayEnd }
  }
  const event = applied(state, {
    kind: 'held',
    id: operation.id,
    at: operation.at,
    account: operation.account,
    key: operation.key,
    model: operation.model,
    amount: size.amount,
    price: operation.price,
    factorPpm: operation.factorPpm,
    inputTokens: operation.inputTokens,
    outputTokens: size.outputTokens,
    ...periods,
    claim,
    countsForModel: maxModelRequests === null ? undefined : true,
    terms: operation.terms,
  })
  return { event, outputTokens: size.outputTokens, maximumTokens: size.maximumTokens }
}

export interface ExtendOperation {
  readonly id: string
  readonly at: number
  /** Output tokens that the stream may still produce. */
  readonly remaining: number
  /** Web searches to hold in addition, or calls of the tool that the hold names. */
  readonly searches: number
  readonly caps: Caps
}

/**
 * Extends the hold of a running stream by the next chunk, and by web searches. `null` if the money does not pay for the
 * searches and something useful, or the hold has ended.
 */
export function extend(state: LedgerState, operation: ExtendOperation): Extended | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const { price, inputTokens, factorPpm } = held
  const fees = feesOfCalls(held, operation.searches)
  const available = availableForHold(state, held, operation.caps) - fees
  if (available < 0n) return null
  const tokens = sizeOfExtension(held, available, operation.remaining)
  if (tokens === 0) return null
  const outputTokens = held.outputTokens + tokens
  const costBound = boundOf(price, inputTokens, held.terms)
  const paid = maxCostOf(costBound, inputTokens, held.outputTokens, factorPpm)
  const amount = maxCostOf(costBound, inputTokens, outputTokens, factorPpm) - paid + fees
  return applied(state, { kind: 'extended', id: held.id, at: operation.at, amount, outputTokens })
}

/**
 * Records how much has arrived from the upstream. A mark never moves back. `null` if there is nothing to
 * record.
 */
export function mark(state: LedgerState, operation: Omit<Marked, 'kind'>): Marked | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const { id, at, inputTokens, outputTokens } = operation
  if (held.mark && outputTokens <= held.mark.outputTokens) return null
  return applied(state, { kind: 'marked', id, at, inputTokens, outputTokens })
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** What usage costs before what is available is known: the lower of both prices. */
export function costOfUsage({ price, factorPpm }: Hold, usage: Usage, otherPrice: Price | undefined): bigint {
  const cost = costOf(price, usage, factorPpm)
  return otherPrice ? smaller(costOf(otherPrice, usage, factorPpm), cost) : cost
}

/**
 * Ends a hold with its bill. A cost above the hold is charged to what is still available, and at most the cost of
 * `bound`; the rest is not charged and counts as overrun. `null` if the hold has already ended: nothing is charged twice.
 */
export function settle(
  state: LedgerState,
  operation: {
    id: string
    at: number
    usage: Usage
    bound?: Usage | undefined
    cause: SettleCause
    caps: Caps
    /** The price of a fallback model that answered in place of the requested one. Used if it costs less. */
    otherPrice?: Price
  },
): Settled | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const { id, at, usage, bound, cause, otherPrice } = operation
  const cost = costOfUsage(held, usage, otherPrice)
  const billed = bound ? smaller(cost, costOfUsage(held, bound, otherPrice)) : cost
  const isOther = otherPrice !== undefined && cost < costOf(held.price, usage, held.factorPpm)
  const maxCharge = held.amount + availableForHold(state, held, operation.caps)
  const charge = smaller(billed, maxCharge)
  const overrun = cost - charge
  const settled = { kind: 'settled', id, at, cause, usage, charge, overrun } as const
  return applied<Settled>(state, isOther ? { ...settled, price: otherPrice } : settled)
}

/**
 * Enters the bill of a hold that was charged when its node was retired: `charge` of what is unpaid, as far as it is
 * available now in the periods of the hold and nobody else holds it. The rest is overrun.
 */
export function settleLate(
  state: LedgerState,
  hold: Hold,
  bill: {
    readonly at: number
    readonly unpaid: bigint
    readonly maxCharge: bigint
    /** `null`: nothing may be charged. */
    readonly caps: Caps | null
  },
): Late {
  const { id, account, key, dayEnd, monthEnd } = hold
  const { at, unpaid, maxCharge, caps } = bill
  const available = caps ? availableForHold(state, hold, caps) : 0n
  const amount = maxCharge < available ? maxCharge : available
  const overrun = amount > 0n ? unpaid - amount : unpaid
  const charge = amount > 0n ? { amount, key, dayEnd, monthEnd } : undefined
  return applied(state, { kind: 'late', id, at, account, overrun, charge })
}

/** Ends a hold without a charge. `null` if it has already ended. */
export function release(state: LedgerState, operation: { id: string; at: number }): Released | null {
  if (!state.holds.has(operation.id)) return null
  return applied(state, { kind: 'released', ...operation })
}

/**
 * Ends the hold of a request whose relay is gone: charges it at its last mark, or releases it if nothing had
 * arrived. Tokens received beyond what the hold pays for were never delivered and are not charged. `null` if
 * it has already ended.
 */
export function expire(
  state: LedgerState,
  operation: { id: string; at: number; caps: Caps },
): Settled | Released | null {
  const held = state.holds.get(operation.id)
  if (!held?.mark) return release(state, { id: operation.id, at: operation.at })
  const usage: Usage = {
    input: held.mark.inputTokens,
    cachedInput: 0,
    cacheWrite: 0,
    output: Math.min(held.mark.outputTokens, held.outputTokens),
    reasoning: 0,
    ...(held.terms?.tier === undefined ? {} : { tier: held.terms.tier }),
  }
  return settle(state, { ...operation, usage, cause: 'mark' })
}

export interface CreditOperation {
  /** Identifies the credit permanently: it is entered once. */
  readonly id: string
  readonly at: number
  readonly account: string
  /** Nanos. A negative amount debits the account. */
  readonly amount: bigint
  readonly source: CreditKind
  readonly reason: string
}

/** The maximum balance, in nanos: four billion, which leaves headroom in the store's 64 bits. */
export const maxBalance = 4n * 10n ** 18n

/**
 * Credits or debits an account, never below what is held. `known`: already entered. `too-much`: the balance
 * does not cover the debit. `too-large`: the balance would exceed its maximum.
 */
export function credit(
  state: LedgerState,
  operation: CreditOperation,
  keepsOverrun = false,
): Credited | 'known' | 'too-much' | 'too-large' {
  // The journal keeps any text, but the columns of the entries only valid text; both must have the same.
  const [id, reason] = [toValidText(operation.id), toValidText(operation.reason)]
  if (state.credits.has(id)) return 'known'
  const owner = ownerOf(state, accountOwner(operation.account))
  const balance = owner.balance + operation.amount
  if (operation.amount < 0n && balance < owner.held) return 'too-much'
  if (balance > maxBalance) return 'too-large'
  const { kind, at, account, amount, source } = { kind: 'credited', ...operation } as const
  // Earlier releases restrict an account from an overrun until its next credit, and may run in the same cluster. What is
  // given back was the account's before: it restores the state exactly.
  const isNewMoney = amount > 0n && !isPayback(id)
  const endsOverrun = owner.overran && isNewMoney && !keepsOverrun ? true : undefined
  return applied(state, { kind, id, at, account, amount, source, reason, endsOverrun })
}
