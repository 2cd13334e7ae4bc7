/**
 * One request, from an admitted caller to a paid answer. Read this first:
 * money is set aside, an upstream is asked, its answer passes through, the bill is settled and durable, and only then
 * is the last word said. Whatever goes wrong on the way, the hold ends exactly once.
 */
import { performance } from 'node:perf_hooks'
import { refuse, refusalOf } from '../errors.ts'
import type { Caller } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import { decimalOf } from '../lib/money.ts'
import type { Bookkeeper, HoldGranted, RequestOutcome } from './bookkeeper.ts'
import { billOf, estimatedBill, modelTokensOf, type Bill } from './bill.ts'
import type { CallerRequest } from './caller-format.ts'
import { Delivery, type Ending } from './delivery.ts'
import { inputEstimateForHold } from './estimate.ts'
import type { CallerExchange } from './exchange.ts'
import { attemptOutcome, refusalOfEnding, resultOf, type Result } from './endings.ts'
import { Failover, type AttemptMeans, type UpstreamMemory } from './failover.ts'
import { briefOf, refusalOfFault, tellingFault } from './fault.ts'
import { Meter } from './meter.ts'
import { rateHeaders } from './rate-headers.ts'
import type { StreamedAnswer } from './attempt.ts'
import type { WholeAnswer } from './whole-answer.ts'

export interface RelayDeps extends AttemptMeans {
  readonly bookkeeper: Bookkeeper
  readonly memory: UpstreamMemory
  readonly keepAliveMs: number
  readonly slowClientMs: number
  /** Bounds of reading on after a caller has left. */
  readonly drain: { readonly tokens: number; readonly ms: number }
  /** Told once per request, for its line in the log. */
  readonly log: (line: RequestLine) => void
}

/** How far a request has come, for whoever has to tell of its refusal. */
export interface Progress {
  model: string
  stream: boolean
  /** From here on the relay writes its row and its line in the log. */
  isAdmitted: boolean
}

/** A request that has been read and may be made by its caller. */
export interface Asked {
  readonly id: string
  readonly caller: Caller
  readonly model: PricedModel
  readonly request: CallerRequest
  /** Sent with every answer, refusals too; the relay adds to it. */
  readonly headers: string[]
  readonly progress: Progress
  /** `performance.now()` at arrival. */
  readonly startedMs: number
}

export interface RequestLine {
  readonly outcome: RequestOutcome
  readonly id: string
  readonly account: string
  readonly key: string
  readonly cost: bigint
  readonly usage: Bill['usage'] | null
  readonly fault: string | null
}

/** Ends running streams when the relay is shut down. */
export interface Running {
  end(ending: Ending): void
}

/** Relays one request. Throws the refusal to answer when nothing has been sent. */
export async function relayChat(
  deps: RelayDeps,
  asked: Asked,
  exchange: CallerExchange,
  running: Set<Running>,
): Promise<void> {
  const hold = await admit(deps, asked)
  asked.progress.isAdmitted = true
  const work = new Relaying(deps, asked, exchange, hold)
  running.add(work)
  try {
    await (asked.request.stream ? work.stream() : work.whole())
  } catch (error) {
    await work.abandon(error)
    throw error
  } finally {
    running.delete(work)
  }
}

async function admit(deps: RelayDeps, asked: Asked): Promise<HoldGranted> {
  const { request, model, caller } = asked
  const answer = await deps.bookkeeper.hold({
    id: asked.id,
    keyId: caller.keyId,
    model: model.id,
    inputTokens: inputEstimateForHold(request.bytes, request.embedded),
    results: request.n,
    askedTokens: request.maxOutputTokens,
    stream: request.stream,
  })
  if (answer.rates) asked.headers.push(...rateHeaders(answer.rates))
  if (!answer.granted) throw refuse(answer.code, answer.detail)
  return answer
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
    this.#failover = new Failover(asked.request, hold.maximumTokens, deps, deps.memory)
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
    const isOver = (): boolean => this.#exchange.isGone || this.#isShutDown
    let patience: NodeJS.Timeout | null = null
    this.#exchange.onGone = () => {
      const { attempt, route } = this.#failover
      if (route?.upstream.onAbort !== 'drain') attempt?.destroy()
      else patience = setTimeout(() => attempt?.destroy(), this.#deps.drain.ms)
    }
    const answer = await this.#failover.firstAnswer(this.#asked.model, isOver)
    if (patience) clearTimeout(patience)
    if (answer?.kind === 'whole' && !this.#isShutDown) await this.#deliverWhole(answer)
    else await this.#fail(this.#exchange.isGone)
  }

  async #deliverWhole(answer: WholeAnswer): Promise<void> {
    const meter = new Meter()
    const facts = meter.take(answer.json)
    const bill = facts.hasContent || facts.hasFinish ? billOf(meter.usage, meter.tokens, this.#asked) : null
    const charge = await this.#settle(bill, {
      httpStatus: 200,
      outcome: this.#exchange.isGone ? 'aborted' : 'ok',
      finish: meter.finish,
      errorCode: null,
      firstTokenMs: null,
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
    })
    this.#delivery = delivery
    void delivery.ended.then(() => this.#failover.attempt?.destroyUnlessDone())
    const answer = await this.#failover.firstAnswer(model, () => delivery.isEnded)
    if (answer?.kind === 'stream' && !delivery.isEnded) await this.#deliverStream(delivery, answer)
    else await this.#fail(delivery.wasLeft)
  }

  async #deliverStream(delivery: Delivery, { stream }: StreamedAnswer): Promise<void> {
    const { attempt, route } = this.#failover
    if (!attempt || !route) throw new Error('An answer came from nowhere.')
    const firstTokenMs = this.#ageMs
    const { meter } = stream
    delivery.attach(attempt, stream, route.upstream.onAbort === 'drain' ? this.#deps.drain : null)
    const ending = await delivery.ended
    const bill = this.#billOfStream(ending, meter, delivery)
    const result = resultOf(ending, delivery.wasLeft)
    const fault = ending.kind === 'broken' ? briefOf(ending.fault) : null
    const charge = await this.#settle(bill, { ...result, finish: meter.finish, firstTokenMs }, fault)
    if (ending.kind === 'complete' || ending.kind === 'money') {
      await delivery.conclude(ending, charge, bill.usage)
    } else {
      await delivery.concludeBroken(refusalOfEnding(ending), ending)
    }
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
        firstTokenMs: null,
      },
      briefOf(found),
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

  async #settle(bill: Bill | null, result: Result, fault: string | null = null): Promise<bigint> {
    this.#isSettled = true
    const { id, caller, request, model } = this.#asked
    const upstreamCost = this.#failover.conclude(
      result.outcome === 'ok' ? 'ok' : attemptOutcome(result),
      bill?.usage ?? null,
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
    const charge = await this.#deps.bookkeeper.settle({ id, usage: bill?.usage ?? null, cause, outcome })
    this.#deps.log({
      outcome,
      id,
      account: caller.accountId,
      key: caller.keyId,
      cost: charge,
      usage: bill?.usage ?? null,
      fault,
    })
    return charge
  }
}
