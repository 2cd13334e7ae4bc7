/**
 * The second factor: codes of an authenticator app (RFC 6238), each taken once, and recovery codes for the day the app
 * is lost. The app's secret is sealed; of recovery codes only hashes are kept.
 */

import { Secret, TOTP } from 'otpauth'
import { refuse } from '../errors.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db, type Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUnmet } from '../db/store-error.ts'
import type { Sealer } from '../lib/encryption.ts'
import { actorOf, type Person } from '../users/users.ts'
import { hashOfToken, newTypedCode, plainTypedCode } from '../users/tokens.ts'

const issuer = 'Sluice'
const recoveryCount = 10
/** One step before and after, for clocks that are a little off. */
const stepsAside = 1

function totpOf(secret: Secret, person: Person): TOTP {
  return new TOTP({ issuer, label: person.email, algorithm: 'SHA1', digits: 6, period: 30, secret })
}

export interface NewTotp {
  /** Base32, for typing. */
  readonly secret: string
  /** `otpauth://…`, for the app. */
  readonly uri: string
}

/** Makes a secret that counts once a code of it was shown. Refuses with 409 where one counts already. */
export async function beginTotp(db: Db, person: Person, sealer: Sealer): Promise<NewTotp> {
  if (person.hasTotp) throw refuse('conflict', { message: 'An authenticator app is set up already.' })
  const secret = new Secret({ size: 20 })
  const update = sql
    .updateTable('persons')
    .set({ totp_secret: sealer.seal(secret.base32, person.id), totp_counter: null })
    .where('id', '=', person.id)
    .where('totp_confirmed_at', 'is', null)
  await db.write(expecting(update, 1))
  return { secret: secret.base32, uri: totpOf(secret, person).toString() }
}

/** The step that a code belongs to; undefined for a wrong code, or one of a step already taken. */
async function stepOf(db: Db, person: Person, sealer: Sealer, code: string): Promise<number | undefined> {
  const query = sql.selectFrom('persons').select(['totp_secret', 'totp_counter']).where('id', '=', person.id)
  const row = await db.first(query)
  const token = code.replaceAll(/\s/g, '')
  if (row?.totp_secret === null || row === undefined || !/^\d{6}$/.test(token)) return undefined
  const totp = totpOf(Secret.fromBase32(sealer.unseal(row.totp_secret, person.id)), person)
  const delta = totp.validate({ token, window: stepsAside })
  if (delta === null) return undefined
  const step = totp.counter() + delta
  return row.totp_counter !== null && step <= row.totp_counter ? undefined : step
}

/** For a batch's beginning: the step is taken, unless another call has taken it meanwhile. */
function takingStep(person: Person, step: number, set: object = {}): Query {
  const update = sql
    .updateTable('persons')
    .set({ ...set, totp_counter: step })
    .where('id', '=', person.id)
    .where((build) => build.or([build('totp_counter', 'is', null), build('totp_counter', '<', step)]))
  return expecting(update, 1)
}

/** Takes a code of the app; false when it is wrong or was taken before. */
export async function takeTotpCode(db: Db, person: Person, sealer: Sealer, code: string): Promise<boolean> {
  const step = await stepOf(db, person, sealer, code)
  if (step === undefined) return false
  try {
    await db.write(takingStep(person, step))
    return true
  } catch (error) {
    if (isUnmet(error, 0)) return false
    throw error
  }
}

function newRecoveryCodes(person: Person): { codes: string[]; statements: Query[] } {
  const codes = Array.from({ length: recoveryCount }, newTypedCode)
  const rows = codes.map((code) => ({ person_id: person.id, hash: hashOfToken(code), used_at: null }))
  const statements = [
    sql.deleteFrom('recovery_codes').where('person_id', '=', person.id),
    sql.insertInto('recovery_codes').values(rows),
  ]
  return { codes, statements }
}

/** From now on a code is asked for; the recovery codes are shown once. Throws 401 for a wrong code. */
export async function confirmTotp(
  db: Db,
  person: Person,
  { sealer, code }: { readonly sealer: Sealer; readonly code: string },
): Promise<string[]> {
  const step = person.hasTotp ? undefined : await stepOf(db, person, sealer, code)
  if (step === undefined) throw refuse('wrong_code', { param: 'code' })
  const { codes, statements } = newRecoveryCodes(person)
  await db.write(
    takingStep(person, step, { totp_confirmed_at: Date.now() }),
    ...statements,
    auditRow(actorOf(person), 'person.totp_begin', person.id),
  )
  return codes
}

/** For a batch: the second factor is forgotten. */
export function endingTotp(personId: string): Query[] {
  return [
    sql
      .updateTable('persons')
      .set({ totp_secret: null, totp_confirmed_at: null, totp_counter: null })
      .where('id', '=', personId),
    sql.deleteFrom('recovery_codes').where('person_id', '=', personId),
  ]
}

export async function endTotp(db: Db, person: Person): Promise<void> {
  await db.write(...endingTotp(person.id), auditRow(actorOf(person), 'person.totp_end', person.id))
}

/** In the place of those there were. Refuses with 409 without an authenticator app. */
export async function renewRecoveryCodes(db: Db, person: Person): Promise<string[]> {
  if (!person.hasTotp) throw refuse('conflict', { message: 'There is no authenticator app to recover from.' })
  const { codes, statements } = newRecoveryCodes(person)
  await db.write(...statements, auditRow(actorOf(person), 'person.recovery_codes', person.id))
  return codes
}

/** Takes a recovery code; false when it is none of the person's, or was taken before. */
export async function takeRecoveryCode(db: Db, person: Person, typed: string): Promise<boolean> {
  const take = sql
    .updateTable('recovery_codes')
    .set({ used_at: Date.now() })
    .where('person_id', '=', person.id)
    .where('hash', '=', hashOfToken(plainTypedCode(typed)))
    .where('used_at', 'is', null)
  try {
    await db.write(expecting(take, 1), auditRow(actorOf(person), 'person.recovery_code', person.id))
    return true
  } catch (error) {
    if (isUnmet(error, 0)) return false
    throw error
  }
}

export async function recoveryCodesLeft(db: Db, personId: string): Promise<number> {
  const query = sql
    .selectFrom('recovery_codes')
    .select((build) => build.fn.countAll<number>().as('left'))
    .where('person_id', '=', personId)
    .where('used_at', 'is', null)
  return (await db.first(query))?.left ?? 0
}
