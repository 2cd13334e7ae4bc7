/**
 * The key that the console itself calls with for an account: a row like any other key's, so that limits, caps, requests
 * and sums have their subject, but with a secret that nobody has ever seen. Its id says whose it is.
 */
import type { Changed } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { hashOfKey, newSecret } from './key-secret.ts'

export const consoleKeyName = 'Console'

export function consoleKeyId(accountId: string): string {
  return `con_${accountId.slice(accountId.indexOf('_') + 1)}`
}

/** Makes the account's console key unless it is there. */
export async function makeConsoleKey(db: Db, accountId: string): Promise<Changed<string>> {
  const id = consoleKeyId(accountId)
  const row = {
    id,
    account_id: accountId,
    name: consoleKeyName,
    hash: hashOfKey(newSecret()),
    prefix: '',
    last_four: '',
    status: 'active' as const,
    expires_at: null,
    models: null,
    ips: null,
    cap_daily_nanos: null,
    cap_monthly_nanos: null,
    cap_total_nanos: null,
    limits: '{}',
    created_at: Date.now(),
    last_used_at: null,
    deleted_at: null,
  }
  await db.write(
    sql
      .insertInto('keys')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doNothing()),
  )
  return { value: id, changes: [{ kind: 'key', id }] }
}
