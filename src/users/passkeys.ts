/**
 * Passkeys: signing in by a device that the person unlocks (WebAuthn). The device proves both that it is there and who
 * holds it, so no second factor is asked for. The challenge of each ceremony is a ticket, good once.
 */

import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { refuse } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isTaken, isUnmet } from '../db/store-error.ts'
import type { PasskeysTable } from '../db/schema/tables/users.ts'
import { actorOf, personById, type Person } from './users.ts'
import { makeTicket, takeTicket } from '../people/tickets.ts'

/** A large library, and one that few need: loaded when a passkey is used. */
const webauthn = () => import('@simplewebauthn/server')

const nameOfParty = 'Sluice'
const passkeysMost = 20

/** The origin of the console's pages, which passkeys belong to. */
export interface Party {
  readonly origin: string
}

export interface Passkey {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

function passkeyOf(row: PasskeysTable): Passkey {
  return { id: row.id, name: row.name, createdAt: row.created_at, lastUsedAt: row.last_used_at }
}

function rowsOf(db: Db, personId: string): Promise<PasskeysTable[]> {
  const query = sql.selectFrom('passkeys').selectAll().where('person_id', '=', personId)
  return db.all(query.orderBy('created_at'))
}

/** Oldest first. */
export async function listPasskeys(db: Db, personId: string): Promise<Passkey[]> {
  return (await rowsOf(db, personId)).map(passkeyOf)
}

function hostOf({ origin }: Party): string {
  return new URL(origin).hostname
}

export interface Ceremony {
  readonly ticket: string
  /** For the browser's WebAuthn call, as it is. */
  readonly options: Record<string, unknown>
}

/** Refuses with 409 where there are as many as there may be. */
export async function beginPasskey(db: Db, person: Person, party: Party): Promise<Ceremony> {
  const known = await rowsOf(db, person.id)
  if (known.length >= passkeysMost) throw refuse('conflict', { message: 'Delete a passkey first.' })
  const options = await (
    await webauthn()
  ).generateRegistrationOptions({
    rpName: nameOfParty,
    rpID: hostOf(party),
    userID: new TextEncoder().encode(person.id),
    userName: person.email,
    userDisplayName: person.name === '' ? person.email : person.name,
    attestationType: 'none',
    excludeCredentials: known.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  const { challenge } = options
  const detail = { challenge, origin: party.origin }
  const { token } = await makeTicket(db, { kind: 'passkey-new', personId: person.id, detail, alone: true })
  return { ticket: token, options: { ...options } }
}

export interface PasskeyAnswer {
  readonly ticket: string
  /** What the browser's call gave. */
  readonly response: Record<string, unknown>
}

function refusedCeremony(cause?: unknown) {
  const refusal = refuse('wrong_credentials', { message: 'This passkey could not be used.' })
  if (cause !== undefined) refusal.cause = cause
  return refusal
}

/** Keeps the passkey that the browser has made. Throws 401 when it does not prove what it has to. */
export async function addPasskey(
  db: Db,
  person: Person,
  given: PasskeyAnswer & { readonly name: string },
): Promise<Passkey> {
  const { personId, detail } = await takeTicket(db, given.ticket, 'passkey-new')
  if (personId !== person.id) throw refusedCeremony()
  const origin = String(detail['origin'])
  const verified = await (
    await webauthn()
  )
    .verifyRegistrationResponse({
      // The library checks every part of it.
      response: given.response as object as RegistrationResponseJSON,
      expectedChallenge: String(detail['challenge']),
      expectedOrigin: origin,
      expectedRPID: hostOf({ origin }),
      requireUserVerification: true,
    })
    .catch((error: unknown) => {
      throw refusedCeremony(error)
    })
  if (!verified.verified) throw refusedCeremony()
  const { credential } = verified.registrationInfo
  const row: PasskeysTable = {
    id: credential.id,
    person_id: person.id,
    public_key: credential.publicKey,
    counter: credential.counter,
    transports: JSON.stringify(credential.transports ?? []),
    name: given.name,
    created_at: Date.now(),
    last_used_at: null,
  }
  try {
    const audit = auditRow(actorOf(person), 'person.passkey_add', person.id, { name: given.name })
    await db.write(sql.insertInto('passkeys').values(row), audit)
  } catch (error) {
    throw isTaken(error, 'passkeys.id') ? refuse('conflict', { message: 'This passkey is known.' }) : error
  }
  return passkeyOf(row)
}

/** False when the person has no such passkey. */
export async function endPasskey(db: Db, person: Person, id: string): Promise<boolean> {
  const remove = sql.deleteFrom('passkeys').where('id', '=', id).where('person_id', '=', person.id)
  try {
    await db.write(expecting(remove, 1), auditRow(actorOf(person), 'person.passkey_end', person.id, { id }))
    return true
  } catch (error) {
    if (isUnmet(error, 0)) return false
    throw error
  }
}

/** For a batch: all passkeys of a person are forgotten. */
export function endingPasskeys(personId: string): Query {
  return sql.deleteFrom('passkeys').where('person_id', '=', personId)
}

export async function beginPasskeySignIn(db: Db, party: Party): Promise<Ceremony> {
  const options = await (
    await webauthn()
  ).generateAuthenticationOptions({ rpID: hostOf(party), userVerification: 'required' })
  const detail = { challenge: options.challenge, origin: party.origin }
  const { token } = await makeTicket(db, { kind: 'passkey-sign-in', detail })
  return { ticket: token, options: { ...options } }
}

/** Who holds the passkey. Throws 401 when it does not prove it, or belongs to nobody who may come in. */
export async function personByPasskey(db: Db, given: PasskeyAnswer): Promise<Person> {
  const { detail } = await takeTicket(db, given.ticket, 'passkey-sign-in')
  const origin = String(detail['origin'])
  const response = given.response as object as AuthenticationResponseJSON
  const query = sql.selectFrom('passkeys').selectAll().where('id', '=', String(response.id))
  const row = await db.first(query)
  const person = row === undefined ? undefined : await personById(db, row.person_id)
  if (row === undefined || person === undefined || person.disabledAt !== null) throw refusedCeremony()
  const verified = await (
    await webauthn()
  )
    .verifyAuthenticationResponse({
      response,
      expectedChallenge: String(detail['challenge']),
      expectedOrigin: origin,
      expectedRPID: hostOf({ origin }),
      credential: {
        id: row.id,
        publicKey: new Uint8Array(row.public_key),
        counter: row.counter,
        transports: JSON.parse(row.transports) as AuthenticatorTransport[],
      },
      requireUserVerification: true,
    })
    .catch((error: unknown) => {
      throw refusedCeremony(error)
    })
  if (!verified.verified) throw refusedCeremony()
  const used = { counter: verified.authenticationInfo.newCounter, last_used_at: Date.now() }
  await db.write(sql.updateTable('passkeys').set(used).where('id', '=', row.id))
  return person
}
