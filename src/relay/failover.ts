/**
 * Upstreams are asked one after another until one answers: each at most once, at most three, and within the node's
 * budget (choice.ts says which). What a caller did wrong is wrong everywhere, so it is not asked again. What is seen
 * of each upstream is told, so that the next request knows.
 */
import type { LiveRoute, PricedModel } from '../catalog/catalog.ts'
import { costOf } from '../ledger/price.ts'
import { decimalOf } from '../lib/money.ts'
import { dialectOf } from '../providers/registry.ts'
import type { Call } from '../providers/provider.ts'
import type { AttemptRecord } from './routing/attempt-record.ts'
import { Attempt, type AttemptResult, type AttemptSetting, type Timeouts } from './routing/attempt.ts'
import type { Bill } from './bill.ts'
import { verdictOn } from './blame.ts'
import type { CallerRequest } from './caller-format.ts'
import { Choice, type Candidate } from './choice.ts'
import { fault, mayHelpElsewhere, type Fault } from './routing/upstream-error.ts'
import type { HealthPort } from './health-port.ts'
import { circuitsWith, noteLatency, placeOf, usualMs } from './place.ts'

const mostAttempts = 3
/** Bounds of what a caller waits for an upstream that may still be down, while another is ready. */
const probeWait = { leastMs: 3000, usualMs: 10_000, timesUsual: 4 } as const

/** What outlives a request: what has been learned about upstreams, by whichever worker. */
export interface UpstreamMemory {
  /** Ids of upstreams that refuse `stream_options`. */
  readonly withoutStreamOptions: ReadonlySet<string>
  /** One more has refused them. */
  learn(upstream: string): void
}

export type AttemptMeans = Pick<AttemptSetting, 'client' | 'maxAnswerBytes' | 'now'>

function refusesStreamOptions(found: Fault, stream: boolean): boolean {
  return (
    stream && found.kind === 'request' && /stream_options|include_usage/.test(found.message + found.param)
  )
}

/** What the attempts of one request are made of. */
export interface Endeavour {
  readonly request: CallerRequest
  /** A maximum of output tokens that money requires. */
  readonly maximumTokens: number | null
  /** The model asked for, then those that may answer in its place. */
  readonly models: readonly PricedModel[]
  /** Stays the same for a conversation that has to stay with its upstream; `null` where it has not. */
  readonly conversation: number | null
}

export interface FailoverParts extends AttemptMeans {
  readonly memory: UpstreamMemory
  readonly health: HealthPort
}

/** Where there is nothing to choose, the choice is made once. */
const alone = new WeakMap<PricedModel, Candidate>()

function onlyOne(models: readonly PricedModel[]): Candidate | null {
  const [model] = models
  const route = model?.routes[0]
  const credential = route?.upstream.credentials[0]
  if (!model || !route || !credential) return null
  if (models.length > 1 || model.routes.length > 1 || route.upstream.credentials.length > 1) return null
  const known = alone.get(model)
  if (known) return known
  const circuits = circuitsWith(route, credential)
  const only: Candidate = { route, model, credential, circuits, probes: [], hasOthers: false }
  alone.set(model, only)
  return only
}

/** The attempts of one request. */
export class Failover {
  readonly #endeavour: Endeavour
  readonly #parts: FailoverParts
  #choice: Choice | null = null
  readonly records: AttemptRecord[] = []
  readonly faults: Fault[] = []
  /** The one that is running, or has answered. */
  attempt: Attempt | null = null
  #candidate: Candidate | null = null
  #startedAt = 0
  #latencyMs = 0
  #isTold = false

  constructor(endeavour: Endeavour, parts: FailoverParts) {
    this.#endeavour = endeavour
    this.#parts = parts
  }

  get route(): LiveRoute | null {
    return this.#candidate?.route ?? null
  }

  /** The model that answers in the place of the one that was asked for; `null`: none does. */
  get otherModel(): string | null {
    const model = this.#candidate?.model
    return model && model !== this.#endeavour.models[0] ? model.id : null
  }

  /** Says which model it is where it is another, before anything of its answer goes out. */
  nameModel(headers: string[]): void {
    if (this.otherModel !== null) headers.push('x-sluice-model', this.otherModel)
  }

  /** Asks one upstream after the other; `null` when none answered, see `faults`. No further one when `isOver`. */
  async firstAnswer(isOver: () => boolean): Promise<Exclude<AttemptResult, { kind: 'fault' }> | null> {
    let candidate =
      onlyOne(this.#endeavour.models) ?? (await this.#permitted(this.#choose().next(true), true))
    if (isOver()) return null
    if (!candidate) this.faults.push(fault('unavailable', 'No upstream serves this model.'))
    for (let count = 1; candidate; count += 1) {
      const result = await this.#askWithUsage(candidate, isOver)
      if (result.kind !== 'fault') return result
      if (isOver()) return null
      const isBlamed = this.#tellFault(result.fault)
      if (count === mostAttempts || !mayHelpElsewhere(result.fault.kind)) return null
      candidate = await this.#nextAfter(candidate, result.fault, isBlamed)
      if (!candidate || isOver() || !(await this.#parts.health.mayRetry()) || isOver()) return null
    }
    return null
  }

  #choose(): Choice {
    const { request, models, conversation } = this.#endeavour
    const { health, now } = this.#parts
    this.#choice ??= new Choice(models, {
      health,
      latencyOf: (route) => usualMs(placeOf(route), request.stream, now()),
      conversation,
      now,
      chance: Math.random,
    })
    return this.#choice
  }

  /** The next to ask after a fault: where only its credential was at fault, the same upstream with another. */
  #nextAfter(candidate: Candidate, found: Fault, isBlamed: boolean): Promise<Candidate | null> {
    const choice = this.#choose()
    choice.tried(candidate)
    const isOfCredential = found.kind === 'credential' || found.kind === 'rate'
    const other = isOfCredential ? choice.withOtherCredential(candidate) : null
    // What the caller did is not worth waking one that rests.
    return this.#permitted(other ?? choice.next(isBlamed), isBlamed)
  }

  /** The candidate, or another one where it would have to be a probe and another request is. */
  async #permitted(first: Candidate | null, lastResort: boolean): Promise<Candidate | null> {
    let candidate = first
    while (candidate && candidate.probes.length > 0) {
      if (await this.#parts.health.mayProbe(candidate.probes)) return candidate
      this.#choose().passOver(candidate)
      candidate = this.#choose().next(lastResort)
    }
    return candidate
  }

  /** Asks once; and once more where it is only the wish for the usage that the upstream refuses. */
  async #askWithUsage(candidate: Candidate, isOver: () => boolean): Promise<AttemptResult> {
    const { memory } = this.#parts
    const result = await this.#ask(candidate)
    if (
      result.kind !== 'fault' ||
      !refusesStreamOptions(result.fault, this.#endeavour.request.stream) ||
      isOver()
    ) {
      return result
    }
    memory.learn(candidate.route.upstream.id)
    this.faults.pop()
    return this.#ask(candidate)
  }

  async #ask(candidate: Candidate): Promise<AttemptResult> {
    const { route, model, credential } = candidate
    const { upstream, upstreamModel } = route
    const { request, maximumTokens } = this.#endeavour
    const provider = dialectOf(upstream.provider, upstreamModel)
    this.#isTold = false
    this.#candidate = candidate
    this.#startedAt = this.#parts.now()
    if (!provider) {
      const found = fault('forbidden', 'The provider is not known.')
      this.faults.push(found)
      return { kind: 'fault', fault: found }
    }
    const wording = request.wordingFor(provider)
    const call: Call = {
      body: wording,
      model: upstreamModel,
      maximumTokens,
      baseUrl: upstream.baseUrl,
      credential: credential.credential,
      settings: upstream.settings,
      withoutStreamOptions: this.#parts.memory.withoutStreamOptions.has(upstream.id),
      modelMaximumTokens: model.maxOutputTokens,
      nowMs: this.#startedAt,
    }
    const timeouts = this.#timeoutsFor(candidate)
    const attempt = new Attempt(call, { ...this.#parts, provider, wording, timeouts, proxy: upstream.proxy })
    this.attempt = attempt
    attempt.send()
    const result = await attempt.result
    const isFault = result.kind === 'fault'
    this.#latencyMs = attempt.ageMs
    this.records.push({
      upstream: upstream.id,
      outcome: isFault ? 'failed' : 'ok',
      http_status: attempt.status,
      duration_ms: this.#latencyMs,
      cost: isFault ? '0' : null,
    })
    if (isFault) this.faults.push(result.fault)
    return result
  }

  /** A caller who is the probe of an upstream does not wait for it as long, while another is ready. */
  #timeoutsFor({ route, hasOthers }: Candidate): Timeouts {
    const { timeouts } = route.upstream
    if (!hasOthers) return timeouts
    const { stream } = this.#endeavour.request
    const usual = usualMs(placeOf(route), stream, this.#parts.now())
    const waitMs =
      usual === null ? probeWait.usualMs : Math.max(probeWait.leastMs, usual * probeWait.timesUsual)
    return {
      connectMs: Math.min(timeouts.connectMs, waitMs),
      firstTokenMs: Math.min(timeouts.firstTokenMs, waitMs),
      idleMs: stream ? timeouts.idleMs : Math.min(timeouts.idleMs, waitMs),
      answerMs: Math.min(timeouts.answerMs, waitMs),
    }
  }

  /** Tells what a fault says about its upstream; false when it says nothing against anybody. */
  #tellFault(found: Fault): boolean {
    const candidate = this.#candidate
    if (!candidate || this.#isTold) return false
    this.#isTold = true
    const verdict = verdictOn(found)
    if (verdict.blame === null && candidate.probes.length === 0) return false
    this.#parts.health.failed({ ...verdict, circuits: candidate.circuits, startedAt: this.#startedAt })
    return verdict.blame !== null
  }

  /**
   * Tells how an answer that had begun has come to its end: complete, with a fault, or (`null`) in a way that says
   * nothing about the upstream.
   */
  tellEnd(end: 'complete' | Fault | null): void {
    const candidate = this.#candidate
    if (!candidate || this.#isTold) return
    if (end !== null && end !== 'complete') {
      this.#tellFault(end)
      return
    }
    this.#isTold = true
    const { circuits, probes, route } = candidate
    const startedAt = this.#startedAt
    if (end === 'complete') {
      noteLatency(
        placeOf(route),
        this.#endeavour.request.stream,
        this.#latencyMs,
        startedAt + this.#latencyMs,
      )
      this.#parts.health.answered(circuits, startedAt, this.#latencyMs)
    } else if (probes.length > 0) {
      this.#parts.health.failed({ circuits, startedAt, blame: null, restMs: null, why: '' })
    }
  }

  /** The answering attempt is over: how, and what its usage costs us at the upstream's own price. */
  conclude(outcome: AttemptRecord['outcome'], bill: Bill | null): bigint | null {
    this.tellEnd(null)
    const record = this.records.at(-1)
    if (!record || !this.attempt || !this.route) return null
    record.outcome = outcome
    record.duration_ms = this.attempt.ageMs
    if (bill?.isClamped) record.clamped = true
    if (bill?.usage.searches) record.searches = bill.usage.searches
    const { price } = this.route.upstream
    if (!price || !bill) return null
    const cost = costOf(price, bill.usage, 1_000_000)
    record.cost = decimalOf(cost)
    return cost
  }
}
