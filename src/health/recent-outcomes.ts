/**
 * How the last minutes' requests ended, by model and five seconds, for whoever has to notice an outage at once: read
 * from the request rows as they are written, a bounded number at a time, and kept in memory only.
 */
import { availabilitySums, countedModels, endOfRequest } from '../db/availability-rollup.ts'
import type { Db } from '../db/db.ts'
import type { Counts } from './availability.ts'

/** How far back it remembers. */
export const rememberedMs = 30 * 60_000
const bucketMs = 5000
/** Of one look; what is left is read by the next. */
const rowsAtOnce = 20_000

const lastText = `select max(row_id) as last, count(*) as rows_read from
  (select row_id from requests where row_id > ? order by row_id limit ${rowsAtOnce}) as next_rows`
const countText = `select model, ${endOfRequest} - ${endOfRequest} % ${bucketMs} as start, ${availabilitySums}
  from requests where row_id > ? and row_id <= ? and ${endOfRequest} >= ? and ${countedModels}
  group by 1, 2`
/** Rows are written when their requests end; so what ended since comes after the last one that had ended before. */
const beginText = `select row_id as row_before from requests where at < ? and ${endOfRequest} < ?
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
  #row: number | null = null

  /** Reads what was written since the last look. True: there is more. */
  async look(db: Db, now: number): Promise<boolean> {
    this.#row ??= await rowBefore(db, now - rememberedMs)
    const [found] = await db.report<{ last: number | null; rows_read: number }>({
      sql: lastText,
      parameters: [this.#row],
    })
    if (!found || found.last === null) return false
    const since = now - rememberedMs
    const parameters = [this.#row, found.last, since]
    for (const row of await db.report<CountRow>({ sql: countText, parameters })) this.#add(row)
    this.#row = found.last
    return found.rows_read === rowsAtOnce
  }

  /** Models that anything has ended for lately. */
  models(): IterableIterator<string> {
    return this.#models.keys()
  }

  /** What ended from one moment on; a moment counts with the five seconds it lies in. */
  since(model: string, from: number): Counts {
    const sum = { answered: 0, failed: 0 }
    for (const [start, bucket] of this.#models.get(model) ?? []) {
      if (start + bucketMs <= from) continue
      sum.answered += bucket.answered
      sum.failed += bucket.failed
    }
    return sum
  }

  /** The last moment at which one failed may have; null when none did. */
  lastFailure(model: string): number | null {
    let last: number | null = null
    for (const [start, { failed }] of this.#models.get(model) ?? []) {
      if (failed > 0 && start + bucketMs > (last ?? 0)) last = start + bucketMs
    }
    return last
  }

  /** Drops what is too old to be asked for. */
  forget(now: number): void {
    for (const [model, buckets] of this.#models) {
      for (const start of buckets.keys()) if (start + bucketMs < now - rememberedMs) buckets.delete(start)
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

/** The row before the first of those that began since. */
async function rowBefore(db: Db, since: number): Promise<number> {
  const rows = await db.report<{ row_before: number }>({ sql: beginText, parameters: [since, since] })
  return rows[0]?.row_before ?? 0
}
