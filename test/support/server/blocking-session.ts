/** Another session of a cluster's database that holds locks while a command of ours runs. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { openClient, runScript } from '../../../src/db/postgres/connection.ts'
import { waitUntil } from '../wait.ts'

const program = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))

/** Begins a transaction that may stay idle. */
export const beginSql = 'set idle_in_transaction_session_timeout = 0; begin;'

/** Inserts a row of `requests` without committing, so that a session that inserts the same row waits. */
export function insertRequestSql(rowId: number): string {
  return `${beginSql} insert into requests (row_id, request_id, at, account_id, key_id, model, http_status, outcome,
    stream, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
    values (${rowId}, 'blocker', 0, '', '', '', 0, '', 0, 0, 0, 0, 0, 0, 0, '', 0)`
}

export interface KillOptions {
  readonly url: string
  readonly dataDir: string
  readonly args: readonly string[]
  /** What the blocking session has executed without committing. */
  readonly blockingSql: string
  /** Default: SIGKILL. */
  readonly signal?: NodeJS.Signals
}

/** Runs a command, kills it while it waits for the blocking session's lock, and then releases the lock. */
export async function killWhileBlocked(
  t: TestContext,
  { url, dataDir, args, blockingSql, signal = 'SIGKILL' }: KillOptions,
): Promise<void> {
  const blocker = await openClient({ url, name: 'blocker', statementMs: 60_000 })
  t.after(() => blocker.end())
  await blocker.query(blockingSql)
  const { PATH, HOME } = process.env
  const command = spawn(process.execPath, [program, ...args], {
    env: { PATH, HOME, DATA_DIR: dataDir, DATABASE_URL: url },
    stdio: 'ignore',
  })
  const observer = await openClient({ url, name: 'observer', statementMs: 60_000 })
  const waitingSql = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await waitUntil(async () => {
    assert.equal(command.exitCode, null)
    return (await runScript(observer, waitingSql))[0]?.length !== 0
  }, 'the command to wait for the lock')
  await observer.end()
  command.kill(signal)
  await once(command, 'exit')
  await blocker.query('rollback')
}
