/** Invite codes: who has one may open an account where not everybody may. Of a code only its hash is kept. */

import { refuse } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'
import { newId } from '../lib/ids.ts'
import { hashOfToken, newTypedCode, plainTypedCode } from './tokens.ts'

export interface Invite {
  readonly id: string
  /** Whom it is for, in an operator's words. */
  readonly note: string
  readonly usesLeft: number
  readonly expiresAt: number | null
  readonly createdAt: number
}

/** The code is shown once. Refuses with 400 for an end that lies in the past. */
export async function createInvite(
  db: Db,
  input: { readonly note: string; readonly uses: number; readonly expiresAt: number | null },
  by: string,
): Promise<{ id: string; code: string }> {
  const { note, uses, expiresAt } = input
  const now = Date.now()
  if (expiresAt !== null && expiresAt <= now) {
    throw refuse('invalid_request', { param: 'expires_at', message: 'expires_at lies in the past.' })
  }
  const [id, code] = [newId('inv'), newTypedCode()]
  const row = {
    id,
    code_hash: hashOfToken(code),
    note,
    uses_left: uses,
    expires_at: expiresAt,
    created_at: now,
  }
  await db.write(
    sql.insertInto('invites').values(row),
    auditRow(by, 'invite.create', id, { note, uses, expiresAt }),
  )
  return { id, code }
}

/** Newest first. */
export async function listInvites(
  db: Db,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ data: Invite[]; next: string | null }> {
  let query = sql
    .selectFrom('invites')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map((row): Invite => ({
    id: row.id,
    note: row.note,
    usesLeft: row.uses_left,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  }))
  return { data, next: rows.length > page.limit ? (data.at(-1)?.id ?? null) : null }
}

/** Refuses with 404 for an unknown one. */
export async function deleteInvite(db: Db, id: string, by: string): Promise<void> {
  try {
    const remove = sql.deleteFrom('invites').where('id', '=', id)
    await db.write(expecting(remove, 1), auditRow(by, 'invite.delete', id))
  } catch (error) {
    throw isUnmet(error, 0) ? refuse('not_found', { message: 'There is no such invite.' }) : error
  }
}

function inviteBy(code: string) {
  const plain = plainTypedCode(code)
  return [hashOfToken(plain), Date.now()] as const
}

/** Throws 403 unless the code is good now. */
export async function checkInvite(db: Db, code: string | undefined): Promise<void> {
  const [hash, now] = inviteBy(code ?? '')
  const row = await db.first(sql.selectFrom('invites').selectAll().where('code_hash', '=', hash))
  const isOver =
    row === undefined || row.uses_left === 0 || (row.expires_at !== null && row.expires_at <= now)
  if (isOver) throw refuse('invite_invalid', { param: 'invite' })
}

/** For a batch's beginning: one use of the code is taken, or the batch does not happen. */
export function takingInvite(code: string): Query {
  const [hash, now] = inviteBy(code)
  const update = sql
    .updateTable('invites')
    .set((build) => ({ uses_left: build('uses_left', '-', 1) }))
    .where('code_hash', '=', hash)
    .where('uses_left', '>', 0)
    .where((build) => build.or([build('expires_at', 'is', null), build('expires_at', '>', now)]))
  return expecting(update, 1)
}
