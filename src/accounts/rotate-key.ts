/** Exchanging a key: a new one with the same settings, while the old one goes on for a while, then ends by itself. */
import { refuse } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import type { Changed } from '../db/change.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUndone } from '../db/store-error.ts'
import { newId } from '../lib/ids.ts'
import { keyOf, type Key, type NewKey } from './keys.ts'
import { hashOfKey, newSecret, shownLength } from './key-secret.ts'

/**
 * The old key ends after `graceMs`, or when it would have ended anyway. For that while the account holds one key more
 * than it may. Refuses with 404 for a key that is not there, 409 for one that is being exchanged already.
 */
export async function rotateKey(
  db: Db,
  given: { readonly id: string; readonly accountId: string; readonly graceMs: number },
  by: string,
): Promise<Changed<{ key: NewKey; old: Key }>> {
  const { id, accountId, graceMs } = given
  const own = sql
    .selectFrom('keys')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
  const row = await db.first(own)
  if (row === undefined) throw refuse('not_found', { message: 'There is no such key.' })
  const now = Date.now()
  const endsAt = Math.min(row.expires_at ?? Infinity, now + graceMs)
  const secret = newSecret()
  const next = {
    ...row,
    id: newId('key'),
    hash: hashOfKey(secret),
    prefix: secret.slice(0, shownLength),
    last_four: secret.slice(-4),
    status: 'active' as const,
    created_at: now,
    last_used_at: null,
  }
  const ending = sql
    .updateTable('keys')
    .set({ expires_at: endsAt })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where((build) =>
      row.expires_at === null ? build('expires_at', 'is', null) : build('expires_at', '=', row.expires_at),
    )
  try {
    const audit = auditRow(by, 'key.rotate', id, { account: accountId, next: next.id, endsAt })
    await db.write(expecting(ending, 1), sql.insertInto('keys').values(next), audit)
  } catch (error) {
    throw isUndone(error) ? refuse('conflict', { message: 'This key was changed meanwhile.' }) : error
  }
  const changes = [
    { kind: 'key' as const, id },
    { kind: 'key' as const, id: next.id },
  ]
  return { value: { key: { ...keyOf(next), secret }, old: keyOf({ ...row, expires_at: endsAt }) }, changes }
}
