/**
 * One-time tokens: credentials that are valid once and for a limited time, such as printed or e-mailed links,
 * the second step of a sign-in and passkey challenges. Only the hash of a token is stored.
 */

import { apiError } from '../errors.ts'
import { expectChanges, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isExpectationFailureOf } from '../db/store-error.ts'
import { hashToken, generateToken } from './tokens.ts'

const minuteMs = 60_000

/** The lifetime of each kind, and how many attempts at the second step it allows. */
const tokenKinds = {
  /** Creates an operator. */
  'set-up': { ms: 24 * 60 * minuteMs, attempts: 1 },
  /** Confirms an e-mail address and creates the account that was requested with it. */
  'verify-email': { ms: 24 * 60 * minuteMs, attempts: 1 },
  'reset-password': { ms: 60 * minuteMs, attempts: 1 },
  /** An operator's link: the same as a password reset, but passed on by people. */
  access: { ms: 72 * 60 * minuteMs, attempts: 1 },
  'second-factor': { ms: 5 * minuteMs, attempts: 5 },
  'passkey-sign-in': { ms: 5 * minuteMs, attempts: 1 },
  'passkey-new': { ms: 5 * minuteMs, attempts: 1 },
  /** Not handed out: for as long as the row exists, its session is confirmed (session-confirmation.ts). */
  confirmation: { ms: 5 * minuteMs, attempts: 1 },
} as const

export type OneTimeTokenKind = keyof typeof tokenKinds

export interface OneTimeToken {
  readonly kind: OneTimeTokenKind
  readonly userId: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly expiresAt: number
}

export interface OneTimeTokenInput {
  readonly kind: OneTimeTokenKind
  readonly userId?: string
  readonly detail?: object
  /** Further statements for the same batch. */
  readonly extraStatements?: readonly Query[]
  /** Revokes earlier tokens of this kind (and user). */
  readonly replacesOthers?: boolean
}

export interface IssuedToken {
  readonly token: string
  readonly expiresAt: number
}

export async function issueOneTimeToken(db: Db, input: OneTimeTokenInput): Promise<IssuedToken> {
  const { kind, userId = null, detail = {}, extraStatements = [], replacesOthers = false } = input
  const [now, token] = [Date.now(), generateToken()]
  const expiresAt = now + tokenKinds[kind].ms
  const row = {
    hash: hashToken(token),
    kind,
    person_id: userId,
    detail: JSON.stringify(detail),
    tries_left: tokenKinds[kind].attempts,
    created_at: now,
    expires_at: expiresAt,
  }
  const ofKind = revokeTokensStatement(kind)
  // Not `is ?`: PostgreSQL supports that only with the literal `null`.
  const revokeOthers =
    userId === null ? ofKind.where('person_id', 'is', null) : ofKind.where('person_id', '=', userId)
  await db.write(
    ...(replacesOthers ? [revokeOthers] : []),
    sql.insertInto('tickets').values(row),
    ...extraStatements,
  )
  return { token, expiresAt }
}

function invalidLink() {
  return apiError('link_invalid')
}

/** Looks up a token without consuming it. Throws 404 if it is invalid or has expired. */
export async function findOneTimeToken(
  db: Db,
  token: string,
  ...wanted: OneTimeTokenKind[]
): Promise<OneTimeToken> {
  const query = sql.selectFrom('tickets').selectAll().where('hash', '=', hashToken(token))
  const row = await db.first(query)
  const kind = wanted.find((each) => each === row?.kind)
  if (row === undefined || kind === undefined || row.expires_at <= Date.now() || row.tries_left === 0) {
    throw invalidLink()
  }
  const detail = JSON.parse(row.detail) as Record<string, unknown>
  return { kind, userId: row.person_id, detail, expiresAt: row.expires_at }
}

/** The first statement of a batch: consumes the token, or fails the batch (see `rejectIfConsumed`). */
export function consumeTokenStatement(token: string): Query {
  return expectChanges(sql.deleteFrom('tickets').where('hash', '=', hashToken(token)), 1)
}

/** For a batch: revokes all tokens of a kind. */
export function revokeTokensStatement(kind: OneTimeTokenKind) {
  return sql.deleteFrom('tickets').where('kind', '=', kind)
}

/**
 * Runs a batch that begins with `consumeTokenStatement`. If the token was consumed concurrently, throws 404.
 */
export async function rejectIfConsumed<Result>(batch: Promise<Result>): Promise<Result> {
  try {
    return await batch
  } catch (error) {
    throw isExpectationFailureOf(error, 0) ? invalidLink() : error
  }
}

/** Consumes a token. Throws 404 if it is invalid or has expired. */
export async function consumeOneTimeToken(
  db: Db,
  token: string,
  ...wanted: OneTimeTokenKind[]
): Promise<OneTimeToken> {
  const oneTimeToken = await findOneTimeToken(db, token, ...wanted)
  await rejectIfConsumed(db.write(consumeTokenStatement(token)))
  return oneTimeToken
}

/**
 * Counts an attempt before the second step is checked. Throws 404 if the token is invalid or its attempts are
 * used up.
 */
export async function attemptOneTimeToken(
  db: Db,
  token: string,
  kind: OneTimeTokenKind,
): Promise<OneTimeToken> {
  const oneTimeToken = await findOneTimeToken(db, token, kind)
  const used = sql
    .updateTable('tickets')
    .set((build) => ({ tries_left: build('tries_left', '-', 1) }))
    .where('hash', '=', hashToken(token))
    .where('tries_left', '>', 0)
  await rejectIfConsumed(db.write(expectChanges(used, 1)))
  return oneTimeToken
}
