/**
 * One simulated request: its caller, its worker and its upstream. Its operations and deliveries follow
 * src/relay/streaming/flow-control.ts and stream-pipeline.ts. It also records what only the upstream's meter
 * knows, for the checks.
 */
import type { StoredResponseRow } from '../src/db/ledger-commit.ts'
import type { Usage } from '../src/ledger/price.ts'
import { claimId } from '../src/ledger/state.ts'
import { createUsage, noUsage } from '../src/providers/usage.ts'
import { modelTokens } from './hold-operation.ts'
import type { Bug } from './bugs.ts'
import type { SimDisk } from './disk.ts'
import { billedUsage, boundOf, searchesIn, type RequestScript } from './request-script.ts'
import type { SimResponse, SimOperation, SimMessage } from './messages.ts'

const markLead = 64
const markEvery = 24
const extendAhead = 60

type EndReason = 'complete' | 'left' | 'failed' | 'money'

export class SimRequest {
  readonly id: string
  readonly worker: number
  readonly script: RequestScript
  readonly #send: (message: SimMessage) => void
  readonly #bug: Bug | null
  readonly #pending = new Map<number, SimMessage>()
  #nextCall = 1
  #phase: 'looking' | 'asking' | 'running' | 'ending' | 'over' = 'asking'
  /** The last commit after which it found no response for its key. */
  #seenCommit: number
  #holdCommit = Infinity
  #isHoldDurable = false
  #durableMark = 0
  #requestedMark = 0
  #marking: number | null = null
  #extending: number | null = null
  #searching: number | null = null
  wasSearchDenied = false
  /** Web searches that it knows to be held. */
  heldSearches: number
  /** The caller has disconnected before the first content; `usage` is what may be charged. */
  leftEarly: { readonly usage: Usage | null } | undefined
  #isExhausted = false
  /** Of a response that was received completely, or cut. */
  #finalUsage: Usage | null = null
  #paidTokens = 0
  /** The maximum of output tokens that left the relay. */
  #maxTokens: number
  /** A stream on a route that may ignore the maximum is cut after this many tokens. */
  #cutAfter = Infinity
  /** Tokens received from the upstream, and tokens delivered to the caller. */
  received = 0
  delivered = 0
  endReason: EndReason | null = null
  /** The usage with which it asked to be settled. */
  billed: Usage | null = null
  /** The caller knows that the request has ended. */
  isSettled = false
  /** The highest time of any clock when it last looked up its key. */
  lookedUpAt = 0
  /** The stored response of its key. */
  replayed: StoredResponseRow | null = null

  constructor(
    id: string,
    worker: number,
    script: RequestScript,
    deps: { send: (message: SimMessage) => void; seen: number; bug: Bug | null },
  ) {
    this.id = id
    this.worker = worker
    this.script = script
    this.#send = deps.send
    this.#bug = deps.bug
    this.#maxTokens = modelTokens
    this.heldSearches = script.options.searches
    this.#seenCommit = deps.seen
    if (script.claim) this.#phase = 'looking'
    else this.#sendOperation({ kind: 'hold', options: script.options })
  }

  get isOver(): boolean {
    return this.#phase === 'over'
  }

  /** Looks up its key on disk, and asks for its hold if there is no response. */
  lookUpResponse(disk: SimDisk, clock: { readonly now: number; readonly latest: number }): void {
    const { claim, options } = this.script
    if (this.#phase !== 'looking' || !claim) return
    this.lookedUpAt = clock.latest
    const stored = disk.storedResponse(claimId(options.account, claim), clock.now)
    if (stored) {
      this.replayed = stored
      // A late or repeated message may have made a hold.
      if (this.#nextCall > 1) this.#end('failed')
      else this.#phase = 'over'
      return
    }
    this.#phase = 'asking'
    this.#sendOperation({ kind: 'hold', options, claim: { ...claim, seenCommit: this.#seenCommit } })
  }

  /** The worker or the process has died. */
  abandon(): void {
    this.#phase = 'over'
  }

  #sendOperation(operation: SimOperation): number {
    const call = this.#nextCall++
    const message: SimMessage = { worker: this.worker, call, id: this.id, operation }
    this.#pending.set(call, message)
    this.#send(message)
    return call
  }

  /** Repeats operations without a response. */
  retry(): void {
    for (const message of this.#pending.values()) this.#send(message)
  }

  /** Tokens arrive from the upstream, or its stream ends. */
  receive(tokens: number): void {
    if (this.#phase !== 'running') return
    const { failsAt, leavesEarly, claim } = this.script
    if (leavesEarly && !claim && this.received === 0) return this.disconnect()
    const maxTokens = this.#maxReceived
    const upTo = Math.min(this.received + tokens, maxTokens, failsAt ?? Infinity)
    this.received = upTo
    if (failsAt !== null && upTo >= failsAt) return this.#end('failed')
    // The provider of a stream that is cut reports nothing.
    if (upTo >= maxTokens)
      this.#finalUsage =
        upTo === this.#cutAfter ? this.#estimatedUsage(upTo) : billedUsage(this.script, maxTokens)
    if (this.script.options.mode === 'non-streaming') {
      if (this.#finalUsage) this.#end('complete')
      return
    }
    this.#requestMarksAndExtensions()
    this.#deliver()
  }

  get #maxReceived(): number {
    const { output, obeys } = this.script
    return Math.min(output, obeys ? this.#maxTokens : modelTokens, this.#cutAfter)
  }

  /** The output tokens that it knows to be paid for. */
  get paidTokens(): number {
    return this.#paidTokens
  }

  /** The bill of the whole response, which a retired node has when it comes back. */
  billLate(): { readonly usage: Usage; readonly bound: Usage } {
    const usage = billedUsage(this.script, this.#maxReceived)
    return { usage, bound: boundOf(this.script, usage, Math.max(this.#maxTokens, this.#maxReceived)) }
  }

  /**
   * The caller disconnects. With a key the caller may repeat the request, so the response is read to its end.
   */
  disconnect(): void {
    if (this.#phase !== 'running' || this.script.claim) return
    const { hasBegun, options } = this.script
    if (options.mode === 'non-streaming' || this.received === 0)
      this.leftEarly = { usage: hasBegun ? { ...noUsage, input: options.inputTokens } : null }
    this.#end('left')
  }

  #requestMarksAndExtensions(): void {
    const { received } = this
    const isDue = this.#requestedMark === 0 || received - this.#requestedMark >= markEvery
    if (received > 0 && this.#marking === null && isDue) {
      this.#requestedMark = received
      this.#marking = this.#sendOperation({ kind: 'mark', input: this.script.input, output: received })
    }
    this.#holdNextSearch()
    const isShort = this.#paidTokens - received < extendAhead && this.#extending === null
    if (!isShort || this.#isExhausted) return
    const maxPaidTokens = this.script.obeys ? this.#maxTokens : modelTokens
    if (this.#paidTokens < maxPaidTokens)
      this.#extending = this.#sendOperation({
        kind: 'extend',
        remaining: maxPaidTokens - this.#paidTokens,
        searches: 0,
      })
    else if (received > this.#paidTokens) this.#isExhausted = true
  }

  /** The fee of the next search is held as soon as one appears. */
  #holdNextSearch(): void {
    const seen = searchesIn(this.script, this.received)
    const isDue = seen >= this.heldSearches && this.heldSearches < this.script.offered
    if (isDue && this.#searching === null)
      this.#searching = this.#sendOperation({ kind: 'extend', remaining: 1, searches: 1 })
  }

  #deliver(): void {
    if (this.#phase !== 'running') return
    if (this.#finalUsage) return this.#endOncePaid()
    if (!this.#isHoldDurable) return
    const lead = this.#bug === 'delivered past the mark' ? 100_000 : markLead
    const limit = Math.min(this.#durableMark + lead, this.#paidTokens)
    this.delivered = Math.max(this.delivered, Math.min(this.received, limit))
    if (this.#isExhausted && this.received > this.#paidTokens && this.delivered === this.#paidTokens)
      this.#end('money')
  }

  /** What was received faster than it was paid for is delivered as far as the money goes. */
  #endOncePaid(): void {
    if (this.received <= this.#paidTokens || this.#bug === 'delivered unpaid') this.#end('complete')
    else if (this.#isExhausted) this.#end('money')
  }

  #end(endReason: EndReason): void {
    this.endReason = endReason
    this.#phase = 'ending'
    const output = endReason === 'money' ? Math.min(this.received, this.#paidTokens) : this.received
    const hasContent = this.received > 0 && this.script.options.mode === 'stream'
    this.billed = this.#finalUsage ?? (hasContent ? this.#estimatedUsage(output) : null)
    const isComplete = endReason === 'complete' || endReason === 'money'
    const response = isComplete && this.billed ? Buffer.from(`${this.id} ${this.billed.output}`) : null
    this.#sendOperation({
      kind: 'settle',
      usage: this.billed,
      bound: this.bound,
      leftEarly: this.leftEarly,
      stored: this.script.claim && { response, isComplete },
    })
  }

  /** Searches that were seen and are held are part of what was received. */
  #estimatedUsage(output: number): Usage {
    const seen = Math.min(searchesIn(this.script, this.received), this.script.offered)
    const searches = this.endReason === 'money' ? Math.min(seen, this.heldSearches) : seen
    return createUsage({ input: this.script.input, output, searches })
  }

  /** The usage that is charged at most. */
  get bound(): Usage | null {
    if (!this.billed) return null
    const whole = boundOf(this.script, this.billed, Math.max(this.#maxTokens, this.received))
    if (this.endReason !== 'money') return whole
    return createUsage({ ...whole, output: Math.min(whole.output, this.received, this.#paidTokens) })
  }

  /** Handles a response. Responses to operations that are no longer pending are ignored. */
  onResponse(call: number, response: SimResponse): void {
    if (this.#phase === 'over' || (response.kind !== 'durable' && !this.#pending.delete(call))) return
    const { requestedTokens, maximum, mode } = this.script.options
    switch (response.kind) {
      case 'denied':
        // This may be a hold whose grant was lost: end it in any case.
        if (this.#phase === 'asking') this.#end('failed')
        return
      case 'retry after commit':
        this.#seenCommit = response.commit
        if (this.#phase === 'asking') this.#phase = 'looking'
        return
      case 'granted':
        this.#phase = 'running'
        this.#paidTokens = response.paidTokens
        this.#maxTokens = Math.min(response.maxTokens ?? modelTokens, requestedTokens ?? modelTokens)
        if (requestedTokens !== null && maximum !== 'obeyed' && mode === 'stream')
          this.#cutAfter = 2 * this.#maxTokens + 256
        this.#holdCommit = response.commit
        return
      case 'durable':
        if (response.commit >= this.#holdCommit) this.#isHoldDurable = true
        break
      case 'extended':
        if (this.#phase !== 'running') return
        if (call === this.#searching) {
          this.#searching = null
          if (response.paidTokens > 0) this.heldSearches += 1
          else if (!this.#finalUsage) {
            this.wasSearchDenied = true
            if (this.#bug !== 'searched on after a denial') return this.#end('money')
          }
          this.#paidTokens = Math.max(this.#paidTokens, response.paidTokens)
          break
        }
        if (call !== this.#extending) return
        this.#extending = null
        if (response.paidTokens > this.#paidTokens) this.#paidTokens = response.paidTokens
        else this.#isExhausted = true
        break
      case 'marked':
        if (call === this.#marking) {
          this.#marking = null
          this.#durableMark = this.#requestedMark
        }
        break
      case 'settled':
        this.#phase = 'over'
        this.isSettled = true
        if (this.endReason === 'complete') this.delivered = this.received
        else if (this.endReason === 'money') this.delivered = Math.min(this.received, this.#paidTokens)
        return
    }
    if (this.#phase !== 'running' || this.script.options.mode === 'non-streaming') return
    if (this.received > 0) this.#requestMarksAndExtensions()
    this.#deliver()
  }
}
