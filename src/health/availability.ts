/**
 * Availability: of the requests that were ours to answer, how many were answered, by model and span of time. What
 * counts as what is said in db/availability-rollup.ts; here the roll-ups are read, and held against objectives.
 */
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

export interface Counts {
  readonly answered: number
  /** Ours to answer, and not answered whole. */
  readonly failed: number
}

export interface SpanCounts extends Counts {
  /** The caller's own mistakes, refusals for money and limits, answers that the caller left. */
  readonly apart: number
}

export interface ModelSpan extends SpanCounts {
  readonly model: string
  /** The start of its minute or day, in milliseconds since the epoch. */
  readonly start: number
}

export const minuteMs = 60_000
export const dayMs = 86_400_000

/** Requests ours to answer. */
export function receivedOf({ answered, failed }: Counts): number {
  return answered + failed
}

/** Answered ÷ received, from 0 to 1; null when nothing was received. Never a mean of means: sum counts first. */
export function successOf(counts: Counts): number | null {
  const received = receivedOf(counts)
  return received === 0 ? null : counts.answered / received
}

/** How many times faster than allowed failures come: at 1, the objective is met exactly; 0 when nothing came. */
export function burnOf(counts: Counts, objective: number): number {
  const received = receivedOf(counts)
  return received === 0 ? 0 : counts.failed / received / (1 - objective)
}

export function sumOf(spans: Iterable<SpanCounts>): SpanCounts {
  const sum = { answered: 0, failed: 0, apart: 0 }
  for (const span of spans) {
    sum.answered += span.answered
    sum.failed += span.failed
    sum.apart += span.apart
  }
  return sum
}

export interface SpanFilter {
  /** Absent: every model. */
  readonly model?: string
  /** From this moment on, and before the other; of spans that begin there. */
  readonly from: number
  readonly to: number
}

/** In the order of time. */
export async function minutesOf(db: Db, { model, from, to }: SpanFilter): Promise<ModelSpan[]> {
  const query = sql
    .selectFrom('availability_minutes')
    .select(['model', 'minute as start', 'answered', 'failed', 'apart'])
    .where('minute', '>=', from)
    .where('minute', '<', to)
    .orderBy('minute')
  return db.report(model === undefined ? query : query.where('model', '=', model))
}

/** In the order of time; days are those of UTC. */
export async function daysOf(db: Db, { model, from, to }: SpanFilter): Promise<ModelSpan[]> {
  const query = sql
    .selectFrom('availability_days')
    .select(['model', 'day as start', 'answered', 'failed', 'apart'])
    .where('day', '>=', from)
    .where('day', '<', to)
    .orderBy('day')
  return db.report(model === undefined ? query : query.where('model', '=', model))
}

/** The sums of every model from one moment on: for windows of a few hours. */
export async function sumsSince(db: Db, from: number): Promise<Map<string, SpanCounts>> {
  const rows = await db.report(
    sql
      .selectFrom('availability_minutes')
      .select((build) => [
        'model',
        build.fn.sum<number>('answered').as('answered'),
        build.fn.sum<number>('failed').as('failed'),
        build.fn.sum<number>('apart').as('apart'),
      ])
      .where('minute', '>=', from)
      .groupBy('model'),
  )
  return new Map(rows.map(({ model, ...counts }) => [model, counts]))
}

/** The first moment of a UTC month, and of the month after it. */
export function monthAround(at: number): { readonly from: number; readonly to: number } {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
}
