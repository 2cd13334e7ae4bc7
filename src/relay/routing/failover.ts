/**
 * Failover: tries upstreams one after another until one responds, each at most once, at most three in all, and within
 * the node's retry budget. UpstreamSelector picks them. An invalid request is invalid everywhere, so it is not retried.
 * The outcome of each attempt is reported, so that the next request can use it.
 */
import type { LiveRoute, PricedModel } from '../../catalog/catalog.ts'
import { costOf } from '../../ledger/price.ts'
import { formatAmount } from '../../lib/money.ts'
import { providerForModel } from '../../providers/registry.ts'
import type { UpstreamCall } from '../../providers/provider.ts'
import type { AttemptRecord } from './attempt-record.ts'
import { addFailureDetails } from './failure-details.ts'
import { UpstreamAttempt, type AttemptResult, type UpstreamAttemptContext, type Timeouts } from './attempt.ts'
import type { Bill } from '../bill.ts'
import { classifyFailure } from './failure-scope.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import {
  rejectedField,
  rememberRejected,
  type RejectedField,
  type SentRequest,
  type UpstreamQuirks,
} from './rejected-fields.ts'
import { singleCandidate, UpstreamSelector, type Candidate } from './upstream-selector.ts'
import { upstreamError, shouldFailOver, type UpstreamError } from './upstream-error.ts'
import { renameModelInError } from '../streaming/model-renaming.ts'
import type { HealthClient } from './health-client.ts'
import { recordLatency, routeStats, typicalLatencyMs } from './route-stats.ts'

const maxAttempts = 3
/** A request is sent to an upstream again without this many fields that it rejects, one after another. */
const maxRejectedFields = 2
/** How long a caller waits for a probed upstream, which may still be down, while another is ready. */
const probeWait = { minMs: 3000, defaultMs: 10_000, latencyFactor: 4 } as const

export type AttemptDeps = Pick<UpstreamAttemptContext, 'client' | 'maxResponseBytes' | 'now'>

/** What to route, and where it may go. */
export interface RoutingRequest {
  readonly request: CallerRequest
  /** The maximum of output tokens that the hold pays for, if the request must be limited to it. */
  readonly maximumTokens: number | null
  /** The requested model, then its fallbacks. */
  readonly models: readonly PricedModel[]
  /** The hash of a conversation that must stay with its upstream; `null` without affinity. */
  readonly conversation: number | null
}

export interface FailoverDeps extends AttemptDeps {
  readonly quirks: UpstreamQuirks
  readonly health: HealthClient
}

/** The attempts of one request. */
export class Failover {
  readonly #routing: RoutingRequest
  readonly #deps: FailoverDeps
  #selector: UpstreamSelector | null = null
  readonly attempts: AttemptRecord[] = []
  readonly errors: UpstreamError[] = []
  /** The attempt that is running, or has got a response. */
  attempt: UpstreamAttempt | null = null
  #candidate: Candidate | null = null
  #sent: SentRequest | null = null
  #startedAt = 0
  #latencyMs = 0
  #isReported = false

  constructor(routing: RoutingRequest, deps: FailoverDeps) {
    this.#routing = routing
    this.#deps = deps
  }

  get route(): LiveRoute | null {
    return this.#candidate?.route ?? null
  }

  /** The fallback model that serves the request; `null` if the requested model does. */
  get fallbackModel(): string | null {
    const model = this.#candidate?.model
    return model && model !== this.#routing.models[0] ? model.id : null
  }

  /** Names a fallback model in the headers. Must be called before the response starts. */
  addModelHeader(headers: string[]): void {
    if (this.fallbackModel !== null) headers.push('x-sluice-model', this.fallbackModel)
  }

  /** Tries one upstream after another. `null` if none responded (see `errors`), or if `isCancelled`. */
  async firstResponse(isCancelled: () => boolean): Promise<Exclude<AttemptResult, { kind: 'error' }> | null> {
    let candidate =
      singleCandidate(this.#routing.models) ??
      (await this.#acquireProbe(this.#openSelector().next(true), true))
    if (isCancelled()) return null
    if (!candidate) this.errors.push(upstreamError('unavailable', 'No upstream serves this model.'))
    for (let count = 1; candidate; count += 1) {
      const result = await this.#sendAcceptedFields(candidate, isCancelled)
      if (result.kind !== 'error') return result
      if (isCancelled()) return null
      const isUpstreamFailure = this.#reportFailure(result.error)
      if (count === maxAttempts || !shouldFailOver(result.error.kind)) return null
      candidate = await this.#nextCandidate(candidate, result.error, isUpstreamFailure)
      if (!candidate || isCancelled() || !(await this.#deps.health.acquireRetry()) || isCancelled())
        return null
    }
    return null
  }

  #openSelector(): UpstreamSelector {
    const { request, models, conversation } = this.#routing
    const { health, now } = this.#deps
    this.#selector ??= new UpstreamSelector(models, {
      health,
      latencyOf: (route) => typicalLatencyMs(routeStats(route), request.stream, now()),
      conversation,
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

  /** Sends the request, and again without a field of the relay's own that the upstream rejects. */
  async #sendAcceptedFields(candidate: Candidate, isCancelled: () => boolean): Promise<AttemptResult> {
    const rejected: RejectedField[] = []
    for (;;) {
      const result = await this.#send(candidate, rejected)
      if (result.kind !== 'error') {
        // Only what helped is remembered, so that no caller can make it forget another one's fields.
        rememberRejected(rejected, candidate.route, this.#deps.quirks, this.#startedAt)
        return result
      }
      if (!this.#sent || rejected.length === maxRejectedFields || isCancelled()) return result
      const found = rejectedField(result.error, this.#sent)
      if (!found) return result
      rejected.push(found)
      this.errors.pop()
    }
  }

  async #send(candidate: Candidate, rejected: readonly RejectedField[]): Promise<AttemptResult> {
    const { route, model, credential } = candidate
    const { upstream, upstreamModel } = route
    const { request, maximumTokens } = this.#routing
    const provider = providerForModel(upstream.provider, upstreamModel)
    this.#isReported = false
    this.#sent = null
    this.#candidate = candidate
    this.#startedAt = this.#deps.now()
    if (!provider) {
      const error = upstreamError('forbidden', 'Unknown provider.')
      this.errors.push(error)
      return { kind: 'error', error }
    }
    const encoding = request.encodingFor(provider)
    const known = this.#deps.quirks.rejectedFields(upstream.id, upstreamModel, this.#startedAt)
    const withoutFields =
      rejected.length > 0 ? known.union(new Set(rejected.map(({ field }) => field))) : known
    this.#sent = { encoding, provider, maximumTokens, withoutFields }
    const call: UpstreamCall = {
      body: encoding,
      model: upstreamModel,
      maximumTokens,
      baseUrl: upstream.baseUrl,
      credential: credential.credential,
      settings: upstream.settings,
      withoutFields,
      returnedModel: route.returnedModel,
      modelMaximumTokens: model.maxOutputTokens,
      nowMs: this.#startedAt,
    }
    const timeouts = this.#timeoutsFor(candidate)
    const attempt = new UpstreamAttempt(call, {
      ...this.#deps,
      provider,
      encoding,
      timeouts,
      proxy: upstream.proxy,
    })
    this.attempt = attempt
    attempt.send()
    const result = await attempt.result
    const isError = result.kind === 'error'
    this.#latencyMs = attempt.ageMs
    const record: AttemptRecord = {
      upstream: upstream.id,
      outcome: isError ? 'failed' : 'ok',
      http_status: attempt.status,
      duration_ms: this.#latencyMs,
      cost: isError ? '0' : null,
    }
    this.attempts.push(record)
    if (isError) {
      this.errors.push(renameModelInError(result.error, route))
      addFailureDetails(record, result.error, request, attempt.upstreamRequestId)
    }
    return result
  }

  /** A request that probes an upstream waits less long for it while another is ready. */
  #timeoutsFor({ route, hasAlternatives }: Candidate): Timeouts {
    const { timeouts } = route.upstream
    if (!hasAlternatives) return timeouts
    const { stream } = this.#routing.request
    const typicalMs = typicalLatencyMs(routeStats(route), stream, this.#deps.now())
    const waitMs =
      typicalMs === null
        ? probeWait.defaultMs
        : Math.max(probeWait.minMs, typicalMs * probeWait.latencyFactor)
    return {
      connectMs: Math.min(timeouts.connectMs, waitMs),
      firstTokenMs: Math.min(timeouts.firstTokenMs, waitMs),
      idleMs: stream ? timeouts.idleMs : Math.min(timeouts.idleMs, waitMs),
      answerMs: Math.min(timeouts.answerMs, waitMs),
    }
  }

  /** Reports an error to the circuit breakers. False if it is not the upstream's failure. */
  #reportFailure(error: UpstreamError): boolean {
    const candidate = this.#candidate
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
    const candidate = this.#candidate
    if (!candidate || this.#isReported) return
    if (end !== null && end !== 'complete') {
      this.#reportFailure(end)
      const record = this.attempts.at(-1)
      if (record) addFailureDetails(record, end, this.#routing.request, this.attempt?.upstreamRequestId)
      return
    }
    this.#isReported = true
    const { circuits, probes, route } = candidate
    const startedAt = this.#startedAt
    if (end === 'complete') {
      recordLatency(
        routeStats(route),
        this.#routing.request.stream,
        this.#latencyMs,
        startedAt + this.#latencyMs,
      )
      this.#deps.health.reportSuccess(circuits, startedAt, this.#latencyMs)
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
    if (bill?.isClamped) record.clamped = true
    if (bill?.usage.searches) record.searches = bill.usage.searches
    if (!this.route.cost || !bill) return null
    const cost = costOf(this.route.cost, bill.usage, 1_000_000)
    record.cost = formatAmount(cost)
    return cost
  }
}
