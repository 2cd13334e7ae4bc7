/** Runs the roll-ups on PostgreSQL, where several nodes insert request rows concurrently. */

import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { rollUpSqlFor, rowRangeSql } from './rollup.ts'
import { nextHourWithoutTokens, backfillHour } from './token-backfill.ts'
import { runStatement, runScript } from '../../db/postgres/connection.ts'
import { jobLock, exclusiveRowLock } from '../../db/postgres/advisory-locks.ts'
import { numberParameters } from '../../db/postgres/sql-text.ts'
import { advanceRollUpCursorSql, rollUpCursorSql } from '../../db/rollup-cursor.ts'

/** About 10 ms of the database. */
const stepRows = 2000
/** The pause between two steps, as a multiple of the last step's duration, so that requests wait for at most one step. */
const pauseFactor = 2

/** The columns that roll-ups read. */
const columns = `row_id, request_id, at, account_id, key_id, model, upstream_id, stream, prompt_tokens, completion_tokens,
  cost_nanos, upstream_cost_nanos, first_token_ms, duration_ms, outcome, http_status, error_code, fault, fault_upstream,
  count`
/** All roll-ups in one statement, which reads the wide rows only once. */
const rollUpStatement =
  numberParameters(`with counted as materialized (select ${columns} from ${rowRangeSql}),
${rollUpSqlFor('counted')
  .map((text, index) => `rollup_${index} as (${text})`)
  .join(',\n')}
select`)

/** Runs a step in a transaction. */
async function inTransaction(client: Client, step: () => Promise<boolean>): Promise<boolean> {
  await client.query(`begin; ${jobLock}`)
  try {
    const isMore = await step()
    await client.query('commit')
    return isMore
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Returns the last row id before which no request row is missing; waits for running inserts. */
async function lastSettledRow(client: Client): Promise<number> {
  const [, , rows = []] = await runScript(
    client,
    `begin; ${exclusiveRowLock}; select coalesce(max(row_id), 0) as last from requests; commit`,
  )
  return Number(rows[0]?.['last'])
}

/** Counts the next rows up to `end`; returns whether there are more. */
async function rollUpStep(client: Client, end: number): Promise<boolean> {
  const found = await runStatement(client, { sql: rollUpCursorSql, parameters: [] })
  const position = Number(found.rows[0]?.['position'])
  const last = Math.min(end, position + stepRows)
  if (last <= position) return false
  await client.query({ name: 'count', text: rollUpStatement, values: [position, last] })
  await runStatement(client, { sql: advanceRollUpCursorSql, parameters: [last] })
  return last < end
}

/**
 * Counts the existing request rows, each exactly once, while `shouldContinue` returns true. Rows that are inserted
 * meanwhile are left for the next run. Concurrent nodes wait for each other at each step.
 */
export async function rollUpShared(
  client: Client,
  shouldContinue: () => boolean = () => true,
): Promise<void> {
  const end = await lastSettledRow(client)
  let startedMs = performance.now()
  while (await inTransaction(client, () => rollUpStep(client, end))) {
    if (!shouldContinue()) return
    await delay(pauseFactor * (performance.now() - startedMs))
    startedMs = performance.now()
  }
}

/** Fills in the tokens of the next hour that was counted without them; false if there is none. */
export function backfillTokensShared(client: Client): Promise<boolean> {
  return inTransaction(client, async () => {
    const { rows } = await runStatement(client, nextHourWithoutTokens)
    const hour = rows[0]?.['hour']
    if (typeof hour !== 'number') return false
    for (const statement of backfillHour(hour)) await runStatement(client, statement)
    return true
  })
}
