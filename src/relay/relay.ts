/**
 * One request, from an admitted caller to a paid answer. Read this first:
 * money is set aside, an upstream is asked, its answer passes through, the bill is settled and durable, and only then
 * is the last word said. Whatever goes wrong on the way, the hold ends exactly once.
 */
import { performance } from 'node:perf_hooks'
import { refuse, refusalOf } from '../errors.ts'
import { decimalOf } from '../lib/money.ts'
import type { Slots } from '../lib/slots.ts'
import { admit, replay } from './admit.ts'
import { conversationOf } from './affinity.ts'
import type { Asked, RelayDeps, Running } from './relay-request.ts'
import type { StreamedAnswer } from './routing/attempt.ts'
import { billOf, estimatedBill, modelTokensOf, type Bill } from './bill.ts'
import type { HoldGranted, KeptAnswer, RequestOutcome } from './ledger-client.ts'
import { Delivery } from './delivery.ts'
import { attemptOutcome, resultOf, seenOfUpstream, type Ending, type Result } from './end-reason.ts'
import type { CallerExchange } from './exchange.ts'
import { Failover } from './failover.ts'
import { briefOf, refusalOfFault, tellingFault } from './routing/upstream-error.ts'
import { keptDrain } from './idempotency.ts'
import { Meter } from './streaming/usage-meter.ts'
import { recordedWhole, Recording } from './recording.ts'
import type { WholeAnswer } from './whole-answer.ts'

/** What goes with a settlement, where there is any. */
interface Also {
  readonly fault?: string | null
  readonly kept?: KeptAnswer | null
}

/** Relays one request. Throws the refusal to answer when nothing has been sent. */
export async function relayChat(
  deps: RelayDeps,
  asked: Asked,
  exchange: CallerExchange,
  running: Slots<Running>,
): Promise<void> {
  const hold = await admit(deps, asked)
  if ('requestId' in hold) return replay(deps, asked, exchange, hold)
  asked.progress.isAdmitted = true
  const work = new Relaying(deps, asked, exchange, hold)
  const place = running.add(work)
  try {
    await (asked.request.stream ? work.stream() : work.whole())
  } catch (error) {
    await work.abandon(error)
    throw error
  } finally {
    running.take(place)
  }
}

class Relaying implements Running {
  readonly #deps: RelayDeps
  readonly #asked: Asked
  readonly #exchange: CallerExchange
  readonly #hold: HoldGranted
  readonly #failover: Failover
  #delivery: Delivery | null = null
  #isSettled = false
  #isShutDown = false

  constructor(deps: RelayDeps, asked: Asked, exchange: CallerExchange, hold: HoldGranted) {
    this.#deps = deps
    this.#asked = asked
    this.#exchange = exchange
    this.#hold = hold
    const { request, model, fallbacks, caller } = asked
    const conversation = model.affinity ? conversationOf(caller.accountId, request) : null
    const { maximumTokens } = hold
    this.#failover = new Failover(
      { request, maximumTokens, models: [model, ...fallbacks], conversation },
      deps,
    )
  }

  end(ending: Ending): void {
    this.#isShutDown = true
    if (this.#delivery) this.#delivery.end(ending)
    this.#failover.attempt?.destroy()
  }

  get #ageMs(): number {
    return performance.now() - this.#asked.startedMs
  }

  async whole(): Promise<void> {
    const isKept = this.#asked.claim !== null
    const isOver = (): boolean => (this.#exchange.isGone && !isKept) || this.#isShutDown
    let patience: NodeJS.Timeout | null = null
    // Made first and then assigned: docs/decisions/0026-requests-die-young.md.
    const onGone = (): void => {
      const { attempt, route } = this.#failover
      const isDrained = route?.upstream.onAbort === 'drain'
      if (isKept) patience = setTimeout(() => this.end({ kind: 'gone' }), keptDrain.ms)
      else if (isDrained) patience = setTimeout(() => attempt?.destroy(), this.#deps.drain.ms)
      else attempt?.destroy()
    }
    this.#exchange.onGone = onGone
    const answer = await this.#failover.firstAnswer(isOver)
    if (patience) clearTimeout(patience)
    if (answer?.kind === 'whole' && !this.#isShutDown) await this.#deliverWhole(answer)
    else await this.#fail(this.#exchange.isGone)
  }

  async #deliverWhole(answer: WholeAnswer): Promise<void> {
    this.#failover.tellEnd('complete')
    this.#failover.nameModel(this.#asked.headers)
    const meter = new Meter()
    const facts = meter.take(answer.json)
    const bill = facts.hasContent || facts.hasFinish ? billOf(meter.usage, meter.tokens, this.#asked) : null
    const result: Result = {
      httpStatus: 200,
      outcome: this.#exchange.isGone ? 'aborted' : 'ok',
      finish: meter.finish,
      errorCode: null,
      firstTokenMs: null,
    }
    const charge = await this.#settle(bill, result, {
      kept: this.#kept(true, () => recordedWhole(answer.bytes, this.#asked.headers)),
    })
    const headers = ['content-type', 'application/json', 'x-sluice-cost', decimalOf(charge)]
    this.#exchange.answer(200, [...headers, ...this.#asked.headers], answer.bytes)
  }

  async stream(): Promise<void> {
    const { request, model } = this.#asked
    let inputTokens: number | null = null
    const delivery = new Delivery(this.#exchange, this.#deps.bookkeeper, this.#hold, {
      id: this.#asked.id,
      format: request.format,
      inputTokens: () => (inputTokens ??= request.inputTokens()),
      mostTokens: Math.min(request.maxOutputTokens ?? Infinity, modelTokensOf(model)) * request.n,
      headers: this.#asked.headers,
      keepAliveMs: this.#deps.keepAliveMs,
      slowClientMs: this.#deps.slowClientMs,
      kept: this.#asked.claim && { recording: new Recording(), drain: keptDrain },
    })
    this.#delivery = delivery
    void delivery.ended.then(() => this.#failover.attempt?.destroyUnlessDone())
    const answer = await this.#failover.firstAnswer(() => delivery.isEnded)
    if (answer?.kind === 'stream' && !delivery.isEnded) await this.#deliverStream(delivery, answer)
    else await this.#fail(delivery.wasLeft)
  }

  async #deliverStream(delivery: Delivery, { stream }: StreamedAnswer): Promise<void> {
    const { attempt, route } = this.#failover
    if (!attempt || !route) throw new Error('An answer came from nowhere.')
    this.#failover.nameModel(this.#asked.headers)
    const firstTokenMs = this.#ageMs
    const { meter } = stream
    delivery.attach(attempt, stream, route.upstream.onAbort === 'drain' ? this.#deps.drain : null)
    const ending = await delivery.ended
    this.#failover.tellEnd(seenOfUpstream(ending))
    const bill = this.#billOfStream(ending, meter, delivery)
    const result = resultOf(ending, delivery.wasLeft)
    const fault = ending.kind === 'broken' ? briefOf(ending.fault) : null
    const isWhole = ending.kind === 'complete' || ending.kind === 'money'
    const kept = this.#kept(isWhole, () => delivery.recorded(ending, bill.usage))
    const charge = await this.#settle(
      bill,
      { ...result, finish: meter.finish, firstTokenMs },
      { fault, kept },
    )
    await delivery.conclude(ending, charge, bill.usage)
  }

  /** A complete answer is billed as the provider says; a broken one by what was received of it. */
  #billOfStream(ending: Ending, meter: Meter, delivery: Delivery): Bill {
    const { request } = this.#asked
    if (ending.kind === 'complete') return billOf(meter.usage, meter.tokens, this.#asked)
    if (ending.kind === 'money') return estimatedBill(delivery.delivered, request)
    return meter.finish !== null && meter.usage
      ? billOf(meter.usage, meter.tokens, this.#asked)
      : estimatedBill(meter.tokens, request)
  }

  /** No upstream has answered, or the caller left before one did: nothing is charged. */
  async #fail(wasLeft: boolean): Promise<void> {
    const found = tellingFault(this.#failover.faults)
    const refusal = this.#isShutDown ? refuse('service_unavailable') : refusalOfFault(found)
    await this.#settle(
      null,
      {
        httpStatus: wasLeft ? 499 : refusal.status,
        outcome: wasLeft ? 'aborted' : 'failed',
        finish: null,
        errorCode: wasLeft ? null : refusal.code,
        fault: this.#failover.faults.at(-1)?.kind,
        faultUpstream: this.#failover.records.at(-1)?.upstream,
        firstTokenMs: null,
      },
      { fault: briefOf(found) },
    )
    if (this.#exchange.isGone) return
    if (this.#delivery?.refuse(refusal)) return
    throw refusal
  }

  /** Our own fault: the hold ends without a charge, and what was sent ends with an error. */
  async abandon(error: unknown): Promise<void> {
    this.#failover.attempt?.destroy()
    const refusal = refusalOf(error)
    if (!this.#isSettled) {
      const errorCode = refusal.code
      const result = { httpStatus: refusal.status, errorCode, finish: null, firstTokenMs: null }
      await this.#settle(null, { ...result, outcome: 'failed' })
    }
    this.#delivery?.refuse(refusal)
  }

  /** What is kept of an answer for who repeats the request; null for callers without a key. */
  #kept(isWhole: boolean, recorded: () => Uint8Array | null): KeptAnswer | null {
    if (!this.#asked.claim) return null
    const answer = recorded()
    const sealed = answer && this.#deps.keptAnswers.seal(answer, this.#asked.id)
    return { sealed, isWhole }
  }

  async #settle(bill: Bill | null, result: Result, also: Also = {}): Promise<bigint> {
    this.#isSettled = true
    const { id, caller, request, model } = this.#asked
    const upstreamCost = this.#failover.conclude(
      result.outcome === 'ok' ? 'ok' : attemptOutcome(result),
      bill,
    )
    const outcome: RequestOutcome = {
      ...result,
      upstream: this.#failover.route?.upstream.id ?? null,
      durationMs: Math.round(this.#ageMs),
      firstTokenMs: result.firstTokenMs === null ? null : Math.round(result.firstTokenMs),
      attempts: JSON.stringify(this.#failover.records),
      upstreamCost: upstreamCost?.toString() ?? null,
      isClamped: bill?.isClamped ?? false,
      stream: request.stream,
      model: model.id,
    }
    const cause = bill?.cause ?? 'estimate'
    const ask = { id, usage: bill?.usage ?? null, cause, servedModel: this.#failover.otherModel, outcome }
    const charge = await this.#deps.bookkeeper.settle(ask, also.kept ?? null)
    this.#deps.log({
      outcome,
      id,
      account: caller.accountId,
      key: caller.keyId,
      cost: charge,
      usage: bill?.usage ?? null,
      fault: also.fault ?? null,
    })
    return charge
  }
}
