/**
 * The data of the public status page: states, success rates and incidents. It contains no upstreams, no costs and no
 * counts, which would reveal the traffic.
 */
import type { AppContext } from '../app-context.ts'
import { dayMs, queryDays, successRate, sumCounts, type ModelSpan } from '../../health/availability.ts'
import { listIncidents, type Incident } from '../../health/incidents.ts'
import { objectiveFor, readObjectives } from '../../health/objectives.ts'
import { listPublicAddresses } from '../../health/public-addresses.ts'
import { baseUrlsOf } from '../public-urls.ts'

export type State = 'up' | 'degraded' | 'down'

export interface StatusDay {
  /** `2026-11-21`, UTC. */
  readonly date: string
  /** From 0 to 1; `null`: no requests. */
  readonly success: number | null
}

export interface StatusModel {
  readonly id: string
  readonly state: State
  readonly success: number | null
  readonly objective: number
  /** Oldest first. */
  readonly days: readonly StatusDay[]
}

export interface StatusAddress {
  /** The base URL, ending in `/v1`. */
  readonly url: string
  /** `null`: not checked. */
  readonly isHealthy: boolean | null
}

export interface PublicStatus {
  readonly at: number
  readonly state: State
  readonly models: readonly StatusModel[]
  readonly addresses: readonly StatusAddress[]
  /** Public incidents of the last 90 days, newest first. */
  readonly incidents: readonly Incident[]
}

export const daysShown = 90
const incidentsShown = 100
const cacheMs = 4000

const ranks: Readonly<Record<State, number>> = { up: 0, degraded: 1, down: 2 }
const severityStates = { minor: 'degraded', major: 'degraded', critical: 'down' } as const

function worstState(states: readonly State[]): State {
  return states.reduce<State>((worst, state) => (ranks[state] > ranks[worst] ? state : worst), 'up')
}

function modelState(model: string, open: readonly Incident[]): State {
  const affecting = open.filter(({ models }) => models.length === 0 || models.includes(model))
  return worstState(affecting.map(({ severity }) => severityStates[severity]))
}

function recentDates(now: number): { start: number; date: string }[] {
  const today = now - (now % dayMs)
  return Array.from({ length: daysShown }, (_, index) => {
    const start = today - (daysShown - 1 - index) * dayMs
    return { start, date: new Date(start).toISOString().slice(0, 10) }
  })
}

/** Without unlisted models; incidents of unlisted models only are omitted. */
function visibleIncidents(incidents: readonly Incident[], listed: ReadonlySet<string>): Incident[] {
  return incidents.flatMap((incident) => {
    const models = incident.models.filter((model) => listed.has(model))
    return incident.models.length > 0 && models.length === 0 ? [] : [{ ...incident, models }]
  })
}

export async function loadPublicStatus(
  { db, catalog, config }: AppContext,
  now: number,
): Promise<PublicStatus> {
  const dates = recentDates(now)
  const since = dates[0]?.start ?? now
  const [spans, objectives, publicIncidents, addressChecks] = await Promise.all([
    queryDays(db, { from: since, to: now }),
    readObjectives(db, config.objectivePercent),
    listIncidents(db, { isPublic: true, since, limit: incidentsShown }),
    listPublicAddresses(db, config.publicUrls),
  ])
  const listed = catalog.listed().map(({ id }) => id)
  const incidents = visibleIncidents(publicIncidents, new Set(listed))
  const open = incidents.filter(({ closedAt }) => closedAt === null)
  const byModel = Map.groupBy(spans, ({ model }) => model)
  const models = listed.map((id): StatusModel => {
    const modelSpans = byModel.get(id) ?? []
    const byStart = new Map(modelSpans.map((span): [number, ModelSpan] => [span.start, span]))
    const successOn = (start: number): number | null => {
      const span = byStart.get(start)
      return span === undefined ? null : successRate(span)
    }
    return {
      id,
      state: modelState(id, open),
      success: successRate(sumCounts(modelSpans)),
      objective: objectiveFor(objectives, id),
      days: dates.map(({ start, date }) => ({ date, success: successOn(start) })),
    }
  })
  const addresses = baseUrlsOf(config).map((url, index) => ({
    url,
    isHealthy: addressChecks[index]?.isHealthy ?? null,
  }))
  const states = [...models.map(({ state }) => state), modelState('', open)]
  // The service is only down if all models are.
  const isAllDown = models.length > 0 && models.every(({ state }) => state === 'down')
  const worst = worstState(states)
  return { at: now, state: worst === 'down' && !isAllDown ? 'degraded' : worst, models, addresses, incidents }
}

/** Reads the database at most once every few seconds. */
export class StatusCache {
  readonly #ctx: AppContext
  #snapshot: Promise<PublicStatus> | null = null
  #snapshotAt = 0

  constructor(ctx: AppContext) {
    this.#ctx = ctx
  }

  get(now: number): Promise<PublicStatus> {
    if (this.#snapshot !== null && now - this.#snapshotAt < cacheMs) return this.#snapshot
    const snapshot = loadPublicStatus(this.#ctx, now)
    this.#snapshot = snapshot
    this.#snapshotAt = now
    snapshot.catch(() => {
      if (this.#snapshot === snapshot) this.#snapshot = null
    })
    return snapshot
  }
}

/** Rounded down, never up: 99.996 % is 99.99. */
export function percentOf(success: number): number {
  return Math.floor(success * 10_000 + 1e-9) / 100
}
