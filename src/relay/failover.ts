/**
 * Which upstreams are asked, in which order, until one answers: by priority, within it by weight, each at most once
 * and at most three. What a caller did wrong is wrong everywhere, so it is not asked again.
 */
import type { LiveRoute, PricedModel } from '../catalog/catalog.ts'
import { costOf, type Usage } from '../ledger/price.ts'
import { decimalOf } from '../lib/money.ts'
import { providerOf } from '../providers/registry.ts'
import type { Call } from '../providers/provider.ts'
import { Attempt, type AttemptResult, type AttemptSetting } from './attempt.ts'
import type { CallerRequest } from './caller-format.ts'
import { fault, mayHelpElsewhere, type Fault } from './fault.ts'

const mostAttempts = 3

/** One upstream tried, as the automation contract shows it. */
export interface AttemptRecord {
  /** Its id. */
  readonly upstream: string
  outcome: 'ok' | 'failed' | 'aborted'
  readonly http_status: number | null
  duration_ms: number
  /** What it costs us, decimal; `null` when unknown. */
  cost: string | null
}

/** What outlives a request: what has been learned about upstreams. */
export interface UpstreamMemory {
  /** Upstreams that refuse `stream_options`. */
  readonly withoutStreamOptions: Set<string>
}

export type AttemptMeans = Pick<AttemptSetting, 'client' | 'maxAnswerBytes' | 'now'>

/** Routes in the order of asking: priorities ascending, within one a draw by weight. `chance`: 0 ≤ it < 1. */
export function routesInOrder(routes: readonly LiveRoute[], chance: () => number): LiveRoute[] {
  const left = [...routes]
  const order: LiveRoute[] = []
  while (left.length > 0 && order.length < mostAttempts) {
    const first = left[0]
    if (!first) break
    const equals = left.filter((route) => route.priority === first.priority)
    const total = equals.reduce((sum, route) => sum + route.weight, 0)
    let point = chance() * total
    const drawn = equals.find((route) => (point -= route.weight) < 0) ?? first
    order.push(drawn)
    left.splice(left.indexOf(drawn), 1)
  }
  return order
}

function refusesStreamOptions(found: Fault, stream: boolean): boolean {
  return (
    stream && found.kind === 'request' && /stream_options|include_usage/.test(found.message + found.param)
  )
}

/** The attempts of one request. */
export class Failover {
  readonly #request: CallerRequest
  readonly #maximumTokens: number | null
  readonly #means: AttemptMeans
  readonly #memory: UpstreamMemory
  readonly records: AttemptRecord[] = []
  readonly faults: Fault[] = []
  /** The one that is running, or has answered. */
  attempt: Attempt | null = null
  route: LiveRoute | null = null

  constructor(
    request: CallerRequest,
    maximumTokens: number | null,
    means: AttemptMeans,
    memory: UpstreamMemory,
  ) {
    this.#request = request
    this.#maximumTokens = maximumTokens
    this.#means = means
    this.#memory = memory
  }

  /** Asks one upstream after the other; `null` when none answered, see `faults`. No further one when `isOver`. */
  async firstAnswer(
    model: PricedModel,
    isOver: () => boolean,
  ): Promise<Exclude<AttemptResult, { kind: 'fault' }> | null> {
    const routes = routesInOrder(model.routes, Math.random)
    if (routes.length === 0) this.faults.push(fault('unavailable', 'No upstream serves this model.'))
    for (const route of routes) {
      let result = await this.#ask(route, model)
      if (result.kind === 'fault' && refusesStreamOptions(result.fault, this.#request.stream) && !isOver()) {
        this.#memory.withoutStreamOptions.add(route.upstream.id)
        this.faults.pop()
        result = await this.#ask(route, model)
      }
      if (result.kind !== 'fault') return result
      if (isOver() || !mayHelpElsewhere(result.fault.kind)) return null
    }
    return null
  }

  async #ask(route: LiveRoute, model: PricedModel): Promise<AttemptResult> {
    const { upstream, upstreamModel } = route
    const provider = providerOf(upstream.provider)
    if (!provider || upstream.proxy !== null) {
      // Never around a proxy: whoever set one does not want to be seen without.
      const words = provider ? 'Upstreams behind a proxy cannot be called yet.' : 'The provider is not known.'
      const found = fault('forbidden', words)
      this.faults.push(found)
      return { kind: 'fault', fault: found }
    }
    const wording = this.#request.wordingFor(provider)
    const call: Call = {
      body: wording,
      model: upstreamModel,
      maximumTokens: this.#maximumTokens,
      baseUrl: upstream.baseUrl,
      credential: upstream.credential,
      settings: upstream.settings,
      withoutStreamOptions: this.#memory.withoutStreamOptions.has(upstream.id),
      modelMaximumTokens: model.maxOutputTokens,
      nowMs: this.#means.now(),
    }
    const attempt = new Attempt(call, {
      ...this.#means,
      provider,
      wording,
      timeouts: upstream.timeouts,
    })
    this.attempt = attempt
    this.route = route
    attempt.send()
    const result = await attempt.result
    const isFault = result.kind === 'fault'
    this.records.push({
      upstream: upstream.id,
      outcome: isFault ? 'failed' : 'ok',
      http_status: attempt.status,
      duration_ms: attempt.ageMs,
      cost: isFault ? '0' : null,
    })
    if (isFault) this.faults.push(result.fault)
    return result
  }

  /** The answering attempt is over: how, and what its usage costs us at the upstream's own price. */
  conclude(outcome: AttemptRecord['outcome'], usage: Usage | null): bigint | null {
    const record = this.records.at(-1)
    if (!record || !this.attempt || !this.route) return null
    record.outcome = outcome
    record.duration_ms = this.attempt.ageMs
    const { price } = this.route.upstream
    if (!price || !usage) return null
    const cost = costOf(price, usage, 1_000_000)
    record.cost = decimalOf(cost)
    return cost
  }
}
