/**
 * Monitors the models and the relay's own API: every two seconds it reads the outcomes of new requests, and opens and
 * closes incidents; every 30 s it checks whether the burn rate of the monthly error budget of a model is too high. Its
 * queries run on the reader threads; a failed check is repeated by the next one.
 */
import type { Db } from '../db/db.ts'
import { isUnavailable } from '../db/store-error.ts'
import { isLongOutage, type AdmissionOutage, type AdmissionOutages } from '../health/admission-outage.ts'
import { burnRate, noModel, relayApi, sumByModelSince, type OutcomeCounts } from '../health/availability.ts'
import {
  closeAutomaticIncident,
  openAutomaticIncident,
  listMonitoredIncidents,
  raiseAutomaticSeverity,
  type MonitoredIncident,
} from '../health/automatic-incidents.ts'
import type { Incident, IncidentSeverity } from '../health/incidents.ts'
import {
  burnRules,
  isBurning,
  evaluateFailing,
  evaluateHealthy,
  type Evaluation,
  type EvaluationOptions,
  type RecentOutcomeCounts,
} from '../health/objective-evaluation.ts'
import { objectiveFor, readObjectives, type Objectives } from '../health/objectives.ts'
import { RecentOutcomes } from '../health/recent-outcomes.ts'
import type { Log } from '../lib/log.ts'
import { PeriodicJob } from './periodic-job.ts'
import { deleteOldMinutes } from '../usage/rollups/availability-rollup.ts'

/** What the monitor has found; a listener notifies operators and users. */
export type IncidentFinding =
  | { readonly kind: 'opened' | 'closed'; readonly incident: Incident }
  | {
      readonly kind: 'burning'
      readonly model: string
      readonly rule: 'fast' | 'slow'
      /** How many times faster than allowed. */
      readonly burn: number
      readonly objective: number
    }

export interface IncidentMonitorDeps {
  readonly db: Db
  readonly log: Log
  readonly options: EvaluationOptions & { readonly objectivePercent: number }
  /** The times in which this node admitted no requests. */
  readonly outages: Pick<AdmissionOutages, 'latest' | 'current'>
  readonly onFinding: (finding: IncidentFinding) => Promise<void>
}

const checkEveryMs = 2000
const checkBurnRateEveryMs = 30_000
const deleteOldEveryMs = 60_000

/** An outage that ended longer ago is not recorded any more: another leader has, or its incident may not be reopened. */
const maxOutageAgeMs = 10 * 60_000

const ranks: Record<IncidentSeverity, number> = { minor: 0, major: 1, critical: 2 }

export class IncidentMonitor extends PeriodicJob {
  readonly #deps: IncidentMonitorDeps
  readonly #recent = new RecentOutcomes()
  /** Alerts that were sent and still apply: `rule model`. */
  readonly #activeBurnAlerts = new Set<string>()
  #nextBurnCheckAt = 0
  #nextDeleteAt = 0

  constructor(deps: IncidentMonitorDeps) {
    super(checkEveryMs)
    this.#deps = deps
  }

  protected async run(): Promise<void> {
    const { db, options } = this.#deps
    const now = Date.now()
    while (await this.#recent.poll(db, now)) if (this.isClosed) return
    this.#recent.prune(now)
    const objectives = await readObjectives(db, options.objectivePercent)
    await this.#evaluateModels(objectives, now)
    if (now >= this.#nextBurnCheckAt) {
      this.#nextBurnCheckAt = now + checkBurnRateEveryMs
      await this.#evaluateBurnRates(objectives, now)
    }
    if (now >= this.#nextDeleteAt) {
      this.#nextDeleteAt = now + deleteOldEveryMs
      await deleteOldMinutes(db, now)
    }
  }

  protected onError(error: unknown): void {
    const isExpected = isUnavailable(error) && this.#deps.outages.current !== null
    if (!isExpected) this.#deps.log.warn({ err: error }, 'incident monitor failed')
  }

  async #evaluateModels(objectives: Objectives, now: number): Promise<void> {
    const watched = await listMonitoredIncidents(this.#deps.db, now)
    for (const model of new Set([...this.#recent.models(), ...watched.keys()])) {
      if (model !== noModel)
        await this.#evaluateModel(model, watched.get(model), objectiveFor(objectives, model), now)
    }
    await this.#evaluateRelayApi(watched.get(noModel), objectiveFor(objectives, relayApi), now)
  }

  async #evaluateModel(
    model: string,
    latest: MonitoredIncident | undefined,
    objective: number,
    now: number,
  ): Promise<void> {
    const terms = { ...this.#deps.options, objective }
    const past: RecentOutcomeCounts = {
      since: (from) => this.#recent.since(model, from),
      lastFailure: this.#recent.lastFailure(model),
    }
    if (latest === undefined || latest.closedAt !== null) {
      const status = evaluateHealthy(past, terms, { now, since: latest?.closedAt ?? 0 })
      if (status.kind === 'failing') await this.#open({ model, severity: status.severity, at: now }, latest)
      return
    }
    await this.#continue(latest, evaluateFailing(past, terms, { now, since: latest.updatedAt }), now)
  }

  /** The incident of an outage of admission begins with the outage, even if the store could not take it until now. */
  async #evaluateRelayApi(
    latest: MonitoredIncident | undefined,
    objective: number,
    now: number,
  ): Promise<void> {
    const { outages, options } = this.#deps
    const terms = { ...options, objective }
    const past: RecentOutcomeCounts = {
      since: (from) => this.#recent.relayApiSince(from),
      lastFailure: this.#recent.lastFailure(noModel),
    }
    if (latest === undefined || latest.closedAt !== null) {
      const status = evaluateHealthy(past, terms, { now, since: latest?.closedAt ?? 0 })
      const outage = this.#unrecordedOutage(latest, now)
      const isLong = outage !== null && isLongOutage(outage, now)
      if (!isLong && status.kind !== 'failing') return
      const severity = isLong || status.kind !== 'failing' ? 'critical' : status.severity
      const about = { model: noModel, severity, at: outage?.since ?? now, id: outage?.id } as const
      return this.#open(about, latest)
    }
    if (outages.current !== null)
      return this.#continue(latest, { kind: 'failing', severity: 'critical' }, now)
    const since = Math.max(latest.updatedAt, outages.latest?.until ?? 0)
    const hasRecovered =
      now - since >= options.recoveryMs && past.since(now - options.recoveryMs).failed === 0
    const status: Evaluation = hasRecovered
      ? { kind: 'recovered' }
      : evaluateFailing(past, terms, { now, since })
    await this.#continue(latest, status, now)
  }

  /** An outage that is not part of the latest incident. */
  #unrecordedOutage(latest: MonitoredIncident | undefined, now: number): AdmissionOutage | null {
    const outage = this.#deps.outages.latest
    if (outage === null || outage.since <= (latest?.closedAt ?? 0)) return null
    return now - (outage.until ?? now) > maxOutageAgeMs ? null : outage
  }

  async #open(
    about: Parameters<typeof openAutomaticIncident>[1],
    latest: MonitoredIncident | undefined,
  ): Promise<void> {
    const incident = await openAutomaticIncident(this.#deps.db, about, latest)
    if (incident !== null) await this.#deps.onFinding({ kind: 'opened', incident })
  }

  /** Raises the severity of an open incident, or closes it. */
  async #continue(latest: MonitoredIncident, status: Evaluation, now: number): Promise<void> {
    const { db, onFinding } = this.#deps
    if (status.kind === 'failing' && ranks[status.severity] > ranks[latest.severity])
      await raiseAutomaticSeverity(db, latest.id, status.severity)
    if (status.kind !== 'recovered' && status.kind !== 'quiet') return
    const incident = await closeAutomaticIncident(db, latest, status.kind, now)
    if (incident !== null) await onFinding({ kind: 'closed', incident })
  }

  async #evaluateBurnRates(objectives: Objectives, now: number): Promise<void> {
    const { db, onFinding, options } = this.#deps
    const noOutcomes: OutcomeCounts = { answered: 0, failed: 0 }
    for (const rule of burnRules) {
      const [longs, shorts] = await Promise.all([
        sumByModelSince(db, now - rule.longMs),
        sumByModelSince(db, now - rule.shortMs),
      ])
      longs.delete(noModel)
      for (const [model, long] of longs) {
        const objective = objectiveFor(objectives, model)
        const counts = { long, short: shorts.get(model) ?? noOutcomes }
        const name = `${rule.name} ${model}`
        if (!isBurning(counts, rule, { objective, minFailures: options.minFailures }))
          this.#activeBurnAlerts.delete(name)
        else if (!this.#activeBurnAlerts.has(name)) {
          this.#activeBurnAlerts.add(name)
          await onFinding({
            kind: 'burning',
            model,
            rule: rule.name,
            burn: burnRate(long, objective),
            objective,
          })
        }
      }
    }
  }
}
