/**
 * People: who signs in to the console. A customer has an account; an operator runs the relay and may have none. An
 * address is handed in as accounts/fields.ts cleans it; every change is one batch with its line in the audit log.
 */

import { refuse, type Refusal } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, statementOf, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isTaken, isUnmet } from '../db/store-error.ts'
import type { PersonsTable } from '../db/schema/tables/users.ts'
import { newId } from '../lib/ids.ts'

export type Role = PersonsTable['role']
export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

export interface Person {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly accountId: string | null
  readonly language: Language
  readonly passwordHash: string | null
  /** A code of an authenticator app is asked for. */
  readonly hasTotp: boolean
  readonly emailVerifiedAt: number | null
  readonly disabledAt: number | null
  readonly lastSignInAt: number | null
  readonly createdAt: number
}

export interface PersonInput {
  readonly email: string
  readonly normalised: string
  readonly name: string
  readonly role: Role
  readonly accountId: string | null
  readonly language: Language
  readonly passwordHash: string | null
  readonly isVerified: boolean
}

export function personOf(row: PersonsTable): Person {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    accountId: row.account_id,
    language: row.language === 'zh-CN' ? 'zh-CN' : 'en',
    passwordHash: row.password_hash,
    hasTotp: row.totp_confirmed_at !== null,
    emailVerifiedAt: row.email_verified_at,
    disabledAt: row.disabled_at,
    lastSignInAt: row.last_sign_in_at,
    createdAt: row.created_at,
  }
}

export function noSuchPerson(): Refusal {
  return refuse('not_found', { message: 'There is no such person.' })
}

/** The person and the statements that enter it, for a batch that may hold more. */
export function newPerson(input: PersonInput, by?: string): { person: Person; statements: Query[] } {
  const now = Date.now()
  const row: PersonsTable = {
    id: newId('per'),
    email: input.email,
    email_normalised: input.normalised,
    name: input.name,
    role: input.role,
    account_id: input.accountId,
    language: input.language,
    password_hash: input.passwordHash,
    totp_secret: null,
    totp_confirmed_at: null,
    totp_counter: null,
    email_verified_at: input.isVerified ? now : null,
    disabled_at: null,
    last_sign_in_at: null,
    created_at: now,
    updated_at: now,
  }
  const { email, role, account_id: account } = row
  const audit = auditRow(by ?? actorOf(row), 'person.create', row.id, { email, role, account })
  return { person: personOf(row), statements: [sql.insertInto('persons').values(row), audit] }
}

/** A person as the audit log names who acts. */
export function actorOf({ email, role }: { readonly email: string; readonly role: Role }): string {
  return `${role}:${email}`
}

/** Refuses with 409 when the address has a person. */
export async function createPerson(db: Db, input: PersonInput, by?: string): Promise<Person> {
  const { person, statements } = newPerson(input, by)
  try {
    await db.write(...statements)
  } catch (error) {
    throw isTaken(error, 'persons.email_normalised') ? emailTaken() : error
  }
  return person
}

export function emailTaken(): Refusal {
  return refuse('conflict', { param: 'email', message: 'Somebody with this e-mail address exists.' })
}

export async function personById(db: Db, id: string): Promise<Person | undefined> {
  const row = await db.first(sql.selectFrom('persons').selectAll().where('id', '=', id))
  return row === undefined ? undefined : personOf(row)
}

export async function personByEmail(db: Db, normalised: string): Promise<Person | undefined> {
  const query = sql.selectFrom('persons').selectAll().where('email_normalised', '=', normalised)
  const row = await db.first(query)
  return row === undefined ? undefined : personOf(row)
}

export async function peopleOfAccount(db: Db, accountId: string): Promise<Person[]> {
  const query = sql.selectFrom('persons').selectAll().where('account_id', '=', accountId).orderBy('id')
  return (await db.all(query)).map(personOf)
}

export async function hasOperator(db: Db): Promise<boolean> {
  const query = sql.selectFrom('persons').select('id').where('role', '=', 'operator').limit(1)
  return (await db.first(query)) !== undefined
}

export interface PeoplePage {
  readonly limit: number
  /** The last id of the page before. */
  readonly cursor?: string
  readonly account?: string
  readonly role?: Role
}

/** Newest first. */
export async function listPeople(db: Db, page: PeoplePage): Promise<{ data: Person[]; next: string | null }> {
  let query = sql
    .selectFrom('persons')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  if (page.account !== undefined) query = query.where('account_id', '=', page.account)
  if (page.role !== undefined) query = query.where('role', '=', page.role)
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map(personOf)
  return { data, next: rows.length > page.limit ? (data.at(-1)?.id ?? null) : null }
}

export interface PersonPatch {
  readonly name?: string
  readonly language?: Language
  readonly passwordHash?: string
  readonly isVerified?: true
  readonly isDisabled?: boolean
}

/** What a patch changes, and how the audit log tells it: a password is named, never written. */
function changesOf(patch: PersonPatch, now: number): [Partial<PersonsTable>, object] {
  const set: Partial<PersonsTable> = { updated_at: now }
  if (patch.name !== undefined) set.name = patch.name
  if (patch.language !== undefined) set.language = patch.language
  if (patch.passwordHash !== undefined) set.password_hash = patch.passwordHash
  if (patch.isVerified === true) set.email_verified_at = now
  if (patch.isDisabled !== undefined) set.disabled_at = patch.isDisabled ? now : null
  const { passwordHash, ...told } = patch
  return [set, passwordHash === undefined ? told : { ...told, password: 'changed' }]
}

/** Changes a person, with further statements in the same batch. Refuses with 404 for an unknown id. */
export async function updatePerson(
  db: Db,
  id: string,
  patch: PersonPatch,
  { by, also = [] }: { readonly by: string; readonly also?: readonly Query[] },
): Promise<Person> {
  const [set, told] = changesOf(patch, Date.now())
  const update = sql.updateTable('persons').set(set).where('id', '=', id)
  const further = also.map((query) => statementOf(query))
  try {
    await db.write(expecting(update, 1), ...further, auditRow(by, 'person.update', id, told))
  } catch (error) {
    throw isUnmet(error, 0) ? noSuchPerson() : error
  }
  const person = await personById(db, id)
  if (person === undefined) throw noSuchPerson()
  return person
}
