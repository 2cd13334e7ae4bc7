/**
 * Sessions are opaque and stored on the server. The cookie contains a random token, the table its hash; each
 * sign-in gets a new one. A session ends when it has been idle for too long, at its absolute expiry, when it
 * is revoked, or with its user.
 */

import { auditStatement } from '../db/audit.ts'
import type { Db, Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import type { SessionsTable } from '../db/schema/tables/users.ts'
import { newId } from '../lib/ids.ts'
import { actorOf, userOf, type User, type Role } from './users.ts'
import { hashToken, generateToken } from './tokens.ts'

export interface Session {
  readonly id: string
  readonly userId: string
  readonly impersonatedAccount: string | null
  readonly address: string
  /** The User-Agent header. */
  readonly agent: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
}

/** The signed-in user and their session. */
export interface SignedInUser {
  readonly session: Session
  readonly user: User
}

const hourMs = 3_600_000
/** Operators have more to lose, so their sessions are shorter. */
const lifetimes: Record<Role, { readonly idleMs: number; readonly absoluteMs: number }> = {
  customer: { idleMs: 72 * hourMs, absoluteMs: 30 * 24 * hourMs },
  operator: { idleMs: 12 * hourMs, absoluteMs: 7 * 24 * hourMs },
}
const lastSeenUpdateMs = 60_000
const maxAgentLength = 200

function sessionOf(row: SessionsTable): Session {
  return {
    id: row.id,
    userId: row.person_id,
    impersonatedAccount: row.acting_account,
    address: row.address,
    agent: row.agent,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
  }
}

export interface SignInDetails {
  readonly address: string
  readonly agent: string
  /** The method of sign-in for the audit log: `password`, `totp`, `passkey`, `link`. */
  readonly method: string
}

/** Opens a session. The token is for the cookie and is not stored. */
export async function openSession(
  db: Db,
  user: User,
  signIn: SignInDetails,
): Promise<{ session: Session; token: string }> {
  const now = Date.now()
  const token = generateToken()
  const row: SessionsTable = {
    hash: hashToken(token),
    id: newId('ses'),
    person_id: user.id,
    acting_account: null,
    address: signIn.address,
    agent: signIn.agent.slice(0, maxAgentLength),
    created_at: now,
    seen_at: now,
    expires_at: now + lifetimes[user.role].absoluteMs,
  }
  const { address, method } = signIn
  await db.write(
    sql.insertInto('sessions').values(row),
    sql.updateTable('persons').set({ last_sign_in_at: now }).where('id', '=', user.id),
    auditStatement(actorOf(user), 'person.sign_in', user.id, { address, means: method, session: row.id }),
  )
  return { session: sessionOf(row), token }
}

/** The session and user of a token, unless either has ended. Updates the last-seen time occasionally. */
export async function userBySessionToken(
  db: Db,
  token: string,
  now = Date.now(),
): Promise<SignedInUser | undefined> {
  const hash = hashToken(token)
  const row = await db.first(sql.selectFrom('sessions').selectAll().where('hash', '=', hash))
  if (row === undefined || row.expires_at <= now) return undefined
  const userRow = await db.first(sql.selectFrom('persons').selectAll().where('id', '=', row.person_id))
  if (userRow === undefined || userRow.disabled_at !== null) return undefined
  if (now - row.seen_at > lifetimes[userRow.role].idleMs) return undefined
  if (now - row.seen_at > lastSeenUpdateMs) {
    await db.write(sql.updateTable('sessions').set({ seen_at: now }).where('hash', '=', hash))
  }
  return { session: sessionOf(row), user: userOf(userRow) }
}

/** A user's open sessions, newest first. */
export async function listSessions(db: Db, user: User, now = Date.now()): Promise<Session[]> {
  const rows = await db.all(
    sql
      .selectFrom('sessions')
      .selectAll()
      .where('person_id', '=', user.id)
      .where('expires_at', '>', now)
      .where('seen_at', '>', now - lifetimes[user.role].idleMs)
      .orderBy('created_at', 'desc')
      .limit(200),
  )
  return rows.map(sessionOf)
}

/** Ends one session of a user. False if there is none with this id. */
export async function endSession(db: Db, user: User, id: string): Promise<boolean> {
  const [ended] = await db.write(
    sql.deleteFrom('sessions').where('id', '=', id).where('person_id', '=', user.id),
    auditStatement(actorOf(user), 'person.sign_out', user.id, { session: id }),
  )
  return (ended?.changes ?? 0) > 0
}

/** For a batch: ends all sessions of a user, or all but one. */
export function deleteSessionsStatement(userId: string, except?: string): Query {
  const all = sql.deleteFrom('sessions').where('person_id', '=', userId)
  return except === undefined ? all : all.where('id', '!=', except)
}

export async function endOtherSessions(db: Db, { user, session }: SignedInUser): Promise<number> {
  const [ended] = await db.write(
    deleteSessionsStatement(user.id, session.id),
    auditStatement(actorOf(user), 'person.end_sessions', user.id, { except: session.id }),
  )
  return ended?.changes ?? 0
}

/** Starts impersonation: the operator's session shows an account's pages. `null` ends it. */
export async function impersonate(
  db: Db,
  { user, session }: SignedInUser,
  accountId: string | null,
): Promise<void> {
  const object = accountId ?? session.impersonatedAccount ?? user.id
  await db.write(
    sql.updateTable('sessions').set({ acting_account: accountId }).where('id', '=', session.id),
    auditStatement(actorOf(user), accountId === null ? 'account.act_end' : 'account.act', object, {
      session: session.id,
    }),
  )
}

/** Deletes expired sessions and tokens, so that the tables do not grow. */
export async function deleteExpiredSessions(db: Db, now = Date.now()): Promise<void> {
  await db.write(
    sql.deleteFrom('sessions').where('expires_at', '<=', now),
    sql.deleteFrom('tickets').where('expires_at', '<=', now),
  )
}
