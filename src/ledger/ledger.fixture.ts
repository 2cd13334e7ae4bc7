/** A ledger with an account or two, for tests of its rules: short ways to ask it for things, and what must always hold. */
import assert from 'node:assert/strict'
import type { Caps } from './caps.ts'
import type { Claim, LedgerEvent } from './events.ts'
import type { Terms } from './holds.ts'
import { noUsage, type Price, type Usage } from './price.ts'
import { accountOwner, emptyState, keyOwner, ownerOf, type LedgerState } from './state.ts'
import * as ledger from './operations.ts'

/** One nano-yuan a token, both ways. */
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

/** A stream of a model with a window of 131,072, without a maximum, at a nano a token. */
export const stream: Terms = {
  price: nanoPrice,
  factorPpm: 1_000_000,
  inputTokens: 0,
  results: 1,
  askedTokens: null,
  modelTokens: 131_072,
  manner: 'stream',
}

export const whole: Terms = { ...stream, manner: 'whole' }

export function usageOf(input: number, output: number): Usage {
  return { ...noUsage, input, output }
}

export interface Asked extends Partial<Terms> {
  readonly at?: number
  readonly account?: string
  readonly key?: string
  readonly caps?: Partial<Caps>
  readonly claim?: Claim
  readonly dayEnd?: number
  readonly monthEnd?: number
}

/** Periods that no test reaches the end of, unless it wants to. */
const dayEnd = 86_400_000
const monthEnd = 30 * dayEnd

/** A ledger whose decisions are kept, so that a test can replay them. */
export class TestLedger {
  readonly state: LedgerState
  readonly events: LedgerEvent[] = []

  constructor(state: LedgerState = emptyState()) {
    this.state = state
  }

  #kept<Decided extends LedgerEvent | null>(event: Decided): Decided {
    if (event) this.events.push(event)
    return event
  }

  credit(amount: bigint, id: string = `credit-${this.events.length}`, account = 'one'): LedgerEvent | string {
    const operation = { id, at: 0, account, amount, source: 'credit' as const, reason: 'a test' }
    const event = ledger.credit(this.state, operation)
    return typeof event === 'string' ? event : this.#kept(event)
  }

  hold(id: string, asked: Asked = {}): ReturnType<typeof ledger.hold> {
    const { caps = {}, ...rest } = asked
    const answer = ledger.hold(this.state, {
      ...stream,
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
    if ('event' in answer) this.#kept(answer.event)
    return answer
  }

  extend(id: string, remaining = 100_000, caps: Partial<Caps> = {}): number | null {
    const granted = ledger.extend(this.state, { id, at: 2, remaining, caps: { ...noCaps, ...caps } })
    this.#kept(granted?.event ?? null)
    return granted?.outputTokens ?? null
  }

  mark(id: string, outputTokens: number, inputTokens = 0): LedgerEvent | null {
    return this.#kept(ledger.mark(this.state, { id, at: 3, inputTokens, outputTokens }))
  }

  settle(
    id: string,
    usage: Usage,
    caps: Partial<Caps> = {},
    otherPrice?: Price,
  ): { charge: bigint; overrun: bigint } | null {
    const at = { id, at: 4, cause: 'provider' as const }
    const operation = { ...at, usage, caps: { ...noCaps, ...caps }, otherPrice }
    const settled = ledger.settle(this.state, operation)
    this.#kept(settled?.event ?? null)
    return settled && { charge: settled.charge, overrun: settled.overrun }
  }

  release(id: string): LedgerEvent | null {
    return this.#kept(ledger.release(this.state, { id, at: 4 }))
  }

  expire(id: string): LedgerEvent | null {
    return this.#kept(ledger.expire(this.state, { id, at: 5, caps: noCaps }))
  }

  account(id = 'one'): ReturnType<typeof ownerOf> {
    return ownerOf(this.state, accountOwner(id))
  }

  key(id = 'key'): ReturnType<typeof ownerOf> {
    return ownerOf(this.state, keyOwner(id))
  }
}

/** What holds after every operation, whatever it was. */
export function assertConserved(state: LedgerState): void {
  const held = new Map<string, bigint>()
  for (const hold of state.holds.values()) {
    for (const id of [accountOwner(hold.account), keyOwner(hold.key)]) {
      held.set(id, (held.get(id) ?? 0n) + hold.amount)
    }
  }
  for (const [id, owner] of state.owners) {
    assert.equal(owner.held, held.get(id) ?? 0n, `${id} holds what its open holds hold`)
    if (id.startsWith('a:')) assert.ok(owner.balance >= owner.held, `${id} has what it holds`)
  }
}
