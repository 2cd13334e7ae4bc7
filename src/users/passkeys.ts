/**
 * Passkeys: signing in with a device that the user unlocks (WebAuthn). A passkey proves possession of the
 * device and the identity of its user, so no second factor is needed. The challenge of each ceremony is
 * stored in a one-time token.
 */

import type { RowFields } from '../db/row-fields.ts'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { apiError } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { requireAtMost, type Db, type Query, writeIfFound } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isExpectationFailure, isUniqueViolation } from '../db/store-error.ts'
import type { PasskeysTable } from '../db/schema/tables/users.ts'
import { actorOf, userById, type User } from './users.ts'
import { issueOneTimeToken, consumeOneTimeToken, type OneTimeTokenInput } from './one-time-tokens.ts'

/** The library is large and rarely needed, so it is loaded on first use. */
const loadWebauthn = () => import('@simplewebauthn/server')

const maxPasskeys = 20

/** The origin of the console's pages, to which passkeys are bound. */
export interface RelyingParty {
  readonly origin: string
}

export type Passkey = Pick<RowFields<PasskeysTable>, 'id' | 'name' | 'createdAt' | 'lastUsedAt'>

function passkeyOf(row: PasskeysTable): Passkey {
  return { id: row.id, name: row.name, createdAt: row.created_at, lastUsedAt: row.last_used_at }
}

function passkeyRows(db: Db, userId: string): Promise<PasskeysTable[]> {
  const query = sql.selectFrom('passkeys').selectAll().where('person_id', '=', userId)
  return db.all(query.orderBy('created_at'))
}

/** Oldest first. */
export async function listPasskeys(db: Db, userId: string): Promise<Passkey[]> {
  return (await passkeyRows(db, userId)).map(passkeyOf)
}

function relyingPartyId({ origin }: RelyingParty): string {
  return new URL(origin).hostname
}

export interface PasskeyChallenge {
  readonly ticket: string
  /** The options for the browser's WebAuthn call, passed through unchanged. */
  readonly options: Record<string, unknown>
}

function tooManyPasskeys() {
  return apiError('conflict', { message: `You already have ${maxPasskeys} passkeys. Delete one first.` })
}

/** Throws 409 if the user has the maximum number of passkeys. */
export async function startPasskeyRegistration(
  db: Db,
  user: User,
  relyingParty: RelyingParty & { readonly name: string },
): Promise<PasskeyChallenge> {
  const existing = await passkeyRows(db, user.id)
  if (existing.length >= maxPasskeys) throw tooManyPasskeys()
  const { generateRegistrationOptions } = await loadWebauthn()
  const options = await generateRegistrationOptions({
    rpName: relyingParty.name,
    rpID: relyingPartyId(relyingParty),
    userID: new TextEncoder().encode(user.id),
    userName: user.email,
    userDisplayName: user.name === '' ? user.email : user.name,
    attestationType: 'none',
    excludeCredentials: existing.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  const token = { kind: 'passkey-new', userId: user.id, replacesOthers: true } as const
  return issueChallenge(db, relyingParty, options, token)
}

async function issueChallenge(
  db: Db,
  { origin }: RelyingParty,
  options: { readonly challenge: string },
  token: Omit<OneTimeTokenInput, 'detail'>,
): Promise<PasskeyChallenge> {
  const detail = { challenge: options.challenge, origin }
  const issued = await issueOneTimeToken(db, { ...token, detail })
  return { ticket: issued.token, options: { ...options } }
}

export interface PasskeyResponse {
  readonly ticket: string
  /** The result of the browser's WebAuthn call. */
  readonly response: Record<string, unknown>
}

function passkeyRejected(cause?: unknown) {
  const error = apiError('wrong_credentials', { message: 'The passkey could not be verified.' })
  if (cause !== undefined) error.cause = cause
  return error
}

/** Stores the passkey created by the browser. Throws 401 if it cannot be verified, 409 if the user has too many. */
export async function finishPasskeyRegistration(
  db: Db,
  user: User,
  input: PasskeyResponse & { readonly name: string },
): Promise<Passkey> {
  const { userId, detail } = await consumeOneTimeToken(db, input.ticket, 'passkey-new')
  if (userId !== user.id) throw passkeyRejected()
  const origin = String(detail['origin'])
  const { verifyRegistrationResponse } = await loadWebauthn()
  const verified = await verifyRegistrationResponse({
    // The library validates every part of it.
    response: input.response as object as RegistrationResponseJSON,
    expectedChallenge: String(detail['challenge']),
    expectedOrigin: origin,
    expectedRPID: relyingPartyId({ origin }),
    requireUserVerification: true,
  }).catch((error: unknown) => {
    throw passkeyRejected(error)
  })
  if (!verified.verified) throw passkeyRejected()
  const { credential } = verified.registrationInfo
  const row: PasskeysTable = {
    id: credential.id,
    person_id: user.id,
    public_key: credential.publicKey,
    counter: credential.counter,
    transports: JSON.stringify(credential.transports ?? []),
    name: input.name,
    created_at: Date.now(),
    last_used_at: null,
  }
  try {
    const audit = auditStatement(actorOf(user), 'person.passkey_add', user.id, { name: input.name })
    const count = sql
      .selectFrom('passkeys')
      .select((build) => build.fn.countAll().as('count'))
      .where('person_id', '=', user.id)
    await db.write(sql.insertInto('passkeys').values(row), requireAtMost(count, maxPasskeys), audit)
  } catch (error) {
    if (isExpectationFailure(error)) throw tooManyPasskeys()
    throw isUniqueViolation(error, 'passkeys.id')
      ? apiError('conflict', { message: 'This passkey is already registered.' })
      : error
  }
  return passkeyOf(row)
}

/** False if the user has no such passkey. */
export async function deletePasskey(db: Db, user: User, id: string): Promise<boolean> {
  const remove = sql.deleteFrom('passkeys').where('id', '=', id).where('person_id', '=', user.id)
  return writeIfFound(db, remove, auditStatement(actorOf(user), 'person.passkey_end', user.id, { id }))
}

/** For a batch: deletes all passkeys of a user. */
export function deletePasskeysStatement(userId: string): Query {
  return sql.deleteFrom('passkeys').where('person_id', '=', userId)
}

export async function startPasskeySignIn(db: Db, relyingParty: RelyingParty): Promise<PasskeyChallenge> {
  const { generateAuthenticationOptions } = await loadWebauthn()
  const options = await generateAuthenticationOptions({
    rpID: relyingPartyId(relyingParty),
    userVerification: 'required',
  })
  return issueChallenge(db, relyingParty, options, { kind: 'passkey-sign-in' })
}

/**
 * The user who holds the passkey. Throws 401 if it cannot be verified or its user does not exist or is
 * disabled.
 */
export async function userByPasskey(db: Db, input: PasskeyResponse): Promise<User> {
  const { detail } = await consumeOneTimeToken(db, input.ticket, 'passkey-sign-in')
  const origin = String(detail['origin'])
  const response = input.response as object as AuthenticationResponseJSON
  const query = sql.selectFrom('passkeys').selectAll().where('id', '=', String(response.id))
  const row = await db.first(query)
  const user = row === undefined ? undefined : await userById(db, row.person_id)
  if (row === undefined || user === undefined || user.disabledAt !== null) throw passkeyRejected()
  const { verifyAuthenticationResponse } = await loadWebauthn()
  const verified = await verifyAuthenticationResponse({
    response,
    expectedChallenge: String(detail['challenge']),
    expectedOrigin: origin,
    expectedRPID: relyingPartyId({ origin }),
    credential: {
      id: row.id,
      publicKey: new Uint8Array(row.public_key),
      counter: row.counter,
      transports: JSON.parse(row.transports) as AuthenticatorTransport[],
    },
    requireUserVerification: true,
  }).catch((error: unknown) => {
    throw passkeyRejected(error)
  })
  if (!verified.verified) throw passkeyRejected()
  const used = { counter: verified.authenticationInfo.newCounter, last_used_at: Date.now() }
  await db.write(sql.updateTable('passkeys').set(used).where('id', '=', row.id))
  return user
}
