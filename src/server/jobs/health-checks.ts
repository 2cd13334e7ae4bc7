/**
 * Checks of upstreams that ask for them (`health_check_ms`): something small is asked when nobody else has asked for
 * that long, and of one that rests, as soon as it has rested. So an idle upstream's trouble is known before a caller
 * meets it, and its return as well. What a check costs is written down as a request of the operator's.
 */
import type { LiveCredential, LiveRoute, LiveUpstream } from '../../catalog/catalog.ts'
import type { Circuits } from '../../health/observation.ts'
import { costOf, type Usage } from '../../ledger/price.ts'
import { newId } from '../../lib/ids.ts'
import { decimalOf } from '../../lib/money.ts'
import { providerOf } from '../../providers/registry.ts'
import { verdictOn } from '../../relay/blame.ts'
import type { Attempt } from '../../relay/routing/attempt.ts'
import type { AttemptMeans } from '../../relay/failover.ts'
import type { Fault } from '../../relay/routing/upstream-error.ts'
import { Meter } from '../../relay/streaming/usage-meter.ts'
import { circuitsWith } from '../../relay/place.ts'
import type { Core } from '../core.ts'
import { requestRow } from '../ledger/request-row.ts'
import { cheapCall } from '../try-upstream.ts'

/** How the checks are named among requests: as account, key and model. */
export const checkedBy = { account: 'operator', key: 'health-check', model: 'health-check' } as const

const lookEveryMs = 500
/** A check that takes longer has failed. */
const mostMs = 15_000

interface Call {
  readonly route: LiveRoute
  readonly credential: LiveCredential
  readonly circuits: Circuits
}

function callsOf(core: Core): Call[] {
  const routes = core.catalog.models().flatMap((model) => model.routes)
  return routes
    .filter(({ upstream }) => upstream.healthCheckMs !== null)
    .flatMap((route) =>
      route.upstream.credentials.map((credential) => ({
        route,
        credential,
        circuits: circuitsWith(route, credential),
      })),
    )
}

export class HealthChecks {
  readonly #core: Core
  readonly #means: AttemptMeans
  readonly #timer: NodeJS.Timeout
  /** When each call was last checked, by its circuits' names. */
  readonly #checkedAt = new Map<string, number>()
  readonly #running = new Map<string, Attempt>()
  #isClosed = false

  constructor(core: Core, means: AttemptMeans) {
    this.#core = core
    this.#means = means
    this.#timer = setInterval(() => this.#look(), lookEveryMs)
    this.#timer.unref()
  }

  /** Checks under way are given up, and say nothing. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#isClosed = true
    const attempts = [...this.#running.values()]
    for (const attempt of attempts) attempt.destroy()
    await Promise.all(attempts.map(({ result }) => result))
  }

  #look(): void {
    for (const call of callsOf(this.#core)) if (this.#isDue(call)) void this.#check(call)
  }

  /** True when it is time; one that has rested is then being probed by this check. */
  #isDue({ route, circuits }: Call): boolean {
    const { board } = this.#core.health
    const name = `${circuits.place} ${circuits.credential}`
    const now = this.#means.now()
    if (this.#running.has(name)) return false
    const states = Object.values(board.statesOf(circuits))
    if (states.some(({ state }) => state !== 'closed')) {
      const keys = [circuits.place, circuits.credential, circuits.credentialForModel]
      return board.probe(keys.filter((key) => board.at(key).state !== 'closed'))
    }
    const lastAt = Math.max(board.usedAt(circuits.place), this.#checkedAt.get(name) ?? 0)
    return now - lastAt >= (route.upstream.healthCheckMs ?? Infinity)
  }

  async #check({ route, credential, circuits }: Call): Promise<void> {
    const { upstream, upstreamModel: model } = route
    const provider = providerOf(upstream.provider)
    if (!provider) return
    const name = `${circuits.place} ${circuits.credential}`
    const startedAt = this.#means.now()
    this.#checkedAt.set(name, startedAt)
    const attempt = cheapCall(this.#means, {
      upstream,
      provider,
      credential: credential.credential,
      model,
      mostMs,
    })
    this.#running.set(name, attempt)
    const result = await attempt.result
    this.#running.delete(name)
    if (this.#isClosed) return
    const latencyMs = attempt.ageMs
    this.#tell(circuits, startedAt, latencyMs, result.kind === 'fault' ? result.fault : null)
    const meter = new Meter()
    if (result.kind === 'whole') meter.take(result.json)
    const isWell = result.kind === 'whole'
    this.#record(upstream, { startedAt, latencyMs, status: attempt.status, isWell }, meter.usage)
  }

  /** Whoever refuses the question has heard it: only what is the upstream's own fault speaks against it. */
  #tell(circuits: Circuits, startedAt: number, latencyMs: number, found: Fault | null): void {
    const { board } = this.#core.health
    const verdict = found && verdictOn(found)
    if (verdict?.blame) return board.failed({ ...verdict, circuits, startedAt })
    board.count([{ place: circuits.place, answered: 1, latencyMs }])
    board.answered({ circuits, startedAt })
  }

  #record(
    upstream: LiveUpstream,
    seen: { startedAt: number; latencyMs: number; status: number | null; isWell: boolean },
    usage: Usage | null,
  ): void {
    const { startedAt, latencyMs, status, isWell } = seen
    const cost = upstream.price && usage ? costOf(upstream.price, usage, 1_000_000) : null
    const unknown = isWell ? null : '0'
    const attempt = {
      upstream: upstream.id,
      outcome: isWell ? 'ok' : 'failed',
      http_status: status,
      duration_ms: latencyMs,
      cost: cost === null ? unknown : decimalOf(cost),
    }
    const who = { id: newId('req'), at: startedAt, account: checkedBy.account, key: checkedBy.key }
    const outcome = {
      httpStatus: status ?? 503,
      outcome: isWell ? 'ok' : 'failed',
      upstream: upstream.id,
      finish: null,
      errorCode: isWell ? null : 'upstream_unavailable',
      firstTokenMs: null,
      durationMs: latencyMs,
      attempts: JSON.stringify([attempt]),
      upstreamCost: cost?.toString() ?? null,
      isClamped: false,
      stream: false,
      model: checkedBy.model,
    } as const
    const bill = usage && { usage, cause: 'provider' as const, charge: 0n, balance: 0n }
    this.#core.record(requestRow({ ...who, amount: 0n, priceVersion: 0 }, outcome, bill))
  }
}
