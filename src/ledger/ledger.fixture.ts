/** A ledger with one or two accounts for tests of its rules, with short operations and invariant checks. */
import assert from 'node:assert/strict'
import type { Caps } from './caps.ts'
import type { IdempotencyClaim, LedgerEvent } from './events.ts'
import type { HoldOptions } from './holds.ts'
import { noUsage } from '../providers/usage.ts'
import type { Price, Usage } from './price.ts'
import { accountOwner, emptyState, keyOwner, ownerOf, type LedgerState, type Owner } from './state.ts'
import type { StoredOwner } from './checkpoint.ts'
import * as ledger from './operations.ts'
import { takeBack, type TakeBackOperation, type TakeBackResult } from './take-back.ts'

/** One nano per token, input and output. */
export const nanoPrice: Price = {
  version: 1,
  input: 1_000_000n,
  output: 1_000_000n,
  cachedInput: null,
  cacheWrite: null,
  reasoning: null,
  perRequest: 0n,
}

export const noCaps: Caps = {
  accountDay: null,
  accountMonth: null,
  keyDay: null,
  keyMonth: null,
  keyTotal: null,
  accountRequestsPerDay: null,
  keyRequestsPerDay: null,
}

/** A stream without a maximum at a nano per token, for a model with a window of 131,072 tokens. */
export const streamHold: HoldOptions = {
  price: nanoPrice,
  factorPpm: 1_000_000,
  inputTokens: 0,
  results: 1,
  requestedTokens: null,
  searches: 0,
  modelTokens: 131_072,
  maximum: 'obeyed',
  mode: 'stream',
}

export const nonStreamingHold: HoldOptions = { ...streamHold, mode: 'non-streaming' }

export function usageOf(input: number, output: number): Usage {
  return { ...noUsage, input, output }
}

export interface TestHoldOptions extends Partial<HoldOptions> {
  readonly at?: number
  readonly account?: string
  readonly key?: string
  readonly caps?: Partial<Caps>
  readonly claim?: IdempotencyClaim
  readonly dayEnd?: number
  readonly monthEnd?: number
}

export interface TestTakeBackOptions extends Partial<Pick<TakeBackOperation, 'account' | 'mode'>> {
  readonly payment?: bigint
  readonly bonus?: bigint
}

/** Periods that last beyond any test unless it sets others. */
const dayEnd = 86_400_000
const monthEnd = 30 * dayEnd

/** A ledger that records its events, so that a test can replay them. */
export class TestLedger {
  readonly state: LedgerState
  readonly events: LedgerEvent[] = []

  constructor(state: LedgerState = emptyState()) {
    this.state = state
  }

  #record<Decided extends LedgerEvent | null>(event: Decided): Decided {
    if (event) this.events.push(event)
    return event
  }

  credit(amount: bigint, id: string = `credit-${this.events.length}`, account = 'one'): LedgerEvent | string {
    const operation = { id, at: 0, account, amount, source: 'credit' as const, reason: 'a test' }
    const event = ledger.credit(this.state, operation)
    return typeof event === 'string' ? event : this.#record(event)
  }

  takeBack(id: string, options: TestTakeBackOptions): TakeBackResult {
    const { account = 'one', mode = 'available', payment = 0n, bonus = 0n } = options
    const parts = [
      { kind: 'bonus', amount: bonus },
      { kind: 'payment', amount: payment },
    ] as const
    const operation = { id, at: 1, account, parts, mode, reason: 'a refund' }
    const { events, result } = takeBack(this.state, operation)
    this.events.push(...events)
    return result
  }

  hold(id: string, options: TestHoldOptions = {}): ReturnType<typeof ledger.hold> {
    const { caps = {}, ...rest } = options
    const result = ledger.hold(this.state, {
      ...streamHold,
      id,
      at: 1,
      account: 'one',
      key: 'key',
      model: 'm',
      dayEnd,
      monthEnd,
      ...rest,
      caps: { ...noCaps, ...caps },
    })
    if ('event' in result) this.#record(result.event)
    return result
  }

  extend(id: string, remaining = 100_000, caps: Partial<Caps> = {}, searches = 0): number | null {
    const granted = ledger.extend(this.state, {
      id,
      at: 2,
      remaining,
      searches,
      caps: { ...noCaps, ...caps },
    })
    this.#record(granted)
    return granted?.outputTokens ?? null
  }

  mark(id: string, outputTokens: number, inputTokens = 0): LedgerEvent | null {
    return this.#record(ledger.mark(this.state, { id, at: 3, inputTokens, outputTokens }))
  }

  settle(
    id: string,
    usage: Usage,
    caps: Partial<Caps> = {},
    { otherPrice, bound }: { otherPrice?: Price; bound?: Usage } = {},
  ): { charge: bigint; overrun: bigint } | null {
    const at = { id, at: 4, cause: 'provider' as const }
    const operation = { ...at, usage, bound, caps: { ...noCaps, ...caps }, otherPrice }
    const settled = ledger.settle(this.state, operation)
    this.#record(settled)
    return settled && { charge: settled.charge, overrun: settled.overrun }
  }

  release(id: string): LedgerEvent | null {
    return this.#record(ledger.release(this.state, { id, at: 4 }))
  }

  expire(id: string): LedgerEvent | null {
    return this.#record(ledger.expire(this.state, { id, at: 5, caps: noCaps }))
  }

  account(id = 'one'): ReturnType<typeof ownerOf> {
    return ownerOf(this.state, accountOwner(id))
  }

  key(id = 'key'): ReturnType<typeof ownerOf> {
    return ownerOf(this.state, keyOwner(id))
  }
}

/** Invariants that hold after every operation. */
export function assertMoneyConserved(state: LedgerState): void {
  const held = new Map<string, bigint>()
  for (const hold of state.holds.values()) {
    for (const id of [accountOwner(hold.account), keyOwner(hold.key)]) {
      held.set(id, (held.get(id) ?? 0n) + hold.amount)
    }
  }
  for (const [id, owner] of state.owners) {
    assert.equal(owner.held, held.get(id) ?? 0n, `${id} holds the sum of its open holds`)
    if (id.startsWith('a:')) assert.ok(owner.balance >= owner.held, `${id} covers what it holds`)
  }
}

/** The part of an owner that its row stores. */
export function toStoredOwner(owner: Owner): StoredOwner {
  const { held: _held, dayHeld: _day, monthHeld: _month, past: _past, ...stored } = owner
  return stored
}
