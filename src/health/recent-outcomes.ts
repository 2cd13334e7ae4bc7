/**
 * How recent requests ended, by model and five seconds, to detect an outage at once. It reads request rows as they are
 * written, a limited number at a time, and keeps the counts in memory only.
 */
import type { Db } from '../db/db.ts'
import { availabilitySumsSql, isKnownModelSql, requestEndSql } from '../db/request-outcomes.ts'
import { relayApiCounts, type OutcomeCounts } from './availability.ts'

/** How long outcomes are kept. */
export const retentionMs = 30 * 60_000
const bucketMs = 5000
/** Rows per poll; the next poll reads the rest. */
const batchSize = 20_000

const batchSql = `select max(row_id) as last, count(*) as rows_read from
  (select row_id from requests where row_id > ? order by row_id limit ${batchSize}) as next_rows`
const countSql = `select model, ${requestEndSql} - ${requestEndSql} % ${bucketMs} as start, ${availabilitySumsSql}
  from requests where row_id > ? and row_id <= ? and ${requestEndSql} >= ? and ${isKnownModelSql}
  group by 1, 2`
/** Rows are written when requests end, so the rows since a time follow the last one that ended before it. */
const firstRowSql = `select row_id as row_before from requests where at < ? and ${requestEndSql} < ?
  order by at desc limit 1`

interface Bucket {
  answered: number
  failed: number
}

interface CountRow extends Bucket {
  model: string
  start: number
}

export class RecentOutcomes {
  readonly #models = new Map<string, Map<number, Bucket>>()
  #lastRow: number | null = null

  /** Reads the rows since the last poll. True: there are more. */
  async poll(db: Db, now: number): Promise<boolean> {
    this.#lastRow ??= await lastRowBefore(db, now - retentionMs)
    const [found] = await db.report<{ last: number | null; rows_read: number }>({
      sql: batchSql,
      parameters: [this.#lastRow],
    })
    if (!found || found.last === null) return false
    const since = now - retentionMs
    const parameters = [this.#lastRow, found.last, since]
    for (const row of await db.report<CountRow>({ sql: countSql, parameters })) this.#add(row)
    this.#lastRow = found.last
    return found.rows_read === batchSize
  }

  /** Models with recent outcomes. */
  models(): IterableIterator<string> {
    return this.#models.keys()
  }

  /** The outcomes since a time, rounded to its five seconds. */
  since(model: string, from: number): OutcomeCounts {
    const sum = { answered: 0, failed: 0 }
    for (const [start, bucket] of this.#models.get(model) ?? []) {
      if (start + bucketMs <= from) continue
      sum.answered += bucket.answered
      sum.failed += bucket.failed
    }
    return sum
  }

  /** The outcomes of the relay's API since a time. */
  relayApiSince(from: number): OutcomeCounts {
    return relayApiCounts(
      Array.from(this.#models.keys(), (model) => ({ model, apart: 0, ...this.since(model, from) })),
    )
  }

  /** The latest possible time of the last failure; null without failures. */
  lastFailure(model: string): number | null {
    let last: number | null = null
    for (const [start, { failed }] of this.#models.get(model) ?? []) {
      if (failed > 0 && start + bucketMs > (last ?? 0)) last = start + bucketMs
    }
    return last
  }

  /** Drops outcomes older than the retention. */
  prune(now: number): void {
    for (const [model, buckets] of this.#models) {
      for (const start of buckets.keys()) if (start + bucketMs < now - retentionMs) buckets.delete(start)
      if (buckets.size === 0) this.#models.delete(model)
    }
  }

  #add({ model, start, answered, failed }: CountRow): void {
    if (answered === 0 && failed === 0) return
    const buckets = this.#models.get(model) ?? new Map<number, Bucket>()
    this.#models.set(model, buckets)
    const bucket = buckets.get(start) ?? { answered: 0, failed: 0 }
    bucket.answered += answered
    bucket.failed += failed
    buckets.set(start, bucket)
  }
}

/** The last row whose request started and ended before a time. */
async function lastRowBefore(db: Db, since: number): Promise<number> {
  const rows = await db.report<{ row_before: number }>({ sql: firstRowSql, parameters: [since, since] })
  return rows[0]?.row_before ?? 0
}
