/** Deleting old request rows of drop-requests.ts over PostgreSQL: by ranges of their numbers, each a short transaction. */

import type { Client } from 'pg'
import { dropping, oldestRows } from '../drop-requests.ts'
import { runOn } from './connection.ts'
import { jobLock } from './advisory-locks.ts'

const stepRows = 1000

/** Deletes the oldest rows of before this moment; how many. Of nodes that ask at once one waits for the other. */
export async function dropRequestsShared(client: Client, before: number): Promise<number> {
  await client.query(`begin; ${jobLock}`)
  try {
    const { rows, statements } = dropping((await runOn(client, oldestRows(stepRows))).rows, before)
    for (const statement of statements) await runOn(client, statement)
    await client.query('commit')
    return rows
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
