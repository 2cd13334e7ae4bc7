/**
 * Invite codes: with one, people can sign up where sign-up is not open to everybody. Only the hash of a code
 * is stored.
 */

import { fieldsOf } from '../db/row-fields.ts'
import { apiError, notFound, invalidField } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { auditFields } from '../db/audit-changes.ts'
import {
  expectChanges,
  writeIfFound,
  type Db,
  type Query,
  type Page,
  type PageOptions,
  pageOf,
} from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import { hashToken, generateTypedCode, normalizeTypedCode } from './tokens.ts'

export interface Invite {
  readonly id: string
  /** An operator's note about whom it is for. */
  readonly note: string
  readonly usesLeft: number
  readonly expiresAt: number | null
  readonly createdAt: number
}

/** The code is returned only once. Throws 400 for an expiry in the past. */
export async function createInvite(
  db: Db,
  input: { readonly note: string; readonly uses: number; readonly expiresAt: number | null },
  by: string,
): Promise<{ id: string; code: string }> {
  const { note, uses, expiresAt } = input
  const now = Date.now()
  if (expiresAt !== null && expiresAt <= now) {
    throw invalidField('expires_at', 'must be in the future')
  }
  const [id, code] = [newId('inv'), generateTypedCode()]
  const row = {
    id,
    code_hash: hashToken(code),
    note,
    uses_left: uses,
    expires_at: expiresAt,
    created_at: now,
  }
  await db.write(
    sql.insertInto('invites').values(row),
    auditStatement(by, 'invite.create', id, auditFields({ note, uses, expiresAt })),
  )
  return { id, code }
}

/** Newest first. */
export async function listInvites(db: Db, page: PageOptions): Promise<Page<Invite>> {
  let query = sql
    .selectFrom('invites')
    .select(['id', 'note', 'uses_left', 'expires_at', 'created_at'])
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, fieldsOf)
}

/** Throws 404 for an unknown id. */
export async function deleteInvite(db: Db, id: string, by: string): Promise<void> {
  const remove = sql.deleteFrom('invites').where('id', '=', id)
  if (!(await writeIfFound(db, remove, auditStatement(by, 'invite.delete', id)))) throw notFound('Invite')
}

function codeLookup(code: string) {
  const plain = normalizeTypedCode(code)
  return [hashToken(plain), Date.now()] as const
}

/** Throws 403 unless the code is valid now. */
export async function checkInvite(db: Db, code: string | undefined): Promise<void> {
  const [hash, now] = codeLookup(code ?? '')
  const row = await db.first(sql.selectFrom('invites').selectAll().where('code_hash', '=', hash))
  const isInvalid =
    row === undefined || row.uses_left === 0 || (row.expires_at !== null && row.expires_at <= now)
  if (isInvalid) throw apiError('invite_invalid', { param: 'invite' })
}

/** The first statement of a batch: uses the code once, or fails the batch. */
export function redeemInviteStatement(code: string): Query {
  const [hash, now] = codeLookup(code)
  const update = sql
    .updateTable('invites')
    .set((build) => ({ uses_left: build('uses_left', '-', 1) }))
    .where('code_hash', '=', hash)
    .where('uses_left', '>', 0)
    .where((build) => build.or([build('expires_at', 'is', null), build('expires_at', '>', now)]))
  return expectChanges(update, 1)
}
