/**
 * Failover: tries upstreams one after another until one responds, each at most once, at most three in all, and within
 * the node's retry budget. UpstreamSelector picks them. An invalid request is invalid everywhere, so it is not retried.
 * The outcome of each attempt is reported, so that the next request can use it.
 */
import { routeMaximum, type LiveRoute, type PricedModel } from '../../catalog/catalog.ts'
import { factsOf } from '../../catalog/operations.ts'
import { sentMaximumField } from '../../providers/openai/maximum-field.ts'
import { providerFor } from '../../providers/openai/spoken-apis.ts'
import { addBill, type AttemptRecord } from './attempt-record.ts'
import { addFailureDetails } from './failure-details.ts'
import { boundTimeouts, type AttemptCall, type RejectedField } from './attempt-call.ts'
import type { AttemptResult, RequestAttempt } from './attempt-result.ts'
import { createAttempt } from './batched-attempt.ts'
import { askedMaximum, extraOutput, type Bill, type ServedRequest } from '../bill.ts'
import type { CallerRequest, RequestEncoding } from '../request/caller-format.ts'
import { toolsWithPrice } from '../request/hosted-tools.ts'
import { encodingFor } from '../request/collected-encoding.ts'
import { markCollected } from '../durable-marks.ts'
import type { RelayContext, RelayDeps } from '../request-context.ts'
import { conversationHash, holderOf } from './affinity.ts'
import { classifyFailure } from './failure-scope.ts'
import { rejectedField, rememberRejected, withRejected } from './rejected-fields.ts'
import { rejectsChat } from './responses-quirks.ts'
import { maxAttempts, singleCandidate, UpstreamSelector, type Candidate } from './upstream-selector.ts'
import { upstreamError, shouldFailOver, withContextClass, type UpstreamError } from './upstream-error.ts'
import { renameModelInError } from '../streaming/model-renaming.ts'
import { recordLatency, routeStats, typicalLatencyMs } from './route-stats.ts'

/** A request is sent to an upstream again without this many fields that it rejects, one after another. */
const maxRejectedFields = 2
/** How long a caller waits for a probed upstream, which may still be down, while another is ready. */
const probeWait = { minMs: 3000, defaultMs: 10_000, latencyFactor: 4 } as const

/** A stream is cut this much beyond twice the maximum: the relay's count may be twice the provider's. */
const toleratedStreamTokens = 256

/** The name under which the maximum is sent, if it is not the upstream's own; else `null`. */
function otherMaximumField(
  { maximum: { needsOwnField }, maximumField: own }: LiveRoute,
  { body, provider, withoutFields }: Pick<AttemptCall, 'body' | 'provider' | 'withoutFields'>,
): string | null {
  if (own === null || provider.maximumField === undefined) return null
  const sent = sentMaximumField(own, { withoutFields, needsOwnField, callerField: body.maxOutputField })
  return sent === own ? null : sent
}

/** The attempts of one request. */
export class Failover implements ServedRequest {
  readonly #deps: RelayDeps
  readonly #context: RelayContext
  readonly request: CallerRequest
  readonly model: PricedModel
  readonly loweredMaximum: number | null
  #selector: UpstreamSelector | null = null
  readonly attempts: AttemptRecord[] = []
  readonly errors: UpstreamError[] = []
  /** The attempt that is running, or has got a response. */
  attempt: RequestAttempt | null = null
  /** The call of the attempt. */
  candidate: Candidate | null = null
  #call: AttemptCall | null = null
  #startedAt = 0
  #latencyMs = 0
  #isReported = false
  /** The last attempt has got a response. */
  hasResponse = false
  /** Of the last attempt. */
  encoding: RequestEncoding | null = null
  /** No other upstream is tried. */
  isCancelled = false

  /** `maximumTokens`: the maximum of output tokens that the hold pays for, if the request must be limited to it. */
  constructor(deps: RelayDeps, context: RelayContext, maximumTokens: number | null) {
    this.#deps = deps
    this.#context = context
    this.request = context.request
    this.model = context.model
    this.loweredMaximum = maximumTokens
  }

  get minMaximumTokens(): number | undefined {
    return this.#call?.provider.minMaximumTokens
  }

  /** The name under which the maximum was sent, if it is not the upstream's own; else `null`. */
  get otherMaximumField(): string | null {
    return this.route && this.#call ? otherMaximumField(this.route, this.#call) : null
  }

  get route(): LiveRoute | null {
    return this.candidate?.route ?? null
  }

  /** If the caller disconnects, the response is read on for the bill. */
  get drainsOnAbort(): boolean {
    return this.candidate?.route.upstream.onAbort === 'drain'
  }

  get servedModel(): PricedModel {
    return this.candidate?.model ?? this.#context.model
  }

  /** The fallback model that serves the request; `null` if the requested model does. */
  get fallbackModel(): string | null {
    const model = this.candidate?.model
    return model && model !== this.#context.model ? model.id : null
  }

  /** Names a fallback model in the headers. Must be called before the response starts. */
  addModelHeader(): void {
    if (this.fallbackModel !== null) this.#context.headers.push('x-sluice-model', this.fallbackModel)
  }

  /** Ends the attempt that is running, if its response is not complete. */
  cancel(): void {
    this.isCancelled = true
    this.attempt?.destroy()
  }

  /** Tries one upstream after another. `null` if none responded (see `errors`), or if it was cancelled. */
  async firstResponse(): Promise<Exclude<AttemptResult, { kind: 'error' }> | null> {
    const { model, fallbacks } = this.#context
    let candidate = fallbacks.length === 0 ? singleCandidate(model) : null
    candidate ??= this.#openSelector().next(true)
    if (candidate && candidate.probes.length > 0) candidate = await this.#acquireProbe(candidate, true)
    if (!candidate && !this.isCancelled)
      this.errors.push(upstreamError('unavailable', 'No upstream serves this model.'))
    let rejected: RejectedField[] = []
    let count = 1
    while (candidate && !this.isCancelled) {
      const attempt = this.#send(candidate, rejected)
      const result = attempt
        ? this.#record(candidate, attempt, await attempt.result)
        : this.#unknownProvider()
      if (result.kind !== 'error') {
        // Only what helped is remembered, so that no caller can make it forget another one's fields.
        rememberRejected(rejected, candidate.route, this.#deps.quirks, this.#startedAt)
        this.hasResponse = true
        return result
      }
      if (this.isCancelled) return null
      const found =
        this.#call && rejected.length < maxRejectedFields ? rejectedField(result.error, this.#call) : null
      if (found) {
        rejected.push(found)
        this.errors.pop()
        continue
      }
      const isUpstreamFailure = this.#reportFailure(result.error)
      if (count === maxAttempts || !shouldFailOver(result.error.kind)) return null
      candidate = await this.#nextCandidate(candidate, result.error, isUpstreamFailure)
      if (!candidate || this.isCancelled || !(await this.#deps.health.acquireRetry())) return null
      rejected = []
      count += 1
    }
    return null
  }

  #openSelector(): UpstreamSelector {
    const { request, model, fallbacks, caller } = this.#context
    const { health, now } = this.#deps
    this.#selector ??= new UpstreamSelector([model, ...fallbacks], {
      health,
      latencyOf: (route) => typicalLatencyMs(routeStats(route), request.stream, now()),
      conversation: model.affinity ? conversationHash(caller.accountId, request) : null,
      holder: request.holder ?? null,
      now,
      random: Math.random,
    })
    return this.#selector
  }

  /** The next candidate after an error: if only the credential failed, the same upstream with another one. */
  #nextCandidate(
    candidate: Candidate,
    error: UpstreamError,
    isUpstreamFailure: boolean,
  ): Promise<Candidate | null> {
    const selector = this.#openSelector()
    selector.markTried(candidate)
    const isCredentialAtFault = error.kind === 'credential' || error.kind === 'rate'
    const other = isCredentialAtFault ? selector.withNextCredential(candidate) : null
    // An error that the caller caused does not justify trying an upstream whose circuit is open.
    return this.#acquireProbe(other ?? selector.next(isUpstreamFailure), isUpstreamFailure)
  }

  /** The candidate, or another one if it must be a probe and another request already probes it. */
  async #acquireProbe(first: Candidate | null, allowUnavailable: boolean): Promise<Candidate | null> {
    let candidate = first
    while (candidate && candidate.probes.length > 0) {
      if (await this.#deps.health.acquireProbe(candidate.probes)) return candidate
      this.#openSelector().skip(candidate)
      candidate = this.#openSelector().next(allowUnavailable)
    }
    return candidate
  }

  /** Sends the request without these fields of the relay's own. `null`: the provider is unknown. */
  #send(candidate: Candidate, rejected: readonly RejectedField[]): RequestAttempt | null {
    const { route, model, credential } = candidate
    const { upstream, upstreamModel } = route
    this.#isReported = false
    this.#call = null
    this.candidate = candidate
    this.#startedAt = this.#deps.now()
    const known = this.#deps.quirks.rejectedFields(upstream.id, upstreamModel, this.#startedAt)
    const withoutFields = withRejected(known, rejected)
    const { api } = factsOf(this.request.format.operation)
    const isChatRejected = rejectsChat(withoutFields, this.request)
    const provider = providerFor(upstream, upstreamModel, api, isChatRejected)
    if (!provider) return null
    const maximumTokens = this.loweredMaximum
    const { settings } = upstream
    const body = encodingFor(this.request, provider, { settings, maximumTokens, withoutFields })
    this.#call = {
      body,
      maxStreamTokens: this.#maxStreamTokens(route, { body, provider, withoutFields }),
      extraOutput: () => extraOutput(this),
      model: upstreamModel,
      maximumTokens,
      baseUrl: upstream.baseUrl,
      credential: credential.credential,
      settings,
      added: upstream.added,
      withoutFields,
      needsOwnField: route.maximum.needsOwnField,
      returnedModel: route.returnedModel,
      modelMaximumTokens: model.maxOutputTokens,
      pricedTools: toolsWithPrice(this.#context.model.price),
      nowMs: this.#startedAt,
      holder: provider.nativeFormat === 'responses' ? holderOf(upstream, credential) : undefined,
      provider,
      timeouts: this.#timeoutsFor(candidate),
      proxy: upstream.proxy,
      onCollect: body.isCollected && markCollected(this.#deps.ledger, this.#context),
    }
    this.encoding = body
    this.attempt = createAttempt(this.#deps, this.#call)
    this.attempt.send()
    return this.attempt
  }

  /** A stream on a route that is not known to obey a maximum ends at twice the one that is sent, and 256 tokens more. */
  #maxStreamTokens(route: LiveRoute, call: Pick<AttemptCall, 'body' | 'provider' | 'withoutFields'>): number {
    const { request, loweredMaximum } = this
    if (!request.stream || (loweredMaximum === null && call.body.hidesMaximum)) return Infinity
    const { minMaximumTokens } = call.provider
    const asked = askedMaximum({ request, loweredMaximum, minMaximumTokens })
    if (asked === null || routeMaximum(route, otherMaximumField(route, call)) === 'obeyed') return Infinity
    return 2 * asked * request.n + toleratedStreamTokens
  }

  #unknownProvider(): AttemptResult {
    const error = upstreamError('forbidden', 'Unknown provider.')
    this.errors.push(error)
    return { kind: 'error', error }
  }

  #record({ route }: Candidate, attempt: RequestAttempt, received: AttemptResult): AttemptResult {
    const result: AttemptResult =
      received.kind === 'error' ? { kind: 'error', error: this.#classify(received.error) } : received
    const isError = result.kind === 'error'
    this.#latencyMs = attempt.ageMs
    const record: AttemptRecord = {
      upstream: route.upstream.id,
      outcome: isError ? 'failed' : 'ok',
      http_status: attempt.status,
      duration_ms: this.#latencyMs,
      cost: isError ? '0' : null,
    }
    if (attempt.unexpectedForm) record.responded_with = attempt.unexpectedForm
    this.attempts.push(record)
    if (isError) {
      this.errors.push(renameModelInError(result.error, route))
      addFailureDetails(record, result.error, this.#context.request, attempt.upstreamRequestId)
    }
    return result
  }

  #classify(error: UpstreamError): UpstreamError {
    const call = this.#call
    if (!call) return error
    const { provider, body } = call
    const isTranslated = provider.translation !== undefined || body.encodeResponse !== undefined
    return withContextClass(error, provider.name, isTranslated && !body.isPassthrough)
  }

  /** A request that probes an upstream waits less long for it while another is ready. */
  #timeoutsFor({ route, hasAlternatives }: Candidate): AttemptCall['timeouts'] {
    const { timeouts } = route
    if (!hasAlternatives) return timeouts
    const typicalMs = typicalLatencyMs(routeStats(route), this.request.stream, this.#deps.now())
    const { minMs, defaultMs, latencyFactor } = probeWait
    const maxMs = typicalMs === null ? defaultMs : Math.max(minMs, typicalMs * latencyFactor)
    return boundTimeouts(timeouts, maxMs, this.request.stream)
  }

  /** Reports an error to the circuit breakers. False if it is not the upstream's failure. */
  #reportFailure(error: UpstreamError): boolean {
    const candidate = this.candidate
    if (!candidate || this.#isReported) return false
    this.#isReported = true
    const failureClass = classifyFailure(error)
    if (failureClass.scope === null && candidate.probes.length === 0) return false
    this.#deps.health.reportFailure({
      ...failureClass,
      circuits: candidate.circuits,
      startedAt: this.#startedAt,
    })
    return failureClass.scope !== null
  }

  /**
   * Reports how a response ended: complete, with an error, or (`null`) in a way that says nothing about the upstream.
   */
  reportEnd(end: 'complete' | UpstreamError | null): void {
    const candidate = this.candidate
    if (!candidate || this.#isReported) return
    if (end !== null && end !== 'complete') {
      this.#reportFailure(end)
      const record = this.attempts.at(-1)
      if (record) addFailureDetails(record, end, this.#context.request, this.attempt?.upstreamRequestId)
      return
    }
    this.#isReported = true
    const { circuits, probes, route } = candidate
    const [startedAt, latencyMs] = [this.#startedAt, this.attempt?.firstContentMs ?? this.#latencyMs]
    if (end === 'complete') {
      recordLatency(routeStats(route), this.#context.request.stream, latencyMs, startedAt + latencyMs)
      this.#deps.health.reportSuccess(circuits, startedAt, latencyMs)
    } else if (probes.length > 0) {
      this.#deps.health.reportFailure({ circuits, startedAt, scope: null, retryAfterMs: null, why: '' })
    }
  }

  /** Records the outcome of the successful attempt and returns what its usage costs us; `null`: unknown. */
  finish(outcome: AttemptRecord['outcome'], bill: Bill | null): bigint | null {
    this.reportEnd(null)
    const record = this.attempts.at(-1)
    if (!record || !this.attempt || !this.route) return null
    record.outcome = outcome
    record.duration_ms = this.attempt.ageMs
    return bill && addBill(record, bill, this.#context.model.price, this.route.cost)
  }
}
