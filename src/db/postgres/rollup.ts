/** The hourly roll-ups of rollup.ts over PostgreSQL, where several nodes add rows at the same time. */

import type { Client } from 'pg'
import { availabilityTexts } from '../availability-rollup.ts'
import { trafficTexts } from '../traffic-rollup.ts'
import { addText, cursorText, moveText } from '../rollup.ts'
import { hourWithoutTokens, tokensOfHour } from '../traffic-tokens.ts'
import { runOn, runTexts } from './connect.ts'
import { jobLock, soleRowLock } from './locks.ts'

const stepRows = 20_000

/** Carries it out as a whole or not at all. */
async function inTransaction(client: Client, step: () => Promise<boolean>): Promise<boolean> {
  await client.query(`begin; ${jobLock}`)
  try {
    const isDone = await step()
    await client.query('commit')
    return isDone
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/**
 * Counts the next request rows, each exactly once; whether there are more. What has come meanwhile is left for the next
 * time: to see where rows end, everybody who adds some is waited for, and waits. Of nodes that ask at once
 * one waits for the other.
 */
export async function rollUpShared(client: Client): Promise<boolean> {
  const [, , rows = []] = await runTexts(
    client,
    `begin; ${soleRowLock}; select coalesce(max(row_id), 0) as last from requests; commit`,
  )
  const end = Number(rows[0]?.['last'])
  return inTransaction(client, async () => {
    const found = await runOn(client, { sql: cursorText, parameters: [] })
    const position = Number(found.rows[0]?.['position'])
    const last = Math.min(end, position + stepRows)
    if (last <= position) return false
    for (const sql of [addText, ...availabilityTexts, ...trafficTexts])
      await runOn(client, { sql, parameters: [position, last] })
    await runOn(client, { sql: moveText, parameters: [last] })
    return last < end
  })
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
