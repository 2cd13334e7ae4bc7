/**
 * Confirmation: what an operator's session alone must not be enough for requires that its user has entered the password,
 * or used a passkey, again. It holds for a few minutes and for that session only.
 */

import { auditStatement } from '../db/audit.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { issueOneTimeToken } from './one-time-tokens.ts'
import type { SignedInUser } from './sessions.ts'
import { actorOf } from './users.ts'

export interface SessionIds {
  readonly id: string
  readonly userId: string
}

/** Call it only after the user's password or passkey was verified, or just chosen. Returns when the confirmation expires. */
export async function confirmSession(db: Db, { user, session }: SignedInUser): Promise<number> {
  const detail = { session: session.id }
  const { expiresAt } = await issueOneTimeToken(db, {
    kind: 'confirmation',
    userId: user.id,
    detail,
    extraStatements: [auditStatement(actorOf(user), 'person.confirm', user.id, detail)],
  })
  return expiresAt
}

export async function isConfirmed(db: Db, session: SessionIds, now: number): Promise<boolean> {
  const query = sql
    .selectFrom('tickets')
    .select('detail')
    .where('kind', '=', 'confirmation')
    .where('person_id', '=', session.userId)
    .where('expires_at', '>', now)
  const confirmations = await db.all(query)
  return confirmations.some(
    ({ detail }) => (JSON.parse(detail) as { session: string }).session === session.id,
  )
}
