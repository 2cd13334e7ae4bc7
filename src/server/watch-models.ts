/**
 * The watch over the models: every few seconds it reads how requests ended since the last look, and opens and closes
 * incidents; every half a minute it looks whether a month's budget of failures is being spent too fast. Its queries
 * run in the reading threads, beside everything else; what fails is tried again by the next look.
 */
import type { Db } from '../db/db.ts'
import { forgetMinutes, minutesKeptMs } from '../db/availability-rollup.ts'
import { burnOf, sumsSince, type Counts } from '../health/availability.ts'
import {
  closeAutomatic,
  openAutomatic,
  watchedIncidents,
  worsenAutomatic,
  type WatchedIncident,
} from '../health/automatic-incidents.ts'
import type { Incident, IncidentSeverity } from '../health/incidents.ts'
import { burnRules, isBurning, judgeIll, judgeWell, type JudgeTerms, type Past } from '../health/judge.ts'
import { objectiveFor, readObjectives, type Objectives } from '../health/objectives.ts'
import { RecentOutcomes } from '../health/recent-outcomes.ts'
import type { Log } from '../lib/log.ts'

/** What the watch has found; a listener tells people. */
export type Finding =
  | { readonly kind: 'opened' | 'closed'; readonly incident: Incident }
  | {
      readonly kind: 'burning'
      readonly model: string
      readonly rule: 'fast' | 'slow'
      /** How many times faster than allowed. */
      readonly burn: number
      readonly objective: number
    }

export interface ModelWatchParts {
  readonly db: Db
  readonly log: Log
  readonly terms: JudgeTerms & { readonly objectivePercent: number }
  readonly found: (finding: Finding) => Promise<void>
}

const lookEveryMs = 2000
const burnEveryMs = 30_000
const forgetEveryMs = 60_000

const ranks: Record<IncidentSeverity, number> = { minor: 0, major: 1, critical: 2 }

export class ModelWatch {
  readonly #parts: ModelWatchParts
  readonly #recent = new RecentOutcomes()
  /** What was told already, and still goes on: `rule model`. */
  readonly #burning = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  #isOver = false
  #burnAt = 0
  #forgetAt = 0

  constructor(parts: ModelWatchParts) {
    this.#parts = parts
    this.#later()
  }

  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  #later(): void {
    if (this.#isOver) return
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().then(() => this.#later())
    }, lookEveryMs)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const { db, log, terms } = this.#parts
    const now = Date.now()
    try {
      while (await this.#recent.look(db, now)) if (this.#isOver) return
      this.#recent.forget(now)
      const objectives = await readObjectives(db, terms.objectivePercent)
      await this.#judgeAll(objectives, now)
      if (now >= this.#burnAt) {
        this.#burnAt = now + burnEveryMs
        await this.#judgeBurn(objectives, now)
      }
      if (now >= this.#forgetAt) {
        this.#forgetAt = now + forgetEveryMs
        await db.write(forgetMinutes(now - minutesKeptMs))
      }
    } catch (error) {
      log.warn({ err: error }, 'the models could not be watched')
    }
  }

  async #judgeAll(objectives: Objectives, now: number): Promise<void> {
    const watched = await watchedIncidents(this.#parts.db, now)
    for (const model of new Set([...this.#recent.models(), ...watched.keys()])) {
      // What was refused before its model was read belongs to no model.
      if (model !== '') await this.#judge(model, watched.get(model), objectiveFor(objectives, model), now)
    }
  }

  async #judge(
    model: string,
    latest: WatchedIncident | undefined,
    objective: number,
    now: number,
  ): Promise<void> {
    const { db, found } = this.#parts
    const terms = { ...this.#parts.terms, objective }
    const past: Past = {
      since: (from) => this.#recent.since(model, from),
      lastFailure: this.#recent.lastFailure(model),
    }
    if (latest === undefined || latest.closedAt !== null) {
      const verdict = judgeWell(past, terms, { now, since: latest?.closedAt ?? 0 })
      if (verdict.kind !== 'failing') return
      const incident = await openAutomatic(db, { model, severity: verdict.severity, at: now }, latest)
      if (incident !== null) await found({ kind: 'opened', incident })
      return
    }
    const verdict = judgeIll(past, terms, { now, since: latest.updatedAt })
    if (verdict.kind === 'failing' && ranks[verdict.severity] > ranks[latest.severity])
      await worsenAutomatic(db, latest.id, verdict.severity)
    if (verdict.kind !== 'recovered' && verdict.kind !== 'quiet') return
    const incident = await closeAutomatic(db, latest.id, verdict.kind, now)
    if (incident !== null) await found({ kind: 'closed', incident })
  }

  async #judgeBurn(objectives: Objectives, now: number): Promise<void> {
    const { db, found, terms } = this.#parts
    const nothing: Counts = { answered: 0, failed: 0 }
    for (const rule of burnRules) {
      const [longs, shorts] = await Promise.all([
        sumsSince(db, now - rule.longMs),
        sumsSince(db, now - rule.shortMs),
      ])
      for (const [model, long] of longs) {
        const objective = objectiveFor(objectives, model)
        const counts = { long, short: shorts.get(model) ?? nothing }
        const name = `${rule.name} ${model}`
        if (!isBurning(counts, rule, { objective, minimum: terms.minimum })) this.#burning.delete(name)
        else if (!this.#burning.has(name)) {
          this.#burning.add(name)
          await found({ kind: 'burning', model, rule: rule.name, burn: burnOf(long, objective), objective })
        }
      }
    }
  }
}
