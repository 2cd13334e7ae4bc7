/**
 * Expiry of responses stored by `Idempotency-Key`. They are written with the commit that charges the request
 * (journal-writer.ts), and deleted a few at a time after they expire.
 */

import type { Connection } from '../sqlite/connection.ts'

/** How long an `Idempotency-Key` identifies its first request. */
export const storedResponseTtlMs = 24 * 60 * 60 * 1000

/** Up to 1 MiB each, so that a step takes the store thread only a few milliseconds. */
const stepRows = 16

const deleteExpiredSql = `delete from kept_answers where (account_id, key_hash) in
  (select account_id, key_hash from kept_answers where at <= ? order by at limit ${stepRows})`

/** Deletes the oldest expired responses in the caller's transaction; false if there were none. */
export function deleteExpiredResponsesStep(connection: Connection, now: number): boolean {
  return connection.run({ sql: deleteExpiredSql, parameters: [now - storedResponseTtlMs] }).changes > 0
}
