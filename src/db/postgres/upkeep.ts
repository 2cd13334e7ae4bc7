/** Deleting what is over, a bounded number of rows at a time. */

import { forgetMinutes, minutesKeptMs } from '../availability-rollup.ts'
import type { Db } from '../db.ts'
import { keptMs } from '../kept-answers.ts'

const answersAtOnce = 200

export async function dropExpiredAnswers(db: Db, now: number): Promise<void> {
  await db.write({
    sql: `delete from kept_answers where (account_id, key_hash) in
      (select account_id, key_hash from kept_answers where at <= ? order by at limit ${answersAtOnce})`,
    parameters: [now - keptMs],
  })
}

export async function forgetOldMinutes(db: Db, now: number): Promise<void> {
  await db.write(forgetMinutes(now - minutesKeptMs))
}
