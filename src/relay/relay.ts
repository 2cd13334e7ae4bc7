/**
 * Relays one request. Read this first: admission holds money, failover sends the request to upstreams, the response
 * passes through to the caller, the hold is settled durably, and only then the final events are sent. Whatever goes
 * wrong, the hold ends exactly once.
 */
import { routeMaximum } from '../catalog/catalog.ts'
import { apiError, asApiError } from '../errors.ts'
import { formatAmount } from '../lib/money.ts'
import { getObjects, isObject, type Json } from '../providers/json-fields.ts'
import { admit, replayResponse, requestHold } from './admission.ts'
import type { RelayContext, RelayDeps, ActiveRequest } from './request-context.ts'
import {
  billFromCut,
  billFromEstimate,
  billFromStream,
  billFromUsage,
  billWithoutMoney,
  type Bill,
} from './bill.ts'
import type { ResponseToStore, SettleRequest } from '../ledger/transaction.ts'
import type { RequestOutcome } from '../ledger/request-row.ts'
import type { HoldGranted } from './ledger-client.ts'
import { StreamPipeline } from './streaming/stream-pipeline.ts'
import {
  attemptOutcome,
  failureOf,
  hasUnknownFinish,
  streamResult,
  upstreamOutcome,
  type EndReason,
  type RequestResult,
} from './end-reason.ts'
import { Failover } from './routing/failover.ts'
import { describeResponse, findUnknownFinish } from './routing/served-response.ts'
import { errorSummary, apiErrorFromUpstream, mostActionableError } from './routing/upstream-error.ts'
import { idempotentDrain } from './idempotency.ts'
import { observedMaximum } from './observed-maximum.ts'
import type { UsageMeter } from './streaming/usage-meter.ts'
import { captureBuffered } from './streaming/response-capture.ts'

/** Relays one request. Throws an `ApiError` if nothing has been sent. */
export async function relayChat(deps: RelayDeps, context: RelayContext): Promise<void> {
  const hold = await requestHold(deps, context)
  if ('requestId' in hold) return replayResponse(deps, context, hold)
  const session = new RelaySession(deps, context, admit(context, hold))
  const slot = deps.activeRequests.insert(session)
  try {
    await (context.request.stream ? session.runStreaming() : session.runNonStreaming())
  } catch (error) {
    await session.abandon(error)
    throw error
  } finally {
    deps.activeRequests.remove(slot)
  }
}

function outputItemsOf(bytes: Buffer): readonly Json[] {
  const response: unknown = JSON.parse(bytes.toString())
  return isObject(response) ? getObjects(response, 'output') : []
}

class RelaySession implements ActiveRequest {
  readonly #deps: RelayDeps
  readonly #context: RelayContext
  readonly #hold: HoldGranted
  readonly #failover: Failover
  #pipeline: StreamPipeline | null = null
  #isSettled = false
  #isShutDown = false
  #leftEarly: SettleRequest['leftEarly']

  constructor(deps: RelayDeps, context: RelayContext, hold: HoldGranted) {
    this.#deps = deps
    this.#context = context
    this.#hold = hold
    this.#failover = new Failover(deps, context, hold.maximumTokens)
  }

  end(endReason: EndReason): void {
    this.#isShutDown = true
    this.#pipeline?.end(endReason)
    this.#failover.cancel()
  }

  get #ageMs(): number {
    return Math.round(performance.now() - this.#context.startedMs)
  }

  async runNonStreaming(): Promise<void> {
    const { response: writer, claim, headers } = this.#context
    const failover = this.#failover
    let drainTimer: NodeJS.Timeout | null = null
    // Created first and then assigned: docs/decisions/0026-request-objects-in-the-young-generation.md.
    const onDisconnect = (): void => {
      if (claim) {
        drainTimer = setTimeout(() => this.end({ kind: 'disconnected' }), idempotentDrain.ms)
      } else if (failover.drainsOnAbort) {
        failover.isCancelled = true
        drainTimer = setTimeout(() => failover.cancel(), this.#deps.drain.ms)
      } else failover.cancel()
    }
    writer.onDisconnect = onDisconnect
    if (writer.isDisconnected) onDisconnect()
    const response = await failover.firstResponse()
    if (drainTimer) clearTimeout(drainTimer)
    if (response?.kind !== 'buffered' || this.#isShutDown) return this.#fail(writer.isDisconnected)
    const { meter } = response
    failover.reportEnd(upstreamOutcome({ kind: 'complete' }, meter))
    failover.addModelHeader()
    this.#observeMaximum(meter)
    const bill = response.isEmpty ? null : billFromUsage(meter, failover)
    const failure = response.failure && failureOf(response.failure, meter, failover)
    const outcome = failure || meter.isFinishUnknown ? 'truncated' : 'ok'
    const result: RequestResult = {
      httpStatus: failure?.status ?? 200,
      outcome: writer.isDisconnected ? 'aborted' : outcome,
      finish: meter.finishReason,
      errorCode: failure?.code ?? null,
      firstTokenMs: null,
    }
    const stored = claim && !failure && this.#responseToStore(true, captureBuffered(response.bytes, headers))
    const charge = await this.#settle(bill, result, null, stored || null)
    if (this.#context.request.store && !failure) await this.#pin(bill)
    if (this.#keepsItems && !failure) await this.#keepItems(outputItemsOf(response.bytes))
    headers.push('x-sluice-cost', formatAmount(charge))
    if (failure) throw failure
    writer.send(200, ['content-type', 'application/json', ...headers], response.bytes)
  }

  async runStreaming(): Promise<void> {
    const failover = this.#failover
    const pipeline = new StreamPipeline(this.#deps, this.#context, this.#hold, failover)
    this.#pipeline = pipeline
    const response = await failover.firstResponse()
    if (response?.kind !== 'stream' || pipeline.isEnded) return this.#fail(pipeline.wasAborted)
    failover.addModelHeader()
    const { stream } = response
    const { meter } = stream
    const callAtMs = this.#ageMs - (failover.attempt?.ageMs ?? 0)
    pipeline.attach(stream)
    const endReason = await pipeline.ended
    const receivedEnd = pipeline.receivedEnd ?? endReason
    failover.reportEnd(upstreamOutcome(receivedEnd, meter))
    // Its upstream has not said that it ended the response.
    const { usage: reported, tokensWithoutRuns, finishReason } = meter
    const isCut = receivedEnd.kind === 'cut'
    this.#observeMaximum({ usage: reported, tokensWithoutRuns, finishReason: isCut ? null : finishReason })
    // A stream that failed, or was left, before its first content costs as little as one that was not sent at all.
    const isComplete = ['complete', 'cut', 'out-of-credit'].includes(endReason.kind)
    const isFree = !stream.hasContent && !isComplete
    const bill = isFree ? null : this.#billStream(endReason, meter, pipeline)
    if (isFree && pipeline.wasAborted) this.#leaveEarly()
    const contentMs = failover.attempt?.firstContentMs ?? null
    const result = {
      ...streamResult(endReason, pipeline.wasAborted, meter),
      finish: endReason.kind === 'out-of-credit' ? null : meter.finishReason,
      firstTokenMs: contentMs === null ? null : Math.max(0, callAtMs + contentMs),
    }
    const fault = endReason.kind === 'upstream-error' ? errorSummary(endReason.error) : null
    const stored =
      this.#context.claim &&
      this.#responseToStore(isComplete, pipeline.captureResponse(endReason, bill?.usage ?? null))
    const charge = await this.#settle(bill, result, fault, stored)
    const { store } = this.#context.request
    const isWhole = (pipeline.receivedEnd ?? endReason).kind === 'complete'
    if (store && isWhole) await this.#pin(bill)
    if (this.#keepsItems && isWhole) await this.#keepItems(pipeline.outputItems)
    const drained = pipeline.drain(endReason)
    if (drained) await drained
    pipeline.finish(endReason, charge, bill?.usage ?? null)
  }

  /** Before the settlement, so that the next hold takes into account what the response shows. */
  #observeMaximum(meter: Parameters<typeof observedMaximum>[0]): void {
    const { route, encoding, loweredMaximum, otherMaximumField: field } = this.#failover
    if (route === null || (loweredMaximum === null && encoding?.hidesMaximum)) return
    const known = routeMaximum(route, field)
    const state = observedMaximum(meter, this.#failover)
    if (state === null || state === known || known === 'exceeded') return
    const { upstream, upstreamModel: upstream_model } = route
    this.#deps.quirks.observeMaximum({
      upstream_id: upstream.id,
      upstream_model,
      field,
      state,
      at: this.#deps.now(),
    })
  }

  /** A stream that the relay has cut is billed by what was delivered of it. */
  #billStream(endReason: EndReason, meter: UsageMeter, pipeline: StreamPipeline): Bill {
    const end = pipeline.receivedEnd ?? endReason
    if (endReason.kind === 'out-of-credit') {
      const { usage, tier, tokens, finishReason } = meter
      const delivered = pipeline.cutAtPaid()
      const isUsageKnown = end.kind === 'complete'
      const received = {
        usage: isUsageKnown ? usage : null,
        tier,
        tokens,
        finishReason,
        ...pipeline.paidCalls,
      }
      return billWithoutMoney(delivered, received, this.#failover)
    }
    return end.kind === 'cut'
      ? billFromCut(pipeline.deliveredTokens, meter, this.#failover)
      : billFromStream(end, meter, this.#failover)
  }

  /** No upstream responded, which costs nothing, or the caller disconnected before the first content. */
  async #fail(wasAborted: boolean): Promise<void> {
    const { errors, attempts } = this.#failover
    const upstreamError = mostActionableError(errors)
    const error = this.#isShutDown ? apiError('service_unavailable') : apiErrorFromUpstream(upstreamError)
    const result: RequestResult = {
      httpStatus: wasAborted ? 499 : error.status,
      outcome: wasAborted ? 'aborted' : 'failed',
      finish: null,
      errorCode: wasAborted ? null : error.code,
      fault: errors.at(-1)?.kind,
      faultUpstream: attempts.at(-1)?.upstream,
      firstTokenMs: null,
    }
    // As of a stream that was cut, what has been received is charged of a response that was being collected.
    const collected = wasAborted ? (this.#failover.attempt?.collectedMeter ?? null) : null
    const bill = collected?.tokens
      ? billFromStream({ kind: 'disconnected' }, collected, this.#failover)
      : null
    if (wasAborted && !bill) this.#leaveEarly()
    await this.#settle(bill, result, errorSummary(upstreamError))
    if (!this.#context.response.isDisconnected && !this.#pipeline?.fail(error)) throw error
  }

  /** The caller disconnected before the first content. */
  #leaveEarly(): void {
    const mayCharge = this.#failover.attempt?.wasCanceledAtCost ?? false
    const input = { tokens: 0, searches: 0, tier: null, toolCalls: [], finishReason: null }
    this.#leftEarly = { usage: mayCharge ? billFromEstimate(input, this.#failover).usage : null }
  }

  /** Handles an internal error: releases the hold without a charge and ends a started response with an error. */
  async abandon(cause: unknown): Promise<void> {
    this.#failover.cancel()
    const error = asApiError(cause)
    const { status: httpStatus, code: errorCode } = error
    const result = { httpStatus, outcome: 'failed', errorCode, finish: null, firstTokenMs: null } as const
    try {
      if (!this.#isSettled) await this.#settle(null, result)
    } finally {
      this.#pipeline?.fail(error)
    }
  }

  /** The response to store for repeated requests. `bytes` null: it is too large. */
  #responseToStore(isComplete: boolean, bytes: Uint8Array | null): ResponseToStore {
    const sealed = bytes && this.#deps.storedResponses.seal(bytes, this.#context.id)
    return { sealed, isComplete }
  }

  async #settle(
    bill: Bill | null,
    result: RequestResult,
    fault: string | null = null,
    response: ResponseToStore | null = null,
  ): Promise<bigint> {
    this.#isSettled = true
    const { id, caller, request, model } = this.#context
    const upstreamCost = this.#failover.finish(attemptOutcome(result), bill)
    const { attempts, fallbackModel: servedModel, route } = this.#failover
    const { served, mismatch } = describeResponse(this.#failover, model.id)
    const outcome: RequestOutcome = {
      ...result,
      ...served,
      upstream: route?.upstream.id ?? null,
      durationMs: this.#ageMs,
      attempts: JSON.stringify(attempts),
      upstreamCost: upstreamCost?.toString() ?? null,
      isClamped: bill?.isClamped ?? false,
      stream: request.stream,
      model: model.id,
      operation: request.format.operation,
    }
    const usage = bill?.usage ?? null
    const { accountId: account, keyId: key } = caller
    const unknownFinish = hasUnknownFinish(result) ? findUnknownFinish(outcome, route) : null
    const log = (logged: RequestOutcome, cost: bigint | null): void => {
      const billed = cost ? (usage ?? this.#leftEarly?.usage ?? null) : usage
      const shown = { mismatch, unknownFinish, usage: billed, cost }
      this.#deps.logRequest({ id, account, key, fault, attempts, outcome: logged, ...shown })
    }
    try {
      const cause = bill?.cause ?? 'estimate'
      const charged = bill?.bound && { bound: bill.bound }
      const leftEarly = this.#leftEarly && { leftEarly: this.#leftEarly }
      const settlement = { id, usage, ...charged, ...leftEarly, cause, servedModel, outcome }
      const cost = await this.#deps.ledger.settle(settlement, response)
      log(outcome, cost)
      return cost
    } catch (error) {
      log(this.#unsettledOutcome(outcome, error), null)
      throw error
    }
  }

  /** Before the caller sees the end of the response, so that the caller can continue it. */
  async #pin(bill: Bill | null): Promise<void> {
    const { caller, model } = this.#context
    const { attempt, candidate, encoding } = this.#failover
    const response = attempt?.served.providerResponseId ?? null
    // A response of another kind was not stored: the caller gets an id of ours.
    if (!bill || response === null || !candidate || !encoding?.isPassthrough) return
    await this.#deps.responsePins.add({
      account_id: caller.accountId,
      response_id: response,
      upstream_id: candidate.route.upstream.id,
      credential_id: candidate.credential.id,
      model: model.id,
      tokens: bill.usage.input + bill.usage.output,
      at: this.#deps.now(),
    })
  }

  get #keepsItems(): boolean {
    return this.#context.request.keepsItems === true && this.#deps.responseItems.isEnabled
  }

  /** Before the caller sees the end of the response, so that its next request can refer to them. */
  async #keepItems(items: readonly Json[]): Promise<void> {
    await this.#deps.responseItems.add(this.#context.caller.accountId, items, this.#deps.now())
  }

  /** What the caller sees of a settlement that could not be written in time. */
  #unsettledOutcome(outcome: RequestOutcome, cause: unknown): RequestOutcome {
    const { isDisconnected, isStarted } = this.#context.response
    if (isDisconnected) return outcome
    const { status, code } = asApiError(cause)
    return {
      ...outcome,
      httpStatus: isStarted ? outcome.httpStatus : status,
      outcome: 'failed',
      errorCode: code,
    }
  }
}
