/**
 * Answers kept for callers who repeat a request: written with the commit that charges it (journal.ts), and deleted a few
 * at a time once nobody can ask for them any more.
 */

import type { Connection } from './sqlite/connection.ts'

/** So long after its first request an `Idempotency-Key` means that request. */
export const keptMs = 24 * 60 * 60 * 1000

/** Up to 1 MiB each: a step deletes no more than what the store thread writes in a few milliseconds. */
const stepRows = 16

const deleteText = `delete from kept_answers where (account_id, key_hash) in
  (select account_id, key_hash from kept_answers where at <= ? order by at limit ${stepRows})`

/** Deletes the oldest of what is over, inside the caller's transaction; false when there was none. */
export function dropExpiredStep(connection: Connection, now: number): boolean {
  return connection.run({ sql: deleteText, parameters: [now - keptMs] }).changes > 0
}
