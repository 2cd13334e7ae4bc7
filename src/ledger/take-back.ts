/**
 * Takes money back that a payment brought, with its bonus: for a refund, or because the provider has taken it. Held money
 * is not touched. What was taken is answered by its entries, so a repetition takes nothing more.
 */
import type { Credited } from './events.ts'
import { paybackIds, type PaybackKind } from './payback-ids.ts'
import { accountOwner, ownerOf, type LedgerState } from './state.ts'
import { credit } from './operations.ts'

export interface TakeBackPart {
  readonly kind: PaybackKind
  /** Nanos; taken only if it is positive. */
  readonly amount: bigint
}

export interface TakeBackOperation {
  /** Of the refund or the dispute. Identifies the entries permanently. */
  readonly id: string
  readonly at: number
  readonly account: string
  readonly parts: readonly TakeBackPart[]
  /** `all`: everything or nothing. `available`: as much as is free, first of the payment, then of the bonus. */
  readonly mode: 'all' | 'available'
  readonly reason: string
}

/** Nanos. `free`: what is not held. */
export type TakeBackResult =
  | { readonly kind: 'taken'; readonly payment: bigint; readonly bonus: bigint; readonly balance: bigint }
  | { readonly kind: 'too-much'; readonly free: bigint }

export interface TakenBack {
  /** The entries that take money back now. None if it is too much, or was taken before. */
  readonly events: readonly Credited[]
  readonly result: TakeBackResult
}

function amountOf(parts: readonly TakeBackPart[], kind: PaybackKind): bigint {
  return parts.reduce((sum, part) => (part.kind === kind && part.amount > 0n ? sum + part.amount : sum), 0n)
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** Takes the parts, or says how much is free. */
export function takeBack(state: LedgerState, operation: TakeBackOperation): TakenBack {
  const { id, at, account, parts, mode, reason } = operation
  const ids = paybackIds(id)
  const owner = ownerOf(state, accountOwner(account))
  const known = { payment: state.credits.get(ids.payment), bonus: state.credits.get(ids.bonus) }
  if (known.payment !== undefined || known.bonus !== undefined) {
    const taken = { payment: -(known.payment ?? 0n), bonus: -(known.bonus ?? 0n) }
    return { events: [], result: { kind: 'taken', ...taken, balance: owner.balance } }
  }
  const free = owner.balance - owner.held
  const wanted = { payment: amountOf(parts, 'payment'), bonus: amountOf(parts, 'bonus') }
  if (mode === 'all' && wanted.payment + wanted.bonus > free)
    return { events: [], result: { kind: 'too-much', free } }
  const payment = smaller(wanted.payment, free)
  const bonus = smaller(wanted.bonus, free - payment)
  const events: Credited[] = []
  for (const [source, amount] of Object.entries({ payment, bonus }) as [PaybackKind, bigint][]) {
    // An entry of 0 records that nothing was free: a repetition must not take what has come since.
    if (amount === 0n && (source === 'bonus' || bonus > 0n)) continue
    const event = credit(state, { id: ids[source], at, account, amount: -amount, source, reason })
    if (typeof event !== 'string') events.push(event)
  }
  const { balance } = ownerOf(state, accountOwner(account))
  return { events, result: { kind: 'taken', payment, bonus, balance } }
}
