/**
 * The data of the public status page: states, success rates and incidents. It contains no upstreams, no costs and no
 * counts, which would reveal the traffic. While the store is unavailable, it is made from what was read last and from what
 * this node has in memory.
 */
import type { AppContext } from '../app-context.ts'
import { isUnavailable } from '../../db/store-error.ts'
import type { AdmissionOutage } from '../../health/admission-outage.ts'
import { withOutageIncident } from '../../health/automatic-incidents.ts'
import {
  dayMs,
  noModel,
  queryDays,
  relayApi,
  relayApiSpans,
  successRate,
  sumCounts,
  type ModelSpan,
} from '../../health/availability.ts'
import { listIncidents, type Incident } from '../../health/incidents.ts'
import { defaultObjectives, objectiveFor, readObjectives, type Objectives } from '../../health/objectives.ts'
import { listPublicAddresses, type PublicAddress } from '../../health/public-addresses.ts'
import { memoizeFor } from '../../lib/memoize-for.ts'
import { tryRead } from '../../lib/try-read.ts'
import { baseUrlsOf } from '../public-urls.ts'

export type State = 'up' | 'degraded' | 'down'

export interface StatusDay {
  /** `2026-11-21`, UTC. */
  readonly date: string
  /** From 0 to 1; `null`: no requests. */
  readonly success: number | null
}

export interface StatusComponent {
  /** The name of a model, or `Relay API`. */
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
  readonly relay: StatusComponent
  readonly models: readonly StatusComponent[]
  readonly addresses: readonly StatusAddress[]
  /** Public incidents of the last 90 days, newest first. */
  readonly incidents: readonly Incident[]
}

const daysShown = 90
const incidentsShown = 100
const cacheMs = 4000
/** How long a response waits for a store that is unavailable. */
const maxOutageReadMs = 1000

const ranks: Readonly<Record<State, number>> = { up: 0, degraded: 1, down: 2 }
const severityStates = { minor: 'degraded', major: 'degraded', critical: 'down' } as const

function worstState(states: readonly State[]): State {
  return states.reduce<State>((worst, state) => (ranks[state] > ranks[worst] ? state : worst), 'up')
}

function stateOf(affecting: readonly Incident[]): State {
  return worstState(affecting.map(({ severity }) => severityStates[severity]))
}

function modelState(model: string, open: readonly Incident[]): State {
  return stateOf(open.filter(({ models }) => models.length === 0 || models.includes(model)))
}

function recentDates(now: number): { start: number; date: string }[] {
  const today = now - (now % dayMs)
  return Array.from({ length: daysShown }, (_, index) => {
    const start = today - (daysShown - 1 - index) * dayMs
    return { start, date: new Date(start).toISOString().slice(0, 10) }
  })
}

/** Without unlisted models; incidents of unlisted models only are omitted. */
export function visibleIncidents(incidents: readonly Incident[], listed: ReadonlySet<string>): Incident[] {
  return incidents.flatMap((incident) => {
    const models = incident.models.filter((model) => listed.has(model))
    return incident.models.length > 0 && models.length === 0 ? [] : [{ ...incident, models }]
  })
}

/** What the page needs from the database. */
interface StatusRows {
  readonly spans: readonly ModelSpan[]
  readonly objectives: Objectives
  /** Newest first. */
  readonly incidents: readonly Incident[]
  readonly addresses: readonly PublicAddress[]
}

function emptyRows({ config }: AppContext): StatusRows {
  return { spans: [], objectives: defaultObjectives(config.objectivePercent), incidents: [], addresses: [] }
}

async function readRows({ db, config }: AppContext, now: number): Promise<StatusRows> {
  const since = recentDates(now)[0]?.start ?? now
  const [spans, objectives, incidents, addresses] = await Promise.all([
    queryDays(db, { from: since, to: now }),
    readObjectives(db, config.objectivePercent),
    listIncidents(db, { isPublic: true, since, limit: incidentsShown }),
    listPublicAddresses(db, config.publicUrls),
  ])
  return { spans, objectives, incidents, addresses }
}

function buildStatus(
  { catalog, config }: AppContext,
  { spans, objectives, incidents: publicIncidents, addresses: addressChecks }: StatusRows,
  { now, outage }: { readonly now: number; readonly outage: AdmissionOutage | null },
): PublicStatus {
  const dates = recentDates(now)
  const listed = catalog.listed().map(({ id }) => id)
  const incidents = visibleIncidents(withOutageIncident(publicIncidents, outage, now), new Set(listed))
  const open = incidents.filter(({ closedAt }) => closedAt === null)
  const byModel = Map.groupBy(spans, ({ model }) => model)
  const componentOf = (id: string, own: readonly ModelSpan[], state: State): StatusComponent => {
    const byStart = new Map(own.map((span): [number, ModelSpan] => [span.start, span]))
    const successOn = (start: number): number | null => {
      const span = byStart.get(start)
      return span === undefined ? null : successRate(span)
    }
    return {
      id,
      state: outage === null ? state : 'down',
      success: successRate(sumCounts(own)),
      objective: objectiveFor(objectives, id),
      days: dates.map(({ start, date }) => ({ date, success: successOn(start) })),
    }
  }
  const models = listed.map((id) => componentOf(id, byModel.get(id) ?? [], modelState(id, open)))
  const openOfRelay = open.filter(({ watchedModel }) => watchedModel === noModel)
  const relay = componentOf(relayApi, relayApiSpans(spans), stateOf(openOfRelay))
  const addresses = baseUrlsOf(config).map((url, index) => ({
    url,
    isHealthy: addressChecks[index]?.isHealthy ?? null,
  }))
  const states = [...models.map(({ state }) => state), relay.state, modelState('', open)]
  // The service is only down if all models are, or the relay itself is.
  const isAllDown = models.length > 0 && models.every(({ state }) => state === 'down')
  const isDown = isAllDown || relay.state === 'down'
  const worst = worstState(states)
  const state = worst === 'down' && !isDown ? 'degraded' : worst
  return { at: now, state, relay, models, addresses, incidents }
}

/** Reads the status, and the database for it at most once every few seconds. */
export function createStatusReader(ctx: AppContext): () => Promise<PublicStatus> {
  let lastRows: StatusRows | null = null
  /** If the store is unavailable: what was read last. */
  const read = async (now: number): Promise<StatusRows> => {
    try {
      return (lastRows = await readRows(ctx, now))
    } catch (error) {
      if (lastRows === null || !isUnavailable(error)) throw error
      return lastRows
    }
  }
  return memoizeFor(cacheMs, async () => {
    const now = Date.now()
    const outage = ctx.admissionOutage()
    const rows = outage === null ? await read(now) : await tryRead(() => read(now), maxOutageReadMs)
    return buildStatus(ctx, rows ?? lastRows ?? emptyRows(ctx), { now, outage })
  })
}

/** Rounded down, never up: 99.996 % is 99.99. */
export function percentOf(success: number): number {
  return Math.floor(success * 10_000 + 1e-9) / 100
}
