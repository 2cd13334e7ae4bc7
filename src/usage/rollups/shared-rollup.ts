/** The hourly roll-ups of rollup.ts over PostgreSQL, where several nodes add rows at the same time. */

import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { countingTexts, cursorText, moveText, rowsBetween } from '../../db/rollup.ts'
import { hourWithoutTokens, tokensOfHour } from './token-backfill.ts'
import { runOn, runTexts } from '../../db/postgres/connection.ts'
import { jobLock, soleRowLock } from '../../db/postgres/advisory-locks.ts'
import { withNumbers } from '../../db/postgres/sql-text.ts'

/** About 10 ms of the database. */
const stepRows = 2000
/** Between two steps so many times what the last has taken: requests that wait meanwhile do so for one step. */
const breaths = 2

/** What is counted of a row. */
const columns = `row_id, request_id, at, account_id, key_id, model, upstream_id, stream, prompt_tokens, completion_tokens,
  cost_nanos, upstream_cost_nanos, first_token_ms, duration_ms, outcome, http_status, error_code, fault, fault_upstream`
/** All roll-ups in one statement, which reads the rows once: they are wide, and what is counted of them is not. */
const countText = withNumbers(`with counted as materialized (select ${columns} from ${rowsBetween}),
${countingTexts('counted')
  .map((text, index) => `way_${index} as (${text})`)
  .join(',\n')}
select`)

/** Carries it out as a whole or not at all. */
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

/** The number of the last request row before which none is missing: whoever is adding some is waited for. */
async function endOfRows(client: Client): Promise<number> {
  const [, , rows = []] = await runTexts(
    client,
    `begin; ${soleRowLock}; select coalesce(max(row_id), 0) as last from requests; commit`,
  )
  return Number(rows[0]?.['last'])
}

/** Counts the next rows up to this one; whether there are more. */
async function countStep(client: Client, end: number): Promise<boolean> {
  const found = await runOn(client, { sql: cursorText, parameters: [] })
  const position = Number(found.rows[0]?.['position'])
  const last = Math.min(end, position + stepRows)
  if (last <= position) return false
  await client.query({ name: 'count', text: countText, values: [position, last] })
  await runOn(client, { sql: moveText, parameters: [last] })
  return last < end
}

/**
 * Counts the request rows that there are now, each exactly once, as long as `goesOn`. What comes meanwhile is left for
 * the next time. Of nodes that ask at once one waits for the other, step by step.
 */
export async function rollUpShared(client: Client, goesOn: () => boolean = () => true): Promise<void> {
  const end = await endOfRows(client)
  let startedMs = performance.now()
  while (await inTransaction(client, () => countStep(client, end))) {
    if (!goesOn()) return
    await delay(breaths * (performance.now() - startedMs))
    startedMs = performance.now()
  }
}

/** Gives the next hour that was counted without its tokens what it lacks; false when there is none. As above. */
export function fillTokensShared(client: Client): Promise<boolean> {
  return inTransaction(client, async () => {
    const { rows } = await runOn(client, hourWithoutTokens)
    const hour = rows[0]?.['hour']
    if (typeof hour !== 'number') return false
    for (const statement of tokensOfHour(hour)) await runOn(client, statement)
    return true
  })
}
