/**
 * How far a stream may be delivered: no further than is paid for, and no more than 64 tokens past what a crash would
 * be settled at. Marks and extensions are asked for ahead of need, so that in practice no event waits for them.
 */
import type { Bookkeeper } from './ledger-client.ts'

/** An event goes out while what is delivered is no more than this many tokens past the durable mark. */
const markLead = 64
/** So many tokens after the last mark the next one is sent: early enough that no event waits for it. */
const markEvery = 24
/** An extension is asked for while no more than this many paid tokens are left, or half of the last chunk. */
const extendAhead = 512

export interface PaceTerms {
  readonly id: string
  /** The estimate of the input, for the first mark. */
  readonly inputTokens: () => number
  /** The most output tokens that the answer may have, over all results. */
  readonly mostTokens: number
}

export interface PaceListener {
  /** More may go out, or it is known that nothing more will be paid. */
  onPace(): void
  /** The store does not take commits. */
  onStoreFailed(): void
}

export class Pace {
  readonly #bookkeeper: Bookkeeper
  readonly #terms: PaceTerms
  readonly #listener: PaceListener
  #isHoldDurable: boolean
  #durableMark = 0
  #askedMark = 0
  #received = 0
  #isMarking = false
  #isExtending = false
  /** The tokens of the last chunk: small where the account is poor, and others need what is left. */
  #chunk: number
  /** An extension was refused ahead of need: what others release meanwhile may still pay for it. */
  #isShort = false
  #isStopped = false
  /** Output tokens that are paid for, durably. */
  paid: number
  /** Nothing more can be paid. */
  isExhausted = false

  constructor(
    bookkeeper: Bookkeeper,
    hold: { readonly commit: number; readonly outputTokens: number },
    terms: PaceTerms,
    listener: PaceListener,
  ) {
    this.#bookkeeper = bookkeeper
    this.#terms = terms
    this.#listener = listener
    this.paid = hold.outputTokens
    this.#chunk = hold.outputTokens
    this.#isHoldDurable = bookkeeper.isDurable(hold.commit)
    if (this.#isHoldDurable) return
    this.#when(bookkeeper.durable(hold.commit), () => {
      this.#isHoldDurable = true
    })
  }

  /** Events up to this many output tokens may go out. */
  get limit(): number {
    return this.#isHoldDurable ? Math.min(this.#durableMark + markLead, this.paid) : -1
  }

  /** So many output tokens have come. */
  receive(tokens: number): void {
    this.#received = tokens
    if (tokens > 0 && !this.#isMarking && (this.#askedMark === 0 || tokens - this.#askedMark >= markEvery)) {
      this.#mark(tokens)
    }
    if (this.paid - tokens < this.#ahead) this.#extend()
  }

  get #ahead(): number {
    return this.#isAtMost || this.#isShort ? 0 : Math.min(extendAhead, Math.floor(this.#chunk / 2))
  }

  /** The answer's maximum is paid for; more comes only where the estimate counts more than the provider does. */
  get #isAtMost(): boolean {
    return this.paid >= this.#terms.mostTokens
  }

  /** Nothing more is asked for. */
  stop(): void {
    this.#isStopped = true
  }

  #mark(tokens: number): void {
    this.#isMarking = true
    this.#askedMark = tokens
    this.#when(this.#bookkeeper.mark(this.#terms.id, this.#terms.inputTokens(), tokens), () => {
      this.#isMarking = false
      this.#durableMark = tokens
      if (this.#received - tokens >= markEvery) this.#mark(this.#received)
    })
  }

  #extend(): void {
    if (this.#isExtending || this.isExhausted) return
    this.#isExtending = true
    const isNeeded = this.#received > this.paid
    const remaining = this.#isAtMost ? extendAhead : this.#terms.mostTokens - this.paid
    this.#when(this.#bookkeeper.extend(this.#terms.id, remaining), (outputTokens) => {
      this.#isExtending = false
      this.#isShort = outputTokens <= this.paid
      if (!this.#isShort) this.#chunk = outputTokens - this.paid
      this.isExhausted = this.#isShort && isNeeded
      this.paid = Math.max(this.paid, outputTokens)
      this.receive(this.#received)
    })
  }

  #when<Result>(asked: Promise<Result>, then: (result: Result) => void): void {
    asked.then(
      (result) => {
        if (this.#isStopped) return
        then(result)
        this.#listener.onPace()
      },
      () => this.#listener.onStoreFailed(),
    )
  }
}
