/**
 * Sessions: opaque, kept here, ended here. The cookie has a random token, the table its hash; each sign-in gets a new
 * one. A session ends when it was idle for too long, at its absolute end, when it is revoked, or with its person.
 */

import { auditRow } from '../db/audit.ts'
import type { Db, Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import type { SessionsTable } from '../db/schema/tables/users.ts'
import { newId } from '../lib/ids.ts'
import { actorOf, personOf, type Person, type Role } from './users.ts'
import { hashOfToken, newToken } from './tokens.ts'

export interface Session {
  readonly id: string
  readonly personId: string
  readonly actingAccount: string | null
  readonly address: string
  /** The browser's own words. */
  readonly agent: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
}

/** Who is signed in. */
export interface SignedIn {
  readonly session: Session
  readonly person: Person
}

const hourMs = 3_600_000
/** Whoever runs the relay has more to lose. */
const limitsOf: Record<Role, { readonly idleMs: number; readonly absoluteMs: number }> = {
  customer: { idleMs: 72 * hourMs, absoluteMs: 30 * 24 * hourMs },
  operator: { idleMs: 12 * hourMs, absoluteMs: 7 * 24 * hourMs },
}
const seenEveryMs = 60_000
const agentMost = 200

function sessionOf(row: SessionsTable): Session {
  return {
    id: row.id,
    personId: row.person_id,
    actingAccount: row.acting_account,
    address: row.address,
    agent: row.agent,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
  }
}

export interface Opening {
  readonly address: string
  readonly agent: string
  /** How one came in, for the audit log: `password`, `totp`, `passkey`, `link`. */
  readonly means: string
}

/** Opens a session; the token is for the cookie and kept nowhere. */
export async function openSession(
  db: Db,
  person: Person,
  opening: Opening,
): Promise<{ session: Session; token: string }> {
  const now = Date.now()
  const token = newToken()
  const row: SessionsTable = {
    hash: hashOfToken(token),
    id: newId('ses'),
    person_id: person.id,
    acting_account: null,
    address: opening.address,
    agent: opening.agent.slice(0, agentMost),
    created_at: now,
    seen_at: now,
    expires_at: now + limitsOf[person.role].absoluteMs,
  }
  const { address, means } = opening
  await db.write(
    sql.insertInto('sessions').values(row),
    sql.updateTable('persons').set({ last_sign_in_at: now }).where('id', '=', person.id),
    auditRow(actorOf(person), 'person.sign_in', person.id, { address, means, session: row.id }),
  )
  return { session: sessionOf(row), token }
}

/** Whose token it is, unless the session or the person has ended; notes now and then that it was seen. */
export async function signedInBy(db: Db, token: string, now = Date.now()): Promise<SignedIn | undefined> {
  const hash = hashOfToken(token)
  const row = await db.first(sql.selectFrom('sessions').selectAll().where('hash', '=', hash))
  if (row === undefined || row.expires_at <= now) return undefined
  const personRow = await db.first(sql.selectFrom('persons').selectAll().where('id', '=', row.person_id))
  if (personRow === undefined || personRow.disabled_at !== null) return undefined
  if (now - row.seen_at > limitsOf[personRow.role].idleMs) return undefined
  if (now - row.seen_at > seenEveryMs) {
    await db.write(sql.updateTable('sessions').set({ seen_at: now }).where('hash', '=', hash))
  }
  return { session: sessionOf(row), person: personOf(personRow) }
}

/** A person's open sessions, newest first. */
export async function listSessions(db: Db, person: Person, now = Date.now()): Promise<Session[]> {
  const rows = await db.all(
    sql
      .selectFrom('sessions')
      .selectAll()
      .where('person_id', '=', person.id)
      .where('expires_at', '>', now)
      .where('seen_at', '>', now - limitsOf[person.role].idleMs)
      .orderBy('created_at', 'desc')
      .limit(200),
  )
  return rows.map(sessionOf)
}

/** Ends one session of a person; false when there is none of this id. */
export async function endSession(db: Db, person: Person, id: string): Promise<boolean> {
  const [ended] = await db.write(
    sql.deleteFrom('sessions').where('id', '=', id).where('person_id', '=', person.id),
    auditRow(actorOf(person), 'person.sign_out', person.id, { session: id }),
  )
  return (ended?.changes ?? 0) > 0
}

/** For a batch: ends all sessions of a person, or all but one. */
export function endingSessions(personId: string, except?: string): Query {
  const all = sql.deleteFrom('sessions').where('person_id', '=', personId)
  return except === undefined ? all : all.where('id', '!=', except)
}

export async function endOtherSessions(db: Db, { person, session }: SignedIn): Promise<number> {
  const [ended] = await db.write(
    endingSessions(person.id, session.id),
    auditRow(actorOf(person), 'person.end_sessions', person.id, { except: session.id }),
  )
  return ended?.changes ?? 0
}

/** An operator's session shows an account's pages from now on; `null`: no longer. */
export async function actAs(db: Db, { person, session }: SignedIn, accountId: string | null): Promise<void> {
  const object = accountId ?? session.actingAccount ?? person.id
  await db.write(
    sql.updateTable('sessions').set({ acting_account: accountId }).where('id', '=', session.id),
    auditRow(actorOf(person), accountId === null ? 'account.act_end' : 'account.act', object, {
      session: session.id,
    }),
  )
}

/** Throws away what has ended, so that the tables do not grow. */
export async function sweepSessions(db: Db, now = Date.now()): Promise<void> {
  await db.write(
    sql.deleteFrom('sessions').where('expires_at', '<=', now),
    sql.deleteFrom('tickets').where('expires_at', '<=', now),
  )
}
