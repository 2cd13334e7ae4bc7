/** One who writes into the database of a cluster beside us. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { openClient, runTexts } from '../../../src/db/postgres/connection.ts'

const program = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))

/** For as long as it takes. */
export const strangerBegins = 'set idle_in_transaction_session_timeout = 0; begin;'

/** Begins to write a row of the requests, so that whoever wants to write the same one waits. */
export function strangerWrites(rowId: number): string {
  return `${strangerBegins} insert into requests (row_id, request_id, at, account_id, key_id, model, http_status, outcome,
    stream, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
    values (${rowId}, 'stranger', 0, '', '', '', 0, '', 0, 0, 0, 0, 0, 0, 0, '', 0)`
}

export interface CutOff {
  readonly url: string
  readonly dataDir: string
  readonly words: readonly string[]
  /** What the stranger has begun. */
  readonly text: string
  /** SIGKILL where nothing is given. */
  readonly signal?: NodeJS.Signals
}

/** Kills a command in the middle: while it waits for the stranger, who then gives up. */
export async function killWaiting(
  t: TestContext,
  { url, dataDir, words, text, signal = 'SIGKILL' }: CutOff,
): Promise<void> {
  const stranger = await openClient({ url, name: 'stranger', statementMs: 60_000 })
  t.after(() => stranger.end())
  await stranger.query(text)
  const { PATH, HOME } = process.env
  const command = spawn(process.execPath, [program, ...words], {
    env: { PATH, HOME, DATA_DIR: dataDir, DATABASE_URL: url },
    stdio: 'ignore',
  })
  const looking = await openClient({ url, name: 'looking', statementMs: 60_000 })
  const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await runTexts(looking, waits))[0]?.length === 0) {
    assert.equal(command.exitCode, null)
    await delay(20)
  }
  await looking.end()
  command.kill(signal)
  await once(command, 'exit')
  await stranger.query('rollback')
}
