/**
 * What the public may know of how the relay is: states, shares and posts, and nothing of the operators' business; no
 * upstreams, no costs, and no counts, which would tell how much is asked.
 */
import type { House } from '../house.ts'
import { dayMs, daysOf, successOf, sumOf, type ModelSpan } from '../../health/availability.ts'
import { listIncidents, type Incident } from '../../health/incidents.ts'
import { objectiveFor, readObjectives } from '../../health/objectives.ts'
import { publicAddresses } from '../../health/public-addresses.ts'
import { baseUrlsOf } from '../public-urls.ts'

export type State = 'up' | 'degraded' | 'down'

export interface StatusDay {
  /** `2026-11-21`, UTC. */
  readonly date: string
  /** From 0 to 1; null: nothing was asked. */
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
  /** What an application is given, with its `/v1`. */
  readonly url: string
  /** null: not looked at. */
  readonly isWell: boolean | null
}

export interface PublicStatus {
  readonly at: number
  readonly state: State
  readonly models: readonly StatusModel[]
  readonly addresses: readonly StatusAddress[]
  /** Public ones of the last 90 days, the one opened last first. */
  readonly incidents: readonly Incident[]
}

export const daysShown = 90
const incidentsShown = 100
const keptMs = 4000

const ranks: Readonly<Record<State, number>> = { up: 0, degraded: 1, down: 2 }
const stateOfSeverity = { minor: 'degraded', major: 'degraded', critical: 'down' } as const

function worstOf(states: readonly State[]): State {
  return states.reduce<State>((worst, state) => (ranks[state] > ranks[worst] ? state : worst), 'up')
}

function stateOf(model: string, open: readonly Incident[]): State {
  const touching = open.filter(({ models }) => models.length === 0 || models.includes(model))
  return worstOf(touching.map(({ severity }) => stateOfSeverity[severity]))
}

function datesUpTo(now: number): { start: number; date: string }[] {
  const today = now - (now % dayMs)
  return Array.from({ length: daysShown }, (_, index) => {
    const start = today - (daysShown - 1 - index) * dayMs
    return { start, date: new Date(start).toISOString().slice(0, 10) }
  })
}

/** Without the names of models that are not listed; an incident of nothing else is not for the public. */
function shownIncidents(incidents: readonly Incident[], listed: ReadonlySet<string>): Incident[] {
  return incidents.flatMap((incident) => {
    const models = incident.models.filter((model) => listed.has(model))
    return incident.models.length > 0 && models.length === 0 ? [] : [{ ...incident, models }]
  })
}

export async function publicStatus({ db, catalog, config }: House, now: number): Promise<PublicStatus> {
  const dates = datesUpTo(now)
  const since = dates[0]?.start ?? now
  const [spans, objectives, found, looked] = await Promise.all([
    daysOf(db, { from: since, to: now }),
    readObjectives(db, config.objectivePercent),
    listIncidents(db, { isPublic: true, since, limit: incidentsShown }),
    publicAddresses(db, config.publicUrls),
  ])
  const listed = catalog.listed().map(({ id }) => id)
  const incidents = shownIncidents(found, new Set(listed))
  const open = incidents.filter(({ closedAt }) => closedAt === null)
  const byModel = Map.groupBy(spans, ({ model }) => model)
  const models = listed.map((id): StatusModel => {
    const own = byModel.get(id) ?? []
    const byStart = new Map(own.map((span): [number, ModelSpan] => [span.start, span]))
    const successOn = (start: number): number | null => {
      const span = byStart.get(start)
      return span === undefined ? null : successOf(span)
    }
    return {
      id,
      state: stateOf(id, open),
      success: successOf(sumOf(own)),
      objective: objectiveFor(objectives, id),
      days: dates.map(({ start, date }) => ({ date, success: successOn(start) })),
    }
  })
  const addresses = baseUrlsOf(config).map((url, index) => ({ url, isWell: looked[index]?.isWell ?? null }))
  const states = [...models.map(({ state }) => state), stateOf('', open)]
  // One model that is down is not the whole service.
  const isAllDown = models.length > 0 && models.every(({ state }) => state === 'down')
  const worst = worstOf(states)
  return { at: now, state: worst === 'down' && !isAllDown ? 'degraded' : worst, models, addresses, incidents }
}

/** Asked of the database once in a few seconds at most, however many look. */
export class StatusSnapshots {
  readonly #house: House
  #taken: Promise<PublicStatus> | null = null
  #takenAt = 0

  constructor(house: House) {
    this.#house = house
  }

  get(now: number): Promise<PublicStatus> {
    if (this.#taken !== null && now - this.#takenAt < keptMs) return this.#taken
    const taken = publicStatus(this.#house, now)
    this.#taken = taken
    this.#takenAt = now
    taken.catch(() => {
      if (this.#taken === taken) this.#taken = null
    })
    return taken
  }
}

/** Never rounded up to what was not reached: 99.996 % is 99.99. */
export function percentOf(success: number): number {
  return Math.floor(success * 10_000 + 1e-9) / 100
}
