/**
 * Health checks of upstreams with `health_check_ms`: sends a small request when an upstream has been idle for that long, or
 * when its open circuit may be probed. So a failure or recovery of an idle upstream is known before a caller notices. The
 * cost of a check is recorded as a request of the operator.
 */
import type { LiveCredential, LiveRoute } from '../catalog/catalog.ts'
import type { CircuitKeys } from '../health/call-reports.ts'
import { costOf, type Usage } from '../ledger/price.ts'
import { newId } from '../lib/ids.ts'
import { formatAmount } from '../lib/money.ts'
import { findProvider } from '../providers/registry.ts'
import { classifyFailure } from '../relay/routing/failure-scope.ts'
import type { UpstreamAttempt } from '../relay/routing/attempt.ts'
import type { AttemptDeps } from '../relay/request-context.ts'
import type { UpstreamError } from '../relay/routing/upstream-error.ts'
import { circuitKeysFor } from '../relay/routing/route-stats.ts'
import type { Core } from '../engine/core.ts'
import { requestRow } from '../ledger/request-row.ts'
import { runTestCall } from '../relay/upstreams/operator-calls.ts'

/** The account, key and model under which checks appear among requests. */
export const healthCheckIdentity = {
  account: 'operator',
  key: 'health-check',
  model: 'health-check',
} as const

const checkDueEveryMs = 500
/** A check that takes longer fails. */
const maxDurationMs = 15_000

interface HealthCheckTarget {
  readonly route: LiveRoute
  readonly credential: LiveCredential
  readonly circuits: CircuitKeys
}

function targetsOf(core: Core): HealthCheckTarget[] {
  // A check is a chat completion.
  const models = core.catalog.models().filter(({ operations }) => operations.includes('chat'))
  const routes = models.flatMap((model) => model.routes)
  return routes
    .filter(({ upstream }) => upstream.healthCheckMs !== null)
    .flatMap((route) =>
      route.upstream.credentials.map((credential) => ({
        route,
        credential,
        circuits: circuitKeysFor(route, credential),
      })),
    )
}

export class HealthChecks {
  readonly #core: Core
  readonly #attemptDeps: AttemptDeps
  readonly #timer: NodeJS.Timeout
  /** When each target was last checked, by its circuit keys. */
  readonly #checkedAt = new Map<string, number>()
  readonly #running = new Map<string, UpstreamAttempt>()
  #isClosed = false

  constructor(core: Core, attemptDeps: AttemptDeps) {
    this.#core = core
    this.#attemptDeps = attemptDeps
    this.#timer = setInterval(() => this.#checkDue(), checkDueEveryMs)
    this.#timer.unref()
  }

  /** Aborts running checks without reporting them. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#isClosed = true
    const attempts = [...this.#running.values()]
    for (const attempt of attempts) attempt.destroy()
    await Promise.all(attempts.map(({ result }) => result))
  }

  #checkDue(): void {
    for (const target of targetsOf(this.#core)) if (this.#isDue(target)) void this.#check(target)
  }

  /** Whether a check is due. If the circuit is not closed, the check is its probe. */
  #isDue({ route, circuits }: HealthCheckTarget): boolean {
    const { breakers } = this.#core.health
    const name = `${circuits.route} ${circuits.credential}`
    const now = this.#attemptDeps.now()
    if (this.#running.has(name)) return false
    const states = Object.values(breakers.circuitsFor(circuits))
    if (states.some(({ state }) => state !== 'closed')) {
      const keys = [circuits.route, circuits.credential, circuits.credentialForModel]
      return breakers.acquireProbe(keys.filter((key) => breakers.get(key).state !== 'closed'))
    }
    const lastAt = Math.max(breakers.lastUsedAt(circuits.route), this.#checkedAt.get(name) ?? 0)
    return now - lastAt >= (route.upstream.healthCheckMs ?? Infinity)
  }

  async #check({ route, credential, circuits }: HealthCheckTarget): Promise<void> {
    const { upstream, upstreamModel: model } = route
    const provider = findProvider(upstream.provider)
    if (!provider) return
    const name = `${circuits.route} ${circuits.credential}`
    const startedAt = this.#attemptDeps.now()
    this.#checkedAt.set(name, startedAt)
    const options = { upstream, provider, credential: credential.credential, model, maxDurationMs }
    const onSend = (each: UpstreamAttempt): unknown => this.#running.set(name, each)
    const { attempt, result } = await runTestCall(this.#attemptDeps, options, onSend)
    this.#running.delete(name)
    if (this.#isClosed) return
    const latencyMs = attempt.ageMs
    this.#reportResult(circuits, startedAt, latencyMs, result.kind === 'error' ? result.error : null)
    const usage = result.kind === 'buffered' ? result.meter.usage : null
    const isHealthy = result.kind === 'buffered'
    this.#record(route, { startedAt, latencyMs, status: attempt.status, isHealthy }, usage)
  }

  /** An upstream that rejects the request is healthy: only failures that it causes itself count. */
  #reportResult(
    circuits: CircuitKeys,
    startedAt: number,
    latencyMs: number,
    error: UpstreamError | null,
  ): void {
    const { breakers } = this.#core.health
    const failure = error && classifyFailure(error)
    if (failure?.scope) return breakers.recordFailure({ ...failure, circuits, startedAt })
    breakers.recordSuccesses([{ route: circuits.route, answered: 1, latencyMs }])
    breakers.recordSuccess({ circuits, startedAt })
  }

  #record(
    { upstream, cost: price }: LiveRoute,
    check: { startedAt: number; latencyMs: number; status: number | null; isHealthy: boolean },
    usage: Usage | null,
  ): void {
    const { startedAt, latencyMs, status, isHealthy } = check
    const cost = price && usage ? costOf(price, usage, 1_000_000) : null
    const unknown = isHealthy ? null : '0'
    const attempt = {
      upstream: upstream.id,
      outcome: isHealthy ? 'ok' : 'failed',
      http_status: status,
      duration_ms: latencyMs,
      cost: cost === null ? unknown : formatAmount(cost),
    }
    const who = {
      id: newId('req'),
      at: startedAt,
      account: healthCheckIdentity.account,
      key: healthCheckIdentity.key,
    }
    const outcome = {
      httpStatus: status ?? 503,
      outcome: isHealthy ? 'ok' : 'failed',
      upstream: upstream.id,
      finish: null,
      errorCode: isHealthy ? null : 'upstream_unavailable',
      firstTokenMs: null,
      durationMs: latencyMs,
      attempts: JSON.stringify([attempt]),
      upstreamCost: cost?.toString() ?? null,
      isClamped: false,
      stream: false,
      model: healthCheckIdentity.model,
    } as const
    const bill = usage && { usage, cause: 'provider' as const, charge: 0n, overrun: 0n, balance: 0n }
    this.#core.recordRequest(requestRow({ ...who, amount: 0n, priceVersion: 0 }, outcome, bill))
  }
}
