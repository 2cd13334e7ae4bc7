/**
 * The ledger's rules: an operation and the state in, a decision out. Pure: no clock, no chance, no I/O;
 * the operation brings its time. A decision that changes money is an event, which `apply` has then taken in;
 * asking for the same thing again finds it done.
 */
import { apply } from './apply.ts'
import { availableOf, denialOf, ownerIn, periodsOf, roomOfHold, roomsOf } from './caps.ts'
import type { Caps, Denial, Periods } from './caps.ts'
import type { Claim, CreditKind, LedgerEvent, SettleCause } from './events.ts'
import { ceilingOf, costOf, type Price, type Usage } from './price.ts'
import { sizeOfExtension, sizeOfHold, type Terms } from './holds.ts'
import { accountOwner, claimName, keyOwner, modelOwner, ownerOf, type LedgerState } from './state.ts'

export interface HoldOperation extends Terms, Periods {
  readonly id: string
  readonly at: number
  readonly account: string
  readonly key: string
  readonly model: string
  readonly caps: Caps
  /** The `Idempotency-Key` that goes with it, in the same step. */
  readonly claim?: Claim | undefined
}

export interface Granted {
  readonly event: LedgerEvent
  readonly outputTokens: number
  readonly maximumTokens: number | null
}

/** Sets money aside for a request, or says which limit forbids it. */
export function hold(state: LedgerState, operation: HoldOperation): Granted | Denial {
  if (state.holds.has(operation.id) || state.ended.has(operation.id)) return { kind: 'known' }
  const { caps, claim } = operation
  if (claim && state.claims.has(claimName(operation.account, claim))) return { kind: 'known' }
  const known = ownerOf(state, accountOwner(operation.account))
  const periods = periodsOf(known, operation.at, operation)
  const account = ownerIn(known, periods, 0n)
  const key = ownerIn(ownerOf(state, keyOwner(operation.key)), periods, 0n)
  const inputTokens = account.overran ? operation.inputTokens * 2 : operation.inputTokens
  const terms = inputTokens === operation.inputTokens ? operation : { ...operation, inputTokens }
  const size = sizeOfHold(terms, availableOf(account, key, caps))
  if (size === null) return denialOf(terms, roomsOf(account, key, caps), periods)
  if (caps.accountRequestsPerDay !== null && account.dayRequests >= caps.accountRequestsPerDay) {
    return { kind: 'requests-per-day', of: 'account', resumesAt: periods.dayEnd }
  }
  if (caps.keyRequestsPerDay !== null && key.dayRequests >= caps.keyRequestsPerDay) {
    return { kind: 'requests-per-day', of: 'key', resumesAt: periods.dayEnd }
  }
  const modelMost = caps.modelRequestsPerDay ?? null
  if (modelMost !== null) {
    const model = ownerOf(state, modelOwner(operation.account, operation.model))
    if (ownerIn(model, periods, 0n).dayRequests >= modelMost)
      return { kind: 'requests-per-day', of: 'model', resumesAt: periods.dayEnd }
  }
  const event: LedgerEvent = {
    kind: 'held',
    id: operation.id,
    at: operation.at,
    account: operation.account,
    key: operation.key,
    model: operation.model,
    amount: size.amount,
    price: operation.price,
    factorPpm: operation.factorPpm,
    inputTokens,
    outputTokens: size.outputTokens,
    ...periods,
    claim,
    countsForModel: modelMost === null ? undefined : true,
  }
  apply(state, event)
  return { event, outputTokens: size.outputTokens, maximumTokens: size.maximumTokens }
}

/**
 * Sets aside what the next tokens of a stream cost. `remaining`: output tokens it may still write.
 * `null` when nothing useful can be paid, or the hold has ended.
 */
export function extend(
  state: LedgerState,
  operation: { id: string; at: number; remaining: number; caps: Caps },
): Granted | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const terms: Terms = {
    ...held,
    results: 1,
    askedTokens: null,
    modelTokens: operation.remaining,
    manner: 'stream',
  }
  const tokens = sizeOfExtension(terms, roomOfHold(state, held, operation.caps), operation.remaining)
  if (tokens === 0) return null
  const outputTokens = held.outputTokens + tokens
  const amount = ceilingOf(held.price, held.inputTokens, outputTokens, held.factorPpm) - held.amount
  const event: LedgerEvent = { kind: 'extended', id: held.id, at: operation.at, amount, outputTokens }
  apply(state, event)
  return { event, outputTokens, maximumTokens: null }
}

/** Notes how much has come from the upstream. A mark never goes back; `null` when there is nothing to note. */
export function mark(
  state: LedgerState,
  operation: { id: string; at: number; inputTokens: number; outputTokens: number },
): LedgerEvent | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  if (held.mark && operation.outputTokens <= held.mark.outputTokens) return null
  const event: LedgerEvent = { kind: 'marked', ...operation }
  apply(state, event)
  return event
}

export interface Settlement {
  readonly event: LedgerEvent
  readonly charge: bigint
  readonly overrun: bigint
}

/**
 * Ends a hold with its bill. Above the hold, the rest is taken from what is available; what is not there is
 * not charged, and counts as overrun. `null` when the hold has ended before: nothing is charged twice.
 */
export function settle(
  state: LedgerState,
  operation: {
    id: string
    at: number
    usage: Usage
    cause: SettleCause
    caps: Caps
    /** Of a model that answered in the place of the one that was asked for: charged where it is the lower one. */
    otherPrice?: Price
  },
): Settlement | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const { id, at, usage, cause, otherPrice } = operation
  const own = costOf(held.price, usage, held.factorPpm)
  const other = otherPrice ? costOf(otherPrice, usage, held.factorPpm) : own
  const isLower = other < own
  const cost = isLower ? other : own
  const most = held.amount + roomOfHold(state, held, operation.caps)
  const charge = cost <= most ? cost : most
  const overrun = cost - charge
  const settled = { kind: 'settled', id, at, cause, usage, charge, overrun } as const
  const event: LedgerEvent = isLower ? { ...settled, price: otherPrice } : settled
  apply(state, event)
  return { event, charge, overrun }
}

/** Ends a hold that costs nothing; `null` when it has ended before. */
export function release(state: LedgerState, operation: { id: string; at: number }): LedgerEvent | null {
  if (!state.holds.has(operation.id)) return null
  const event: LedgerEvent = { kind: 'released', ...operation }
  apply(state, event)
  return event
}

/**
 * Ends the hold of a request whose relay is gone: charged at its last watermark, or released when nothing had
 * come. Received beyond what was paid for never went out, and is not charged. `null` when it has ended before.
 */
export function expire(
  state: LedgerState,
  operation: { id: string; at: number; caps: Caps },
): LedgerEvent | null {
  const held = state.holds.get(operation.id)
  if (!held?.mark) return release(state, { id: operation.id, at: operation.at })
  const usage: Usage = {
    input: held.mark.inputTokens,
    cachedInput: 0,
    cacheWrite: 0,
    output: Math.min(held.mark.outputTokens, held.outputTokens),
    reasoning: 0,
  }
  return settle(state, { ...operation, usage, cause: 'mark' })?.event ?? null
}

export interface CreditOperation {
  /** Names the credit for good: the same one is entered once. */
  readonly id: string
  readonly at: number
  readonly account: string
  /** Nanos; negative takes back. */
  readonly amount: bigint
  readonly source: CreditKind
  readonly reason: string
}

/** A balance that fits the store's 64 bits with room to spare, in nanos: four thousand million yuan. */
const balanceMost = 4n * 10n ** 18n

/**
 * Enters money, or takes it back, never below what is held. `known`: entered before. `too-much`: it is not there.
 * `too-large`: no balance may be so high.
 */
export function credit(
  state: LedgerState,
  operation: CreditOperation,
): LedgerEvent | 'known' | 'too-much' | 'too-large' {
  if (state.credits.has(operation.id)) return 'known'
  const owner = ownerOf(state, accountOwner(operation.account))
  const balance = owner.balance + operation.amount
  if (operation.amount < 0n && balance < owner.held) return 'too-much'
  if (balance > balanceMost) return 'too-large'
  const event: LedgerEvent = { kind: 'credited', ...operation }
  apply(state, event)
  return event
}
