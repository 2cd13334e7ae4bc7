/**
 * A request that takes several calls of one upstream: a few are made at the same time, and their responses are read as
 * one. The first call that fails decides the outcome, and the others are canceled.
 */
import { joinedParts } from '../../providers/embeddings.ts'
import type { AttemptDeps } from '../request-context.ts'
import { UsageMeter } from '../streaming/usage-meter.ts'
import type { AttemptCall } from './attempt-call.ts'
import type { AttemptResult, RequestAttempt } from './attempt-result.ts'
import { UpstreamAttempt } from './attempt.ts'
import { readBufferedResponse, type ReceivedResponse } from './buffered-response.ts'
import { secretsOf } from './secrets.ts'
import { servedResponse, type ServedResponse } from './served-response.ts'
import { upstreamError } from './upstream-error.ts'

/** Enough to hide most of the latency of a provider, without taking a burst of its rate limit for one request. */
const maxConcurrentCalls = 4

/** Keeps the response of a call as it came: it is read with the others. */
function readPart(received: ReceivedResponse, call: AttemptCall, now: number): AttemptResult {
  if (received.status !== 200) return readBufferedResponse(received, call, now)
  const { bytes } = received
  return { kind: 'buffered', bytes, meter: new UsageMeter(), isEmpty: false, identity: {} }
}

/** A JSON object with all responses. */
function joinResponses(bodies: readonly Buffer[]): Buffer {
  const separated = bodies.flatMap((body, index) => (index === 0 ? [body] : [Buffer.from(','), body]))
  return Buffer.concat([Buffer.from(`{"${joinedParts}":[`), ...separated, Buffer.from(']}')])
}

/** An attempt to be sent; requests that take several calls are sent in batches. */
export function createAttempt(deps: AttemptDeps, call: AttemptCall): RequestAttempt {
  return (call.body.parts ?? 1) > 1 ? new BatchedAttempt(deps, call) : new UpstreamAttempt(deps, call)
}

function is2xx(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

class BatchedAttempt implements RequestAttempt {
  readonly #deps: AttemptDeps
  readonly #call: AttemptCall
  readonly #resolve: (result: AttemptResult) => void
  readonly result: Promise<AttemptResult>
  readonly #calls: UpstreamAttempt[] = []
  readonly #bodies: Buffer[] = []
  readonly #parts: number
  #completed = 0
  #bytes = 0
  #outcome: AttemptResult | null = null
  /** The call that failed; before, and if all have succeeded, the first. */
  #decisive: UpstreamAttempt | null = null
  #isCanceled = false
  readonly collectedMeter = null
  readonly firstContentMs = null
  readonly unexpectedForm = null

  constructor(deps: AttemptDeps, call: AttemptCall) {
    this.#deps = deps
    this.#call = call
    this.#parts = call.body.parts ?? 1
    const { promise, resolve } = Promise.withResolvers<AttemptResult>()
    this.result = promise
    this.#resolve = resolve
  }

  get ageMs(): number {
    return this.#deps.now() - this.#call.nowMs
  }

  get status(): number | null {
    return this.#decisive?.status ?? null
  }

  get wasCanceledAtCost(): boolean {
    return this.#isCanceled && this.#calls.some((call) => call.wasCanceledAtCost || is2xx(call.status))
  }

  get upstreamRequestId(): string | undefined {
    return this.#decisive?.upstreamRequestId
  }

  get served(): ServedResponse {
    const identity = this.#outcome?.kind === 'buffered' ? this.#outcome.identity : {}
    return servedResponse({ ...identity, id: identity.id || this.upstreamRequestId }, secretsOf(this.#call))
  }

  send(): void {
    for (let sent = 0; sent < maxConcurrentCalls; sent += 1) this.#sendNext()
  }

  destroy(): void {
    if (this.#outcome) return
    this.#isCanceled = true
    this.#end({ kind: 'error', error: upstreamError('connection', 'The request was canceled.') })
  }

  #sendNext(): void {
    const part = this.#calls.length
    if (part >= this.#parts || this.#outcome) return
    const attempt = new UpstreamAttempt(this.#deps, { ...this.#call, part }, readPart)
    this.#calls.push(attempt)
    this.#decisive ??= attempt
    attempt.send()
    void attempt.result.then((result) => this.#onResult(result, part))
  }

  #onResult(result: AttemptResult, part: number): void {
    if (this.#outcome) return
    if (result.kind !== 'buffered') {
      this.#decisive = this.#calls[part] ?? null
      this.#end(result)
      return
    }
    this.#bodies[part] = result.bytes
    this.#bytes += result.bytes.length
    this.#completed += 1
    if (this.#bytes > this.#deps.maxResponseBytes) {
      const error = upstreamError('garbage', 'The response of the provider is too large.')
      this.#end({ kind: 'error', error })
    } else if (this.#completed === this.#parts) {
      const received = { status: 200, bytes: joinResponses(this.#bodies), headerSection: '' }
      this.#end(readBufferedResponse(received, this.#call, this.#deps.now()))
    } else this.#sendNext()
  }

  #end(outcome: AttemptResult): void {
    this.#outcome = outcome
    for (const attempt of this.#calls) attempt.destroy()
    this.#resolve(outcome)
  }
}
