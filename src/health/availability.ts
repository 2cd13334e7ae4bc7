/**
 * Availability: of the requests that count, the share that was answered, by model and time span. What counts is defined
 * in db/request-outcomes.ts; this module reads the roll-ups and compares them with objectives.
 */
import { sql as fragment } from 'kysely'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

export interface OutcomeCounts {
  readonly answered: number
  /** Counted requests that were not answered completely. */
  readonly failed: number
}

export interface SpanOutcomeCounts extends OutcomeCounts {
  /**
   * Requests that do not count: invalid ones, those rejected for credit or limits, and those that the caller aborted.
   */
  readonly apart: number
}

export interface ModelSpan extends SpanOutcomeCounts {
  readonly model: string
  /** The start of the minute or day, in milliseconds since the epoch. */
  readonly start: number
}

/** In roll-ups and request rows: the requests that were rejected before their model was known. */
export const noModel = ''
/** The relay's own API as a component next to the models. No model can have this name, because it contains a space. */
export const relayApi = 'Relay API'

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** The number of requests that count. */
export function totalOf({ answered, failed }: OutcomeCounts): number {
  return answered + failed
}

/** Answered ÷ counted requests, from 0 to 1; null without requests. Sum counts first: do not average rates. */
export function successRate(counts: OutcomeCounts): number | null {
  const total = totalOf(counts)
  return total === 0 ? null : counts.answered / total
}

/** The rate of failures relative to the allowed rate: at 1, the objective is met exactly; 0 without requests. */
export function burnRate(counts: OutcomeCounts, objective: number): number {
  const total = totalOf(counts)
  return total === 0 ? 0 : counts.failed / total / (1 - objective)
}

export function sumCounts(spans: Iterable<SpanOutcomeCounts>): SpanOutcomeCounts {
  const sum = { answered: 0, failed: 0, apart: 0 }
  for (const span of spans) {
    sum.answered += span.answered
    sum.failed += span.failed
    sum.apart += span.apart
  }
  return sum
}

/**
 * The counts of the relay's API itself: it failed where it rejected requests before their model was known, and it served
 * all others that count, whatever became of them upstream.
 */
export function relayApiCounts(
  spans: Iterable<SpanOutcomeCounts & { readonly model: string }>,
): SpanOutcomeCounts {
  const sum = { answered: 0, failed: 0, apart: 0 }
  for (const span of spans) {
    if (span.model === noModel) {
      sum.failed += span.failed
      sum.apart += span.apart
    } else sum.answered += totalOf(span)
  }
  return sum
}

/** The sums by model, with those of the relay's API. */
export function withRelayApi(sums: ReadonlyMap<string, SpanOutcomeCounts>): Map<string, SpanOutcomeCounts> {
  const counts = relayApiCounts(Array.from(sums, ([model, sum]) => ({ model, ...sum })))
  return new Map([...sums, [relayApi, counts]])
}

/** The spans of the relay's API, from those of all models. */
export function relayApiSpans(spans: readonly ModelSpan[]): ModelSpan[] {
  const byStart = Map.groupBy(spans, ({ start }) => start)
  return Array.from(byStart, ([start, all]) => ({ model: relayApi, start, ...relayApiCounts(all) }))
}

export interface SpanFilter {
  /** Absent: all models. */
  readonly model?: string
  /** Spans that start at or after `from`, and before `to`. */
  readonly from: number
  readonly to: number
}

/** In chronological order. */
export async function queryMinutes(db: Db, { model, from, to }: SpanFilter): Promise<ModelSpan[]> {
  const query = sql
    .selectFrom('availability_minutes')
    .select(['model', 'minute as start', 'answered', 'failed', 'apart'])
    .where('minute', '>=', from)
    .where('minute', '<', to)
    .orderBy('minute')
  return db.report(model === undefined ? query : query.where('model', '=', model))
}

/** In chronological order; days are in UTC. */
export async function queryDays(db: Db, { model, from, to }: SpanFilter): Promise<ModelSpan[]> {
  const query = sql
    .selectFrom('availability_days')
    .select(['model', 'day as start', 'answered', 'failed', 'apart'])
    .where('day', '>=', from)
    .where('day', '<', to)
    .orderBy('day')
  return db.report(model === undefined ? query : query.where('model', '=', model))
}

/** The sums by model since a time, for windows of a few hours. */
export async function sumByModelSince(db: Db, from: number): Promise<Map<string, SpanOutcomeCounts>> {
  const rows = await db.report(
    sql
      .selectFrom('availability_minutes')
      .select((build) => [
        // If the rows were grouped by the column itself, SQLite would read the minutes of all weeks in order of the model.
        fragment<string>`coalesce(model, '')`.as('name'),
        build.fn.sum<number>('answered').as('answered'),
        build.fn.sum<number>('failed').as('failed'),
        build.fn.sum<number>('apart').as('apart'),
      ])
      .where('minute', '>=', from)
      .groupBy('name'),
  )
  return new Map(rows.map(({ name, ...counts }) => [name, counts]))
}

/** The start of the UTC month of a time, and of the next one. */
export function monthBounds(at: number): { readonly from: number; readonly to: number } {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
}
