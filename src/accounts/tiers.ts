/** Tiers: the default limits and price factor of their accounts (specification §8). */

import { apiError, invalidField } from '../errors.ts'
import type { Changed } from '../db/change.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges, auditFields } from '../db/audit-changes.ts'
import { expectChanges, type Db } from '../db/db.ts'
import { sql, type TiersTable } from '../db/schema/schema.ts'
import { isUniqueViolation } from '../db/store-error.ts'
import { cleanPriceFactor } from './fields.ts'
import { limitNames, type Limits } from './limits.ts'

export interface Tier {
  readonly name: string
  /** null is unlimited. */
  readonly limits: Limits
  readonly priceFactorPpm: number
  /** The tier that accounts move to at their first payment. null: they stay. */
  readonly afterPayment: string | null
}

/** Omitted limits are unlimited; the default factor is 1. */
export interface TierInput extends Partial<Limits> {
  readonly name: string
  readonly priceFactorPpm?: number
  readonly afterPayment?: string | null
}

/** Omitted fields stay unchanged. null is unlimited. */
export type TierPatch = Partial<Omit<TierInput, 'name'>>

const namePattern = /^[a-z0-9][a-z0-9_-]{0,39}$/
const defaultFactorPpm = 1_000_000

export function tierOf(row: TiersTable): Tier {
  const { name, rpm, tpm, rpd, concurrency } = row
  const limits = { rpm, tpm, rpd, concurrency }
  return { name, limits, priceFactorPpm: row.price_factor_ppm, afterPayment: row.after_payment }
}

function validate(row: TiersTable): TiersTable {
  for (const name of limitNames) {
    const value = row[name]
    if (value === null || (Number.isSafeInteger(value) && value >= 0)) continue
    throw invalidField(name, 'must be a non-negative integer, or null for unlimited')
  }
  cleanPriceFactor(row.price_factor_ppm)
  return row
}

async function checkSuccessor(db: Db, name: string | null): Promise<void> {
  if (name === null || (await tierByName(db, name)) !== undefined) return
  throw invalidField('after_payment', 'must be an existing tier')
}

export async function tierByName(db: Db, name: string): Promise<Tier | undefined> {
  const row = await db.first(sql.selectFrom('tiers').selectAll().where('name', '=', name))
  return row === undefined ? undefined : tierOf(row)
}

export async function listTiers(db: Db): Promise<Tier[]> {
  const rows = await db.all(sql.selectFrom('tiers').selectAll().orderBy('name'))
  return rows.map(tierOf)
}

/** Throws 409 if the name is taken. */
export async function createTier(db: Db, input: TierInput, by: string): Promise<Changed<Tier>> {
  if (!namePattern.test(input.name))
    throw invalidField('name', 'must consist of lower-case letters, digits, "-" and "_"')
  const row = validate({
    name: input.name,
    rpm: input.rpm ?? null,
    tpm: input.tpm ?? null,
    rpd: input.rpd ?? null,
    concurrency: input.concurrency ?? null,
    price_factor_ppm: input.priceFactorPpm ?? defaultFactorPpm,
    after_payment: input.afterPayment ?? null,
  })
  await checkSuccessor(db, row.after_payment)
  try {
    const audit = auditStatement(by, 'tier.create', row.name, auditFields(apiTier(row)))
    await db.write(sql.insertInto('tiers').values(row), audit)
  } catch (error) {
    if (!isUniqueViolation(error, 'tiers.name')) throw error
    throw apiError('conflict', { param: 'name', message: `A tier named "${row.name}" already exists.` })
  }
  return { value: tierOf(row), changes: [{ kind: 'tier', id: row.name }] }
}

/** A tier as the API has it. */
function apiTier(row: TiersTable): object {
  const { limits, ...tier } = tierOf(row)
  return { ...tier, ...limits }
}

/** Throws 404 for an unknown name. A patch that changes nothing writes nothing. */
export async function updateTier(db: Db, name: string, patch: TierPatch, by: string): Promise<Changed<Tier>> {
  const before = await db.first(sql.selectFrom('tiers').selectAll().where('name', '=', name))
  if (before === undefined) throw apiError('not_found', { param: 'name', message: 'Tier not found.' })
  const set: Partial<TiersTable> = {}
  for (const limit of limitNames) if (patch[limit] !== undefined) set[limit] = patch[limit]
  if (patch.priceFactorPpm !== undefined) set.price_factor_ppm = patch.priceFactorPpm
  if (patch.afterPayment !== undefined) set.after_payment = patch.afterPayment
  const after = validate({ ...before, ...set })
  await checkSuccessor(db, after.after_payment)
  const changes = auditChanges(apiTier(before), apiTier(after))
  if (changes === null) return { value: tierOf(before), changes: [] }
  const update = sql.updateTable('tiers').set(set).where('name', '=', name)
  await db.write(expectChanges(update, 1), auditStatement(by, 'tier.update', name, changes))
  return { value: tierOf(after), changes: [{ kind: 'tier', id: name }] }
}
