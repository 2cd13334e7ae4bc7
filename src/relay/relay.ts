/**
 * Relays one request. Read this first: admission holds money, failover sends the request to upstreams, the response
 * passes through to the caller, the hold is settled durably, and only then the final events are sent. Whatever goes
 * wrong, the hold ends exactly once.
 */
import { performance } from 'node:perf_hooks'
import { apiError, asApiError } from '../errors.ts'
import { formatAmount } from '../lib/money.ts'
import type { SlotMap } from '../lib/slot-map.ts'
import { admit, replayResponse } from './admission.ts'
import { conversationHash } from './routing/affinity.ts'
import type { RelayRequest, RelayDeps, ActiveRequest } from './relay-request.ts'
import type { StreamedResponse } from './routing/attempt.ts'
import { billFromUsage, billFromEstimate, maxOutputTokensOf, type Bill } from './bill.ts'
import type { ResponseToStore } from '../ledger/transaction.ts'
import type { RequestOutcome } from '../ledger/request-row.ts'
import type { HoldGranted } from './ledger-client.ts'
import { StreamPipeline } from './streaming/stream-pipeline.ts'
import {
  attemptOutcome,
  streamResult,
  upstreamOutcome,
  type EndReason,
  type RequestResult,
} from './end-reason.ts'
import type { ResponseWriter } from './response-writer.ts'
import { Failover } from './routing/failover.ts'
import { errorSummary, apiErrorFromUpstream, mostActionableError } from './routing/upstream-error.ts'
import { idempotentDrain } from './idempotency.ts'
import { UsageMeter } from './streaming/usage-meter.ts'
import { captureBuffered, ResponseCapture } from './streaming/response-capture.ts'
import type { BufferedResponse } from './routing/buffered-response.ts'

/** Optional parts of a settlement. */
interface SettlementExtras {
  readonly fault?: string | null
  readonly response?: ResponseToStore | null
}

/** Relays one request. Throws an `ApiError` if nothing has been sent. */
export async function relayChat(
  deps: RelayDeps,
  relayRequest: RelayRequest,
  writer: ResponseWriter,
  activeRequests: SlotMap<ActiveRequest>,
): Promise<void> {
  const hold = await admit(deps, relayRequest)
  if ('requestId' in hold) return replayResponse(deps, relayRequest, writer, hold)
  relayRequest.progress.isAdmitted = true
  const session = new RelaySession(deps, relayRequest, writer, hold)
  const slot = activeRequests.insert(session)
  try {
    await (relayRequest.request.stream ? session.runStreaming() : session.runNonStreaming())
  } catch (error) {
    await session.abandon(error)
    throw error
  } finally {
    activeRequests.remove(slot)
  }
}

class RelaySession implements ActiveRequest {
  readonly #deps: RelayDeps
  readonly #request: RelayRequest
  readonly #writer: ResponseWriter
  readonly #hold: HoldGranted
  readonly #failover: Failover
  #pipeline: StreamPipeline | null = null
  #isSettled = false
  #isShutDown = false

  constructor(deps: RelayDeps, relayRequest: RelayRequest, writer: ResponseWriter, hold: HoldGranted) {
    this.#deps = deps
    this.#request = relayRequest
    this.#writer = writer
    this.#hold = hold
    const { request, model, fallbacks, caller } = relayRequest
    const conversation = model.affinity ? conversationHash(caller.accountId, request) : null
    const { maximumTokens } = hold
    this.#failover = new Failover(
      { request, maximumTokens, models: [model, ...fallbacks], conversation },
      deps,
    )
  }

  end(endReason: EndReason): void {
    this.#isShutDown = true
    if (this.#pipeline) this.#pipeline.end(endReason)
    this.#failover.attempt?.destroy()
  }

  get #ageMs(): number {
    return performance.now() - this.#request.startedMs
  }

  async runNonStreaming(): Promise<void> {
    const isStored = this.#request.claim !== null
    const isCancelled = (): boolean => (this.#writer.isDisconnected && !isStored) || this.#isShutDown
    let drainTimer: NodeJS.Timeout | null = null
    // Created first and then assigned: docs/decisions/0026-request-objects-in-the-young-generation.md.
    const onDisconnect = (): void => {
      const { attempt, route } = this.#failover
      const isDrained = route?.upstream.onAbort === 'drain'
      if (isStored) drainTimer = setTimeout(() => this.end({ kind: 'disconnected' }), idempotentDrain.ms)
      else if (isDrained) drainTimer = setTimeout(() => attempt?.destroy(), this.#deps.drain.ms)
      else attempt?.destroy()
    }
    this.#writer.onDisconnect = onDisconnect
    const response = await this.#failover.firstResponse(isCancelled)
    if (drainTimer) clearTimeout(drainTimer)
    if (response?.kind === 'buffered' && !this.#isShutDown) await this.#sendBuffered(response)
    else await this.#fail(this.#writer.isDisconnected)
  }

  async #sendBuffered(response: BufferedResponse): Promise<void> {
    this.#failover.reportEnd('complete')
    this.#failover.addModelHeader(this.#request.headers)
    const meter = new UsageMeter()
    const facts = meter.read(response.json)
    const bill =
      facts.hasContent || facts.hasFinish ? billFromUsage(meter.usage, meter.tokens, this.#request) : null
    const result: RequestResult = {
      httpStatus: 200,
      outcome: this.#writer.isDisconnected ? 'aborted' : 'ok',
      finish: meter.finishReason,
      errorCode: null,
      firstTokenMs: null,
    }
    const charge = await this.#settle(bill, result, {
      response: this.#responseToStore(true, () => captureBuffered(response.bytes, this.#request.headers)),
    })
    const headers = ['content-type', 'application/json', 'x-sluice-cost', formatAmount(charge)]
    this.#writer.send(200, [...headers, ...this.#request.headers], response.bytes)
  }

  async runStreaming(): Promise<void> {
    const { request, model } = this.#request
    let inputTokens: number | null = null
    const pipeline = new StreamPipeline(this.#writer, this.#deps.ledger, this.#hold, {
      id: this.#request.id,
      format: request.format,
      inputTokens: () => (inputTokens ??= request.inputTokens()),
      maxTokens: Math.min(request.maxOutputTokens ?? Infinity, maxOutputTokensOf(model)) * request.n,
      headers: this.#request.headers,
      keepAliveMs: this.#deps.keepAliveMs,
      slowClientMs: this.#deps.slowClientMs,
      capture: this.#request.claim && { response: new ResponseCapture(), drain: idempotentDrain },
    })
    this.#pipeline = pipeline
    void pipeline.ended.then(() => this.#failover.attempt?.destroyUnlessDone())
    const response = await this.#failover.firstResponse(() => pipeline.isEnded)
    if (response?.kind === 'stream' && !pipeline.isEnded) await this.#sendStream(pipeline, response)
    else await this.#fail(pipeline.wasAborted)
  }

  async #sendStream(pipeline: StreamPipeline, { stream }: StreamedResponse): Promise<void> {
    const { attempt, route } = this.#failover
    if (!attempt || !route) throw new Error('A response without an attempt.')
    this.#failover.addModelHeader(this.#request.headers)
    const firstTokenMs = this.#ageMs
    const { meter } = stream
    pipeline.attach(attempt, stream, route.upstream.onAbort === 'drain' ? this.#deps.drain : null)
    const endReason = await pipeline.ended
    this.#failover.reportEnd(upstreamOutcome(endReason))
    const bill = this.#billStream(endReason, meter, pipeline)
    const result = streamResult(endReason, pipeline.wasAborted)
    const fault = endReason.kind === 'upstream-error' ? errorSummary(endReason.error) : null
    const isComplete = endReason.kind === 'complete' || endReason.kind === 'out-of-credit'
    const stored = this.#responseToStore(isComplete, () => pipeline.captureResponse(endReason, bill.usage))
    const charge = await this.#settle(
      bill,
      { ...result, finish: meter.finishReason, firstTokenMs },
      { fault, response: stored },
    )
    await pipeline.finish(endReason, charge, bill.usage)
  }

  /** A complete response is billed by the provider's usage, a truncated one by what was received of it. */
  #billStream(endReason: EndReason, meter: UsageMeter, pipeline: StreamPipeline): Bill {
    const { request } = this.#request
    if (endReason.kind === 'complete') return billFromUsage(meter.usage, meter.tokens, this.#request)
    if (endReason.kind === 'out-of-credit') return billFromEstimate(pipeline.deliveredTokens, request)
    return meter.finishReason !== null && meter.usage
      ? billFromUsage(meter.usage, meter.tokens, this.#request)
      : billFromEstimate(meter.tokens, request)
  }

  /** No upstream responded, or the caller disconnected before: nothing is charged. */
  async #fail(wasAborted: boolean): Promise<void> {
    const upstreamError = mostActionableError(this.#failover.errors)
    const error = this.#isShutDown ? apiError('service_unavailable') : apiErrorFromUpstream(upstreamError)
    await this.#settle(
      null,
      {
        httpStatus: wasAborted ? 499 : error.status,
        outcome: wasAborted ? 'aborted' : 'failed',
        finish: null,
        errorCode: wasAborted ? null : error.code,
        fault: this.#failover.errors.at(-1)?.kind,
        faultUpstream: this.#failover.attempts.at(-1)?.upstream,
        firstTokenMs: null,
      },
      { fault: errorSummary(upstreamError) },
    )
    if (this.#writer.isDisconnected) return
    if (this.#pipeline?.fail(error)) return
    throw error
  }

  /** Handles an internal error: releases the hold without a charge and ends a started response with an error. */
  async abandon(cause: unknown): Promise<void> {
    this.#failover.attempt?.destroy()
    const error = asApiError(cause)
    if (!this.#isSettled) {
      const errorCode = error.code
      const result = { httpStatus: error.status, errorCode, finish: null, firstTokenMs: null }
      await this.#settle(null, { ...result, outcome: 'failed' })
    }
    this.#pipeline?.fail(error)
  }

  /** The response to store for repeated requests; null without an `Idempotency-Key`. */
  #responseToStore(isComplete: boolean, capture: () => Uint8Array | null): ResponseToStore | null {
    if (!this.#request.claim) return null
    const bytes = capture()
    const sealed = bytes && this.#deps.storedResponses.seal(bytes, this.#request.id)
    return { sealed, isComplete }
  }

  async #settle(bill: Bill | null, result: RequestResult, extras: SettlementExtras = {}): Promise<bigint> {
    this.#isSettled = true
    const { id, caller, request, model } = this.#request
    const upstreamCost = this.#failover.finish(result.outcome === 'ok' ? 'ok' : attemptOutcome(result), bill)
    const outcome: RequestOutcome = {
      ...result,
      upstream: this.#failover.route?.upstream.id ?? null,
      durationMs: Math.round(this.#ageMs),
      firstTokenMs: result.firstTokenMs === null ? null : Math.round(result.firstTokenMs),
      attempts: JSON.stringify(this.#failover.attempts),
      upstreamCost: upstreamCost?.toString() ?? null,
      isClamped: bill?.isClamped ?? false,
      stream: request.stream,
      model: model.id,
    }
    const cause = bill?.cause ?? 'estimate'
    const settlement = {
      id,
      usage: bill?.usage ?? null,
      cause,
      servedModel: this.#failover.fallbackModel,
      outcome,
    }
    const line = {
      id,
      account: caller.accountId,
      key: caller.keyId,
      usage: bill?.usage ?? null,
      fault: extras.fault ?? null,
      attempts: this.#failover.attempts,
    }
    try {
      const cost = await this.#deps.ledger.settle(settlement, extras.response ?? null)
      this.#deps.logRequest({ ...line, outcome, cost })
      return cost
    } catch (error) {
      this.#deps.logRequest({ ...line, outcome: this.#unsettledOutcome(outcome, error), cost: null })
      throw error
    }
  }

  /** What the caller sees of a settlement that could not be written in time. */
  #unsettledOutcome(outcome: RequestOutcome, cause: unknown): RequestOutcome {
    if (this.#writer.isDisconnected) return outcome
    const { status, code } = asApiError(cause)
    const httpStatus = this.#writer.isStarted ? outcome.httpStatus : status
    return { ...outcome, httpStatus, outcome: 'failed', errorCode: code }
  }
}
