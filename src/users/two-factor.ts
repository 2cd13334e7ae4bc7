/**
 * Two-factor authentication: codes of an authenticator app (RFC 6238), each accepted once, and recovery codes
 * in case the app is lost. The app's secret is encrypted; only the hashes of recovery codes are stored.
 */

import { Secret, TOTP } from 'otpauth'
import { apiError } from '../errors.ts'
import { auditStatement } from '../db/audit.ts'
import { expectChanges, writeIfFound, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import type { Sealer } from '../lib/encryption.ts'
import { actorOf, type User } from './users.ts'
import { hashToken, generateTypedCode, normalizeTypedCode } from './tokens.ts'

const recoveryCodeCount = 10
/** Accepts the previous and the next step, for clocks that are slightly off. */
const allowedClockSteps = 1

/** `names`: what the app shows. */
function totpOf(secret: Secret, names: { readonly issuer?: string; readonly label?: string } = {}): TOTP {
  return new TOTP({ ...names, algorithm: 'SHA1', digits: 6, period: 30, secret })
}

export interface EnrollmentOptions {
  readonly sealer: Sealer
  /** The name of the service, which the app shows beside the e-mail address. */
  readonly service: string
}

export interface TotpEnrollment {
  /** In base32, for typing. */
  readonly secret: string
  /** The `otpauth://…` URI for the app. */
  readonly uri: string
}

/**
 * Creates a secret, which takes effect once a code has confirmed it. Throws 409 if an app is already set up.
 */
export async function startTotpEnrollment(
  db: Db,
  user: User,
  { sealer, service }: EnrollmentOptions,
): Promise<TotpEnrollment> {
  if (user.hasTotp) throw apiError('conflict', { message: 'An authenticator app is already set up.' })
  const secret = new Secret({ size: 20 })
  const update = sql
    .updateTable('persons')
    .set({ totp_secret: sealer.seal(secret.base32, user.id), totp_counter: null })
    .where('id', '=', user.id)
    .where('totp_confirmed_at', 'is', null)
  await db.write(expectChanges(update, 1))
  return { secret: secret.base32, uri: totpOf(secret, { issuer: service, label: user.email }).toString() }
}

/** The time step of a code. undefined if the code is wrong or its step was already used. */
async function matchingStep(db: Db, user: User, sealer: Sealer, code: string): Promise<number | undefined> {
  const query = sql.selectFrom('persons').select(['totp_secret', 'totp_counter']).where('id', '=', user.id)
  const row = await db.first(query)
  const token = code.replaceAll(/\s/g, '')
  if (row?.totp_secret === null || row === undefined || !/^\d{6}$/.test(token)) return undefined
  const totp = totpOf(Secret.fromBase32(sealer.unseal(row.totp_secret, user.id)))
  const delta = totp.validate({ token, window: allowedClockSteps })
  if (delta === null) return undefined
  const step = totp.counter() + delta
  return row.totp_counter !== null && step <= row.totp_counter ? undefined : step
}

/** The first statement of a batch: consumes the step unless another call has consumed it. */
function consumeStepStatement(user: User, step: number, set: object = {}): Query {
  const update = sql
    .updateTable('persons')
    .set({ ...set, totp_counter: step })
    .where('id', '=', user.id)
    .where((build) => build.or([build('totp_counter', 'is', null), build('totp_counter', '<', step)]))
  return expectChanges(update, 1)
}

/** Consumes a code of the app. False if it is wrong or was already used. */
export async function consumeTotpCode(db: Db, user: User, sealer: Sealer, code: string): Promise<boolean> {
  const step = await matchingStep(db, user, sealer, code)
  if (step === undefined) return false
  return writeIfFound(db, consumeStepStatement(user, step))
}

function generateRecoveryCodes(user: User): { codes: string[]; statements: Query[] } {
  const codes = Array.from({ length: recoveryCodeCount }, generateTypedCode)
  const rows = codes.map((code) => ({ person_id: user.id, hash: hashToken(code), used_at: null }))
  const statements = [
    sql.deleteFrom('recovery_codes').where('person_id', '=', user.id),
    sql.insertInto('recovery_codes').values(rows),
  ]
  return { codes, statements }
}

/**
 * Enables two-factor authentication. The recovery codes are returned only once. Throws 401 for a wrong code.
 */
export async function finishTotpEnrollment(
  db: Db,
  user: User,
  { sealer, code }: { readonly sealer: Sealer; readonly code: string },
): Promise<string[]> {
  const step = user.hasTotp ? undefined : await matchingStep(db, user, sealer, code)
  if (step === undefined) throw apiError('wrong_code', { param: 'code' })
  const { codes, statements } = generateRecoveryCodes(user)
  await db.write(
    consumeStepStatement(user, step, { totp_confirmed_at: Date.now() }),
    ...statements,
    auditStatement(actorOf(user), 'person.totp_begin', user.id),
  )
  return codes
}

/** For a batch: disables two-factor authentication. */
export function disableTotpStatements(userId: string): Query[] {
  return [
    sql
      .updateTable('persons')
      .set({ totp_secret: null, totp_confirmed_at: null, totp_counter: null })
      .where('id', '=', userId),
    sql.deleteFrom('recovery_codes').where('person_id', '=', userId),
  ]
}

export async function disableTotp(db: Db, user: User): Promise<void> {
  await db.write(...disableTotpStatements(user.id), auditStatement(actorOf(user), 'person.totp_end', user.id))
}

/** Replaces the existing codes. Throws 409 if no authenticator app is set up. */
export async function renewRecoveryCodes(db: Db, user: User): Promise<string[]> {
  if (!user.hasTotp) throw apiError('conflict', { message: 'No authenticator app is set up.' })
  const { codes, statements } = generateRecoveryCodes(user)
  await db.write(...statements, auditStatement(actorOf(user), 'person.recovery_codes', user.id))
  return codes
}

/** Consumes a recovery code. False if it is not one of the user's or was already used. */
export async function consumeRecoveryCode(db: Db, user: User, typed: string): Promise<boolean> {
  const take = sql
    .updateTable('recovery_codes')
    .set({ used_at: Date.now() })
    .where('person_id', '=', user.id)
    .where('hash', '=', hashToken(normalizeTypedCode(typed)))
    .where('used_at', 'is', null)
  return writeIfFound(db, take, auditStatement(actorOf(user), 'person.recovery_code', user.id))
}

export async function countRecoveryCodes(db: Db, userId: string): Promise<number> {
  const query = sql
    .selectFrom('recovery_codes')
    .select((build) => build.fn.countAll<number>().as('left'))
    .where('person_id', '=', userId)
    .where('used_at', 'is', null)
  return (await db.first(query))?.left ?? 0
}
