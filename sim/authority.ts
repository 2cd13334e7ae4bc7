/**
 * The authority of the simulated node: the real reducer over the real journal format, with a group commit of which the
 * simulator says when it is written. What it answers, and when, follows src/server/authority.ts and its commit queue.
 */
import { accountOwner, keyOwner, ownerOf, type Hold, type LedgerState } from '../src/ledger/state.ts'
import type { KeptRow } from '../src/db/messages.ts'
import { availableOf, type Caps } from '../src/ledger/caps.ts'
import { apply } from '../src/ledger/apply.ts'
import type { Held, LedgerEvent } from '../src/ledger/events.ts'
import { sizeOfHold } from '../src/ledger/holds.ts'
import * as ledger from '../src/ledger/operations.ts'
import { Claims } from '../src/server/claims.ts'
import type { Bug } from './bugs.ts'
import { commitOf, type Commit, type Disk } from './disk.ts'
import type { Answer, Kept, Letter, Reply, Terms } from './messages.ts'

export const dayMs = 600_000
export const monthMs = 4 * dayMs
/** The most a model of the simulation writes. */
export const modelTokens = 4000
const timeOutMs = 200_000

export interface AuthorityParts {
  readonly disk: Disk
  readonly now: () => number
  /** Of a clock that never goes back. */
  readonly steady: () => number
  readonly capsOf: (account: string, key: string) => Caps
  /** Sends a reply on its way. */
  readonly send: (reply: Reply) => void
  readonly onEvent: (event: LedgerEvent) => void
  readonly bug: Bug | null
}

interface Waiting {
  readonly commit: number
  readonly reply: Reply
}

/** A hold that was checked and not yet made; only with a bug. */
interface Checked {
  readonly letter: Letter
  readonly terms: Terms
  readonly available: bigint
}

export class SimAuthority {
  readonly state: LedgerState
  readonly #parts: AuthorityParts
  /** Which worker has which requests open. */
  readonly #open = new Map<string, number>()
  #events: LedgerEvent[] = []
  #kept: KeptRow[] = []
  readonly #claims: Claims
  #writing: Commit | null = null
  #next: number
  #durable: number
  #waiting: Waiting[] = []
  #checked: Checked[] = []

  constructor(parts: AuthorityParts) {
    this.#parts = parts
    this.state = parts.disk.restored()
    this.#durable = parts.disk.lastSeq
    this.#next = this.#durable + 1
    this.#claims = new Claims({ state: this.state, commits: this, steady: parts.steady })
  }

  /** Ends what an earlier process had left open. */
  begin(): void {
    for (const id of this.state.holds.keys()) this.#end(id)
    while (this.canWrite || this.isWriting) {
      if (this.isWriting) this.finishWrite()
      else this.startWrite()
    }
  }

  credit(id: string, account: string, amount: bigint): number {
    const at = this.#parts.now()
    const event = ledger.credit(this.state, { id, at, account, amount, source: 'credit', reason: 'sim' })
    if (typeof event !== 'string') this.#record(event)
    return this.newest
  }

  addKept(row: KeptRow): number {
    this.#kept.push(row)
    return this.#next
  }

  get durable(): number {
    return this.#durable
  }

  get canWrite(): boolean {
    return this.#writing === null && this.#events.length > 0
  }

  get isWriting(): boolean {
    return this.#writing !== null
  }

  /** What the store is writing; a crash may find it written or not. */
  get written(): Commit | null {
    return this.#writing
  }

  startWrite(): void {
    this.#writing = commitOf(this.#next, { events: this.#events, kept: this.#kept }, this.state)
    this.#events = []
    this.#kept = []
    this.#next += 1
  }

  finishWrite(): void {
    const commit = this.#writing
    if (!commit) return
    this.#writing = null
    this.#parts.disk.write(commit)
    this.#durable = commit.seq
    const ready = this.#waiting.filter((waiting) => waiting.commit <= commit.seq)
    this.#waiting = this.#waiting.filter((waiting) => waiting.commit > commit.seq)
    for (const { reply } of ready) this.#parts.send(reply)
    for (const worker of new Set(this.#open.values())) {
      this.#parts.send({ worker, call: -1, id: '', answer: { kind: 'durable', commit: commit.seq } })
    }
  }

  /** A worker is gone: its requests end at their last marks. */
  workerGone(worker: number): void {
    this.#waiting = this.#waiting.filter(({ reply }) => reply.worker !== worker)
    for (const [id, owner] of this.#open) if (owner === worker) this.#end(id)
  }

  take(letter: Letter): void {
    const { id, ask } = letter
    const at = this.#parts.now()
    if (ask.kind === 'hold') return this.#hold(letter, ask)
    const held = this.state.holds.get(id)
    const caps = held ? this.#parts.capsOf(held.account, held.key) : null
    if (ask.kind === 'mark') {
      const event = ledger.mark(this.state, { id, at, inputTokens: ask.input, outputTokens: ask.output })
      if (event) this.#record(event)
      return this.#answer(letter, { kind: 'marked' })
    }
    if (ask.kind === 'extend') {
      const granted = caps && ledger.extend(this.state, { id, at, remaining: ask.remaining, caps })
      if (granted) this.#record(granted.event)
      return this.#answer(letter, { kind: 'extended', paid: this.state.holds.get(id)?.outputTokens ?? 0 })
    }
    this.#settle(letter, ask)
  }

  /** With a bug: makes a hold that was checked before, or ends what has been held for long. */
  misbehave(): void {
    const checked = this.#checked.shift()
    if (checked) this.#act(checked)
    if (this.#parts.bug !== 'reclaimed by time-out') return
    const at = this.#parts.now()
    for (const hold of this.state.holds.values()) {
      if (at - hold.at < timeOutMs) continue
      const event = ledger.release(this.state, { id: hold.id, at })
      if (event) this.#record(event)
    }
  }

  #hold(letter: Letter, { terms, claim }: Extract<Letter['ask'], { kind: 'hold' }>): void {
    const { account, key } = terms
    const denial = claim ? this.#claims.denial(account, claim) : null
    if (denial) {
      const { lookAgain: commit } = denial
      if (commit === undefined) this.#parts.send({ ...letter, answer: { kind: 'refused' } })
      else this.#answer(letter, { kind: 'look again', commit }, commit)
      return
    }
    const caps = this.#parts.capsOf(account, key)
    if (this.#parts.bug === 'check-then-act' && !this.state.holds.has(letter.id)) {
      const owner = ownerOf(this.state, accountOwner(account))
      const available = availableOf(owner, ownerOf(this.state, keyOwner(key)), caps)
      this.#checked.push({ letter, terms, available })
      return
    }
    const claimed = claim && { key: claim.key, body: claim.body }
    const answer = ledger.hold(this.state, { ...this.#operation(letter.id, terms), caps, claim: claimed })
    if (!('event' in answer)) {
      this.#parts.send({ ...letter, answer: { kind: 'refused' } })
      return
    }
    this.#open.set(letter.id, letter.worker)
    this.#record(answer.event)
    const { outputTokens: paid, maximumTokens: most } = answer
    this.#parts.send({ ...letter, answer: { kind: 'granted', paid, most, commit: this.#next } })
  }

  #operation(id: string, terms: Terms): Omit<ledger.HoldOperation, 'caps'> {
    const at = this.#parts.now()
    const dayEnd = (Math.floor(at / dayMs) + 1) * dayMs
    const monthEnd = (Math.floor(at / monthMs) + 1) * monthMs
    return { ...terms, id, at, model: 'm', results: 1, askedTokens: null, modelTokens, dayEnd, monthEnd }
  }

  #act({ letter, terms, available }: Checked): void {
    const operation = this.#operation(letter.id, terms)
    const size = sizeOfHold(operation, available)
    if (!size || this.state.holds.has(letter.id)) {
      this.#parts.send({ ...letter, answer: { kind: 'refused' } })
      return
    }
    const { id, at, account, key, model, price, factorPpm, inputTokens, dayEnd, monthEnd } = operation
    const terms2 = { id, at, account, key, model, price, factorPpm, inputTokens, dayEnd, monthEnd }
    const event: Held = { kind: 'held', ...terms2, amount: size.amount, outputTokens: size.outputTokens }
    apply(this.state, event)
    this.#open.set(letter.id, letter.worker)
    this.#record(event)
    const { outputTokens: paid, maximumTokens: most } = size
    this.#parts.send({ ...letter, answer: { kind: 'granted', paid, most, commit: this.#next } })
  }

  /** What was charged, or told whole, is kept under its key. */
  #keep(held: Hold, event: LedgerEvent | null | undefined, kept: Kept | null): void {
    if (!held.claim || event?.kind !== 'settled' || (event.charge === 0n && kept?.isWhole !== true)) return
    this.#claims.keep(held, held.claim, event.charge, kept?.answer ?? null)
  }

  #settle(letter: Letter, { usage, kept }: Extract<Letter['ask'], { kind: 'settle' }>): void {
    const { id } = letter
    const at = this.#parts.now()
    const held = this.state.holds.get(id)
    this.#open.delete(id)
    const { bug } = this.#parts
    if (held) {
      const caps = this.#parts.capsOf(held.account, held.key)
      const account = ownerOf(this.state, accountOwner(held.account))
      if (bug === 'cap by the wall clock' && account.dayEnd !== held.dayEnd) {
        account.dayHeld += held.amount
        Object.assign(held, { dayEnd: account.dayEnd })
      }
      const event = usage
        ? ledger.settle(this.state, { id, at, usage, cause: 'provider', caps })?.event
        : ledger.release(this.state, { id, at })
      if (event) this.#record(event)
      this.#keep(held, event, kept)
    } else if (bug === 'not idempotent' && usage) {
      const account = ownerOf(this.state, accountOwner('a0'))
      account.balance -= BigInt(usage.input + usage.output)
    }
    if (bug === 'told before durable') this.#parts.send({ ...letter, answer: { kind: 'settled' } })
    else this.#answer(letter, { kind: 'settled' })
  }

  #end(id: string): void {
    const held = this.state.holds.get(id)
    this.#open.delete(id)
    if (!held) return
    const at = this.#parts.now()
    const caps = this.#parts.capsOf(held.account, held.key)
    const event =
      this.#parts.bug === 'refunded on a crash'
        ? ledger.release(this.state, { id, at })
        : ledger.expire(this.state, { id, at, caps })
    if (event) this.#record(event)
    if (this.#parts.bug !== 'claim forgotten at a crash') this.#keep(held, event, null)
  }

  get newest(): number {
    return this.#events.length > 0 ? this.#next : this.#next - 1
  }

  #record(event: LedgerEvent): void {
    this.#events.push(event)
    this.#parts.onEvent(event)
  }

  /** Answers once a commit is on disk: that of everything decided so far, unless another is named. */
  #answer(letter: Letter, answer: Answer, commit = this.newest): void {
    const reply: Reply = { worker: letter.worker, call: letter.call, id: letter.id, answer }
    if (commit <= this.#durable) this.#parts.send(reply)
    else this.#waiting.push({ commit, reply })
  }
}
