/**
 * Key rotation: creates a new key with the same settings, and lets the old one expire after a grace period.
 */
import { apiError, notFound } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { auditFields } from '../db/audit-changes.ts'
import type { Changed } from '../db/change.ts'
import { type Db, writeIfFound } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import { keyOf, type Key, type NewKey } from './keys.ts'
import { hashKey, generateSecret, visiblePrefixLength } from './key-secret.ts'

/**
 * The old key expires after `graceMs`, or earlier if it was going to. During that time the account may have
 * one key more than allowed. Throws 404 for an unknown key, 409 if the key changes at the same time.
 */
export async function rotateKey(
  db: Db,
  input: { readonly id: string; readonly accountId: string; readonly graceMs: number },
  by: string,
): Promise<Changed<{ key: NewKey; old: Key }>> {
  const { id, accountId, graceMs } = input
  const current = sql
    .selectFrom('keys')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
  const row = await db.first(current)
  if (row === undefined) throw notFound('Key')
  const now = Date.now()
  const expiresAt = Math.min(row.expires_at ?? Infinity, now + graceMs)
  const secret = generateSecret()
  const next = {
    ...row,
    id: newId('key'),
    hash: hashKey(secret),
    prefix: secret.slice(0, visiblePrefixLength),
    last_four: secret.slice(-4),
    status: 'active' as const,
    created_at: now,
    last_used_at: null,
  }
  const expireOld = sql
    .updateTable('keys')
    .set({ expires_at: expiresAt })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where((build) =>
      row.expires_at === null ? build('expires_at', 'is', null) : build('expires_at', '=', row.expires_at),
    )
  const detail = auditFields({ account: accountId, next: next.id, endsAt: expiresAt })
  const audit = auditStatement(by, 'key.rotate', id, detail)
  if (!(await writeIfFound(db, expireOld, sql.insertInto('keys').values(next), audit)))
    throw apiError('conflict', { message: 'The key was changed by another request. Try again.' })
  const changes = [
    { kind: 'key' as const, id },
    { kind: 'key' as const, id: next.id },
  ]
  return {
    value: { key: { ...keyOf(next), secret }, old: keyOf({ ...row, expires_at: expiresAt }) },
    changes,
  }
}
