/** Deletes expired rows of PostgreSQL, a bounded number in each short transaction. */

import type { Client } from 'pg'
import type { Db } from '../db.ts'
import { deleteStatements, selectOldestRows } from '../retention/delete-requests.ts'
import { storedResponseTtlMs } from '../retention/stored-responses.ts'
import { runStatement } from './connection.ts'
import { jobLock } from './advisory-locks.ts'

const stepRows = 1000
const responsesPerDelete = 200

/** Deletes the oldest request rows from before this time and returns their number. Concurrent nodes wait for each other. */
export async function deleteRequestsShared(client: Client, before: number): Promise<number> {
  await client.query(`begin; ${jobLock}`)
  try {
    const { rows, statements } = deleteStatements(
      (await runStatement(client, selectOldestRows(stepRows))).rows,
      before,
    )
    for (const statement of statements) await runStatement(client, statement)
    await client.query('commit')
    return rows
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

export async function deleteExpiredResponses(db: Db, now: number): Promise<void> {
  await db.write({
    sql: `delete from kept_answers where (account_id, key_hash) in
      (select account_id, key_hash from kept_answers where at <= ? order by at limit ${responsesPerDelete})`,
    parameters: [now - storedResponseTtlMs],
  })
}
