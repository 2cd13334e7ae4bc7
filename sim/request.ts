/**
 * One simulated request: its caller, its worker and its upstream. What it asks and when it delivers follows
 * src/relay/pace.ts and delivery.ts. It also keeps what only the upstream's own meter knows, for the checks.
 */
import type { KeptRow } from '../src/db/messages.ts'
import type { Claim } from '../src/ledger/events.ts'
import { noUsage, type Usage } from '../src/ledger/price.ts'
import { claimName } from '../src/ledger/state.ts'
import { modelTokens } from './authority.ts'
import type { Bug } from './bugs.ts'
import type { Disk } from './disk.ts'
import type { Answer, Ask, Letter, Terms } from './messages.ts'

const markLead = 64
const markEvery = 24
const extendAhead = 60

/** What the upstream will do. */
export interface Script {
  readonly terms: Terms
  /** What its provider will bill. */
  readonly input: number
  readonly output: number
  /** It fails after so many tokens. */
  readonly failsAt: number | null
  /** Its `Idempotency-Key`, which an earlier request may have had. */
  readonly claim: Claim | null
}

type Ending = 'complete' | 'left' | 'failed' | 'money'

export class SimRequest {
  readonly id: string
  readonly worker: number
  readonly script: Script
  readonly #send: (letter: Letter) => void
  readonly #bug: Bug | null
  readonly #pending = new Map<number, Letter>()
  #nextCall = 1
  #phase: 'looking' | 'asking' | 'running' | 'ending' | 'over' = 'asking'
  /** The last commit that it has looked at in vain for what its key came to. */
  #seen: number
  #holdCommit = Infinity
  #isHoldDurable = false
  #durableMark = 0
  #askedMark = 0
  #marking: number | null = null
  #extending: number | null = null
  #isExhausted = false
  #paid = 0
  #most: number
  /** Tokens that came from the upstream, and that went to the caller. */
  received = 0
  delivered = 0
  ending: Ending | null = null
  /** What it asked to be billed. */
  billed: Usage | null = null
  /** The caller has been told the end. */
  isTold = false
  /** The latest that any clock had been when it looked for its key last. */
  lookedAt = 0
  /** What its key had come to before. */
  replayed: KeptRow | null = null

  constructor(
    id: string,
    worker: number,
    script: Script,
    means: { send: (letter: Letter) => void; seen: number; bug: Bug | null },
  ) {
    this.id = id
    this.worker = worker
    this.script = script
    this.#send = means.send
    this.#bug = means.bug
    this.#most = modelTokens
    this.#seen = means.seen
    if (script.claim) this.#phase = 'looking'
    else this.#ask({ kind: 'hold', terms: script.terms })
  }

  get isOver(): boolean {
    return this.#phase === 'over'
  }

  get isRunning(): boolean {
    return this.#phase === 'running'
  }

  /** Reads on the disk what its key came to; asks for its hold where that is nothing. */
  look(disk: Disk, clock: { readonly now: number; readonly latest: number }): void {
    const { claim, terms } = this.script
    if (this.#phase !== 'looking' || !claim) return
    this.lookedAt = clock.latest
    const kept = disk.keptOf(claimName(terms.account, claim), clock.now)
    if (kept) {
      this.replayed = kept
      // An ask that came late, or twice, may have a hold.
      if (this.#nextCall > 1) this.#end('failed')
      else this.#phase = 'over'
      return
    }
    this.#phase = 'asking'
    this.#ask({ kind: 'hold', terms, claim: { ...claim, seen: this.#seen } })
  }

  /** The worker is gone, or the process. */
  lose(): void {
    this.#phase = 'over'
  }

  #ask(ask: Ask): number {
    const call = this.#nextCall++
    const letter: Letter = { worker: this.worker, call, id: this.id, ask }
    this.#pending.set(call, letter)
    this.#send(letter)
    return call
  }

  /** Asks again what has not been answered. */
  retry(): void {
    for (const letter of this.#pending.values()) this.#send(letter)
  }

  get isWaiting(): boolean {
    return this.#pending.size > 0
  }

  /** Some tokens come from the upstream, or its end. */
  receive(tokens: number): void {
    if (this.#phase !== 'running') return
    const { output, failsAt, input } = this.script
    const most = Math.min(output, this.#most)
    const upTo = Math.min(this.received + tokens, most, failsAt ?? Infinity)
    this.received = upTo
    if (failsAt !== null && upTo >= failsAt) return this.#end('failed')
    if (upTo >= most) return this.#end('complete', { ...noUsage, input, output: most })
    if (this.script.terms.manner === 'whole') return
    this.#keepPace()
    this.#deliver()
  }

  /** The caller leaves; for who may come back for it, the answer is read to its end. */
  leave(): void {
    if (this.#phase === 'running' && !this.script.claim) this.#end('left')
  }

  #keepPace(): void {
    const { received } = this
    const isDue = this.#askedMark === 0 || received - this.#askedMark >= markEvery
    if (received > 0 && this.#marking === null && isDue) {
      this.#askedMark = received
      this.#marking = this.#ask({ kind: 'mark', input: this.script.input, output: received })
    }
    const isShort = this.#paid - received < extendAhead && this.#paid < this.#most
    if (isShort && this.#extending === null && !this.#isExhausted) {
      this.#extending = this.#ask({ kind: 'extend', remaining: this.#most - this.#paid })
    }
  }

  #deliver(): void {
    if (this.#phase !== 'running' || !this.#isHoldDurable) return
    const lead = this.#bug === 'delivered past the mark' ? 100_000 : markLead
    const limit = Math.min(this.#durableMark + lead, this.#paid)
    this.delivered = Math.max(this.delivered, Math.min(this.received, limit))
    if (this.#isExhausted && this.received > this.#paid && this.delivered === this.#paid) this.#end('money')
  }

  #end(ending: Ending, told: Usage | null = null): void {
    this.ending = ending
    this.#phase = 'ending'
    const { input } = this.script
    const output = ending === 'money' ? this.delivered : this.received
    const hasContent = this.received > 0 && this.script.terms.manner === 'stream'
    this.billed = told ?? (hasContent ? { ...noUsage, input, output } : null)
    const isWhole = ending === 'complete' || ending === 'money'
    const answer = isWhole && this.billed ? Buffer.from(`${this.id} ${this.billed.output}`) : null
    this.#ask({ kind: 'settle', usage: this.billed, kept: this.script.claim && { answer, isWhole } })
  }

  /** An answer to a call; those to calls that are answered already change nothing. */
  answered(call: number, answer: Answer): void {
    if (this.#phase === 'over' || (answer.kind !== 'durable' && !this.#pending.delete(call))) return
    switch (answer.kind) {
      case 'refused':
        // It may be a hold whose grant got lost: ended, whatever it is.
        if (this.#phase === 'asking') this.#end('failed')
        return
      case 'look again':
        this.#seen = answer.commit
        if (this.#phase === 'asking') this.#phase = 'looking'
        return
      case 'granted':
        this.#phase = 'running'
        this.#paid = answer.paid
        this.#most = answer.most ?? modelTokens
        this.#holdCommit = answer.commit
        return
      case 'durable':
        if (answer.commit >= this.#holdCommit) this.#isHoldDurable = true
        break
      case 'extended':
        if (call !== this.#extending) return
        this.#extending = null
        if (answer.paid > this.#paid) this.#paid = answer.paid
        else this.#isExhausted = true
        break
      case 'marked':
        if (call === this.#marking) {
          this.#marking = null
          this.#durableMark = this.#askedMark
        }
        break
      case 'settled':
        this.#phase = 'over'
        this.isTold = true
        if (this.ending === 'complete') this.delivered = this.received
        return
    }
    if (this.#phase !== 'running' || this.script.terms.manner === 'whole') return
    if (this.received > 0) this.#keepPace()
    this.#deliver()
  }
}
