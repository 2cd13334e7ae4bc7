/** The roll-ups of availability by minute and by day, updated in the same step as those of usage. */
import type { Db } from '../../db/db.ts'
import { availabilitySumsSql, isKnownModelSql, requestEndSql } from '../../db/request-outcomes.ts'

const spans = [
  { table: 'availability_minutes', column: 'minute', ms: 60_000 },
  { table: 'availability_days', column: 'day', ms: 86_400_000 },
] as const

const availabilitySql =
  ({ table, column, ms }: (typeof spans)[number]) =>
  (rows: string): string =>
    `insert into ${table} (model, ${column}, answered, failed, apart)
select model, ${requestEndSql} - ${requestEndSql} % ${ms}, ${availabilitySumsSql}
from ${rows} where ${isKnownModelSql}
group by 1, 2
on conflict (model, ${column}) do update set
  answered = ${table}.answered + excluded.answered,
  failed = ${table}.failed + excluded.failed,
  apart = ${table}.apart + excluded.apart`

/** Each returns the SQL that counts the given request rows. */
export const availabilityRollUps: readonly ((rows: string) => string)[] = spans.map(availabilitySql)

/** Counts requests that have no rows and were rejected before their model was known. `minutes`: how many, by minute. */
export async function addRejections(db: Db, minutes: ReadonlyMap<number, number>): Promise<void> {
  const statements = Array.from(minutes).flatMap(([minute, failed]) =>
    spans.map(({ table, column, ms }) => ({
      sql: `insert into ${table} (model, ${column}, answered, failed, apart) values (?, ?, 0, ?, 0)
on conflict (model, ${column}) do update set failed = ${table}.failed + excluded.failed`,
      parameters: ['', minute - (minute % ms), failed],
    })),
  )
  await db.write(...statements)
}

/** Minutes are kept for a little more than a month; days are kept forever. */
const minuteRetentionMs = 40 * 86_400_000
/** Few enough to block the store thread only briefly. */
const minutesPerDelete = 5000

/** Deletes a bounded number of old minutes. */
export async function deleteOldMinutes(db: Db, now: number): Promise<void> {
  await db.write({
    sql: `delete from availability_minutes where (model, minute) in
      (select model, minute from availability_minutes where minute < ? order by minute limit ${minutesPerDelete})`,
    parameters: [now - minuteRetentionMs],
  })
}
