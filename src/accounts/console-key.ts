/**
 * The key that the console itself uses to call models for an account. It has a row like any other key, so
 * that limits, caps, requests and sums apply to it, but nobody has ever seen its secret. Its id is derived
 * from the account's.
 */
import type { Changed } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { generateSecret } from './key-secret.ts'
import { newKeyRow } from './keys.ts'

export const consoleKeyName = 'Console'

export function consoleKeyId(accountId: string): string {
  return `con_${accountId.slice(accountId.indexOf('_') + 1)}`
}

/** Creates the account's console key unless it exists. */
export async function ensureConsoleKey(db: Db, accountId: string): Promise<Changed<string>> {
  const id = consoleKeyId(accountId)
  const fields = { id, account_id: accountId, name: consoleKeyName }
  const row = { ...newKeyRow(fields, generateSecret()), prefix: '', last_four: '' }
  await db.write(
    sql
      .insertInto('keys')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doNothing()),
  )
  return { value: id, changes: [{ kind: 'key', id }] }
}
