/**
 * Flow control of a stream: it may be sent no further than is paid for, and at most 64 tokens past the durable mark at
 * which a crash would be settled. Marks and extensions are requested early, so that in practice no event waits.
 */
import { maxOutputTokensOf } from '../bill.ts'
import { DurableMarks, type DurableMarksListener } from '../durable-marks.ts'
import type { HoldGranted, LedgerClient } from '../ledger-client.ts'
import type { RelayContext } from '../request-context.ts'
import { toolCallsToHold } from '../request/hosted-tools.ts'
import { maxSearchesOf, searchesToHold } from '../searches-to-hold.ts'

/** An event is sent only if it ends at most this many tokens past the durable mark. */
const maxUnmarkedTokens = 64
/** An extension is requested when at most this many paid tokens, or half of the last chunk, are left. */
const maxExtendAheadTokens = 512

export interface FlowControlListener {
  /** More may be sent, or the account cannot pay for more. */
  onLimitChange(): void
  /** The store does not accept commits. */
  onStoreFailed(): void
}

export class FlowControl implements DurableMarksListener {
  readonly #ledger: LedgerClient
  readonly #context: RelayContext
  /** The maximum of output tokens of the response, over all results. */
  readonly #maxTokens: number
  readonly #listener: FlowControlListener
  #isHoldDurable: boolean
  readonly #marks: DurableMarks
  #received = 0
  #calls = 0
  readonly #maxCalls: number
  #isHoldingCall = false
  #isExtending = false
  /** The tokens of the last chunk: few if the balance is low, so that other requests can use the rest. */
  #chunkTokens: number
  /** An early extension was denied: money that other requests release meanwhile may still pay for it. */
  #wasExtensionDenied = false
  #isStopped = false
  /** Output tokens that are durably paid for. */
  paidTokens: number
  /** Web searches whose fees are held, or calls of the provider's tools. */
  heldCalls: number
  readonly holdsTools: boolean
  /** The account cannot pay for more. */
  isExhausted = false
  /** The account cannot pay for the next call, which the upstream may make at any time. */
  isCallDenied = false

  constructor(ledger: LedgerClient, context: RelayContext, hold: HoldGranted, listener: FlowControlListener) {
    const { request, model } = context
    this.#ledger = ledger
    this.#context = context
    this.#listener = listener
    this.#maxTokens = Math.min(request.maxOutputTokens ?? Infinity, maxOutputTokensOf(model)) * request.n
    this.paidTokens = hold.outputTokens
    this.#chunkTokens = hold.outputTokens
    const tool = toolCallsToHold(request, model.price)
    this.holdsTools = tool !== null
    this.heldCalls = tool?.calls ?? searchesToHold(context)
    this.#maxCalls = tool?.maximum ?? maxSearchesOf(context)
    this.#marks = new DurableMarks(ledger, context, this).shareMarks()
    this.#isHoldDurable = ledger.isDurable(hold.commit)
    if (this.#isHoldDurable) return
    this.#onceDone(ledger.whenDurable(hold.commit), () => {
      this.#isHoldDurable = true
    })
  }

  /** Events up to this many output tokens may be sent. */
  get limit(): number {
    return this.#isHoldDurable ? Math.min(this.#marks.tokens + maxUnmarkedTokens, this.paidTokens) : -1
  }

  /** Call with the output tokens and calls received so far. */
  receive(tokens: number, calls: number): void {
    this.#received = tokens
    this.#calls = calls
    this.#marks.receive(tokens)
    if (calls >= this.heldCalls && calls < this.#maxCalls) this.#holdNextCall()
    if (this.paidTokens - tokens < this.#extendAheadTokens) this.#extend()
  }

  get #extendAheadTokens(): number {
    return this.#isMaximumPaid || this.#wasExtensionDenied
      ? 0
      : Math.min(maxExtendAheadTokens, Math.floor(this.#chunkTokens / 2))
  }

  /** The response's maximum is paid for; more is needed only if the estimate exceeds the provider's count. */
  get #isMaximumPaid(): boolean {
    return this.paidTokens >= this.#maxTokens
  }

  /** Stops requesting marks and extensions. */
  stop(): void {
    this.#isStopped = true
    this.#marks.stop()
  }

  onMarked(): void {
    if (!this.#isStopped) this.#listener.onLimitChange()
  }

  onStoreFailed(): void {
    this.#listener.onStoreFailed()
  }

  #extend(): void {
    if (this.#isExtending || this.isExhausted) return
    const isNeeded = this.#received > this.paidTokens
    this.#isExtending = true
    const remaining = this.#isMaximumPaid ? maxExtendAheadTokens : this.#maxTokens - this.paidTokens
    this.#onceDone(this.#ledger.extend(this.#context.id, remaining, 0), (outputTokens) => {
      this.#isExtending = false
      this.#wasExtensionDenied = outputTokens <= this.paidTokens
      if (!this.#wasExtensionDenied) this.#chunkTokens = outputTokens - this.paidTokens
      this.isExhausted = this.#wasExtensionDenied && isNeeded
      this.paidTokens = Math.max(this.paidTokens, outputTokens)
      this.receive(this.#received, this.#calls)
    })
  }

  /** The provider bills every search and call that it makes, so the fee of the next one is held as soon as one appears. */
  #holdNextCall(): void {
    if (this.#isHoldingCall || this.isExhausted) return
    this.#isHoldingCall = true
    this.#onceDone(this.#ledger.extend(this.#context.id, 1, 1), (outputTokens) => {
      this.#isHoldingCall = false
      if (outputTokens === 0) this.isCallDenied = true
      else this.heldCalls += 1
      this.paidTokens = Math.max(this.paidTokens, outputTokens)
      if (!this.isCallDenied) this.receive(this.#received, this.#calls)
    })
  }

  #onceDone<Result>(pending: Promise<Result>, then: (result: Result) => void): void {
    pending.then(
      (result) => {
        if (this.#isStopped) return
        then(result)
        this.#listener.onLimitChange()
      },
      () => this.#listener.onStoreFailed(),
    )
  }
}
