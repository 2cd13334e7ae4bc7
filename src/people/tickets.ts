/**
 * Tickets: what is good once and for a while. A link that is printed or mailed, the second step of a sign-in, the
 * challenge of a passkey. Whoever has the token has the ticket; only its hash is kept.
 */

import { refuse } from '../errors.ts'
import { expecting, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'
import { hashOfToken, newToken } from '../users/tokens.ts'

const minuteMs = 60_000

/** How long each is good, and how often a wrong second part may be sent with it. */
const kinds = {
  /** Makes an operator. */
  'set-up': { ms: 24 * 60 * minuteMs, tries: 1 },
  /** Proves an e-mail address and makes what was asked for with it. */
  'verify-email': { ms: 24 * 60 * minuteMs, tries: 1 },
  'reset-password': { ms: 60 * minuteMs, tries: 1 },
  /** An operator's link: the same, handed over by people. */
  access: { ms: 72 * 60 * minuteMs, tries: 1 },
  'second-factor': { ms: 5 * minuteMs, tries: 5 },
  'passkey-sign-in': { ms: 5 * minuteMs, tries: 1 },
  'passkey-new': { ms: 5 * minuteMs, tries: 1 },
} as const

export type TicketKind = keyof typeof kinds

export interface Ticket {
  readonly kind: TicketKind
  readonly personId: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly expiresAt: number
}

export interface TicketInput {
  readonly kind: TicketKind
  readonly personId?: string
  readonly detail?: object
  /** What else happens in the same batch. */
  readonly also?: readonly Query[]
  /** Those of this kind (and person) that were there before are void. */
  readonly alone?: boolean
}

export interface NewTicket {
  readonly token: string
  readonly expiresAt: number
}

export async function makeTicket(db: Db, input: TicketInput): Promise<NewTicket> {
  const { kind, personId = null, detail = {}, also = [], alone = false } = input
  const [now, token] = [Date.now(), newToken()]
  const expiresAt = now + kinds[kind].ms
  const row = {
    hash: hashOfToken(token),
    kind,
    person_id: personId,
    detail: JSON.stringify(detail),
    tries_left: kinds[kind].tries,
    created_at: now,
    expires_at: expiresAt,
  }
  const ofKind = voidingAll(kind)
  // Not `is ?`: PostgreSQL knows that with `null` alone.
  const before =
    personId === null ? ofKind.where('person_id', 'is', null) : ofKind.where('person_id', '=', personId)
  await db.write(...(alone ? [before] : []), sql.insertInto('tickets').values(row), ...also)
  return { token, expiresAt }
}

function linkInvalid() {
  return refuse('link_invalid')
}

/** The ticket without using it up. Throws 404 when it is not good, or no longer. */
export async function ticketBy(db: Db, token: string, ...wanted: TicketKind[]): Promise<Ticket> {
  const query = sql.selectFrom('tickets').selectAll().where('hash', '=', hashOfToken(token))
  const row = await db.first(query)
  const kind = wanted.find((each) => each === row?.kind)
  if (row === undefined || kind === undefined || row.expires_at <= Date.now() || row.tries_left === 0) {
    throw linkInvalid()
  }
  const detail = JSON.parse(row.detail) as Record<string, unknown>
  return { kind, personId: row.person_id, detail, expiresAt: row.expires_at }
}

/** For a batch's beginning: the ticket is used up, or the batch does not happen (see `orInvalid`). */
export function usingTicket(token: string): Query {
  return expecting(sql.deleteFrom('tickets').where('hash', '=', hashOfToken(token)), 1)
}

/** For the same batch: all others of its kind are void with it. */
export function voidingAll(kind: TicketKind) {
  return sql.deleteFrom('tickets').where('kind', '=', kind)
}

/** Runs a batch that begins with `usingTicket`: whoever comes second is told that the link is used up. */
export async function orInvalid<Result>(batch: Promise<Result>): Promise<Result> {
  try {
    return await batch
  } catch (error) {
    throw isUnmet(error, 0) ? linkInvalid() : error
  }
}

/** Takes the ticket: from now on it is void. Throws 404 when it is not good. */
export async function takeTicket(db: Db, token: string, ...wanted: TicketKind[]): Promise<Ticket> {
  const ticket = await ticketBy(db, token, ...wanted)
  await orInvalid(db.write(usingTicket(token)))
  return ticket
}

/** Counts one try with the ticket before it is looked at; after the last one it is void. Throws 404 then. */
export async function tryTicket(db: Db, token: string, kind: TicketKind): Promise<Ticket> {
  const ticket = await ticketBy(db, token, kind)
  const used = sql
    .updateTable('tickets')
    .set((build) => ({ tries_left: build('tries_left', '-', 1) }))
    .where('hash', '=', hashOfToken(token))
    .where('tries_left', '>', 0)
  await orInvalid(db.write(expecting(used, 1)))
  return ticket
}
