/**
 * Users who sign in to the console. A customer has an account; an operator runs the relay and may have none.
 * Callers pass e-mail addresses normalised by accounts/fields.ts. Every change is one batch with its line in
 * the audit log.
 */

import type { RowFields } from '../db/row-fields.ts'
import { apiError, type ApiError, notFound } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import {
  compileQuery,
  writeIfFound,
  type Db,
  type Query,
  pageOf,
  type Page,
  type PageOptions,
} from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUniqueViolation } from '../db/store-error.ts'
import type { PersonsTable } from '../db/schema/tables/users.ts'
import { newId } from '../lib/ids.ts'

export type Role = PersonsTable['role']
export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

export interface User extends Omit<
  RowFields<PersonsTable>,
  'emailNormalised' | 'language' | 'totpSecret' | 'totpConfirmedAt' | 'totpCounter' | 'updatedAt'
> {
  readonly language: Language
  /** Signing in requires a code of an authenticator app. */
  readonly hasTotp: boolean
}

export interface UserInput extends Pick<
  User,
  'email' | 'name' | 'role' | 'accountId' | 'language' | 'passwordHash'
> {
  readonly normalised: string
  readonly isVerified: boolean
}

export function userOf(row: PersonsTable): User {
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

/** A new user and the statements that insert it, for a larger batch. */
export function buildUser(input: UserInput, by?: string): { user: User; statements: Query[] } {
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
  const audit = auditStatement(by ?? actorOf(row), 'person.create', row.id, { email, role, account })
  return { user: userOf(row), statements: [sql.insertInto('persons').values(row), audit] }
}

/** The name of a user as the actor in the audit log. */
export function actorOf({ email, role }: { readonly email: string; readonly role: Role }): string {
  return `${role}:${email}`
}

/** Throws 409 if the e-mail address is taken. */
export async function createUser(db: Db, input: UserInput, by?: string): Promise<User> {
  const { user, statements } = buildUser(input, by)
  try {
    await db.write(...statements)
  } catch (error) {
    throw isUniqueViolation(error, 'persons.email_normalised') ? emailTaken() : error
  }
  return user
}

export function emailTaken(): ApiError {
  return apiError('conflict', { param: 'email', message: 'A user with this e-mail address already exists.' })
}

export async function userById(db: Db, id: string): Promise<User | undefined> {
  const row = await db.first(sql.selectFrom('persons').selectAll().where('id', '=', id))
  return row === undefined ? undefined : userOf(row)
}

export async function userByEmail(db: Db, normalised: string): Promise<User | undefined> {
  const query = sql.selectFrom('persons').selectAll().where('email_normalised', '=', normalised)
  const row = await db.first(query)
  return row === undefined ? undefined : userOf(row)
}

export async function usersOfAccount(db: Db, accountId: string): Promise<User[]> {
  const query = sql.selectFrom('persons').selectAll().where('account_id', '=', accountId).orderBy('id')
  return (await db.all(query)).map(userOf)
}

export async function hasOperator(db: Db): Promise<boolean> {
  const query = sql.selectFrom('persons').select('id').where('role', '=', 'operator').limit(1)
  return (await db.first(query)) !== undefined
}

export interface UsersPage extends PageOptions {
  readonly account?: string
  readonly role?: Role
}

/** Newest first. */
export async function listUsers(db: Db, page: UsersPage): Promise<Page<User>> {
  let query = sql
    .selectFrom('persons')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  if (page.account !== undefined) query = query.where('account_id', '=', page.account)
  if (page.role !== undefined) query = query.where('role', '=', page.role)
  return pageOf(await db.all(query), page.limit, userOf)
}

export interface UserPatch {
  readonly name?: string
  readonly language?: Language
  readonly passwordHash?: string
  readonly isVerified?: true
  readonly isDisabled?: boolean
}

/**
 * The columns that a patch sets, and its detail for the audit log. A password is mentioned but never written.
 */
function toColumns(patch: UserPatch, now: number): [Partial<PersonsTable>, object] {
  const set: Partial<PersonsTable> = { updated_at: now }
  if (patch.name !== undefined) set.name = patch.name
  if (patch.language !== undefined) set.language = patch.language
  if (patch.passwordHash !== undefined) set.password_hash = patch.passwordHash
  if (patch.isVerified === true) set.email_verified_at = now
  if (patch.isDisabled !== undefined) set.disabled_at = patch.isDisabled ? now : null
  const { passwordHash, ...auditDetail } = patch
  return [set, passwordHash === undefined ? auditDetail : { ...auditDetail, password: 'changed' }]
}

/** Updates a user, with further statements in the same batch. Throws 404 for an unknown id. */
export async function updateUser(
  db: Db,
  id: string,
  patch: UserPatch,
  { by, extraStatements = [] }: { readonly by: string; readonly extraStatements?: readonly Query[] },
): Promise<User> {
  const [set, auditDetail] = toColumns(patch, Date.now())
  const update = sql.updateTable('persons').set(set).where('id', '=', id)
  const statements = extraStatements.map((query) => compileQuery(query))
  if (!(await writeIfFound(db, update, ...statements, auditStatement(by, 'person.update', id, auditDetail))))
    throw notFound('User')
  const user = await userById(db, id)
  if (user === undefined) throw notFound('User')
  return user
}
