/**
 * Accounts own money. An account is never deleted, only suspended, because its entries stay. Every change is
 * one batch with its line in the audit log; the caller publishes the change.
 */

import type { RowFields } from '../db/row-fields.ts'
import { sql as fragment } from 'kysely'
import { apiError, invalidField, notFound } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges } from '../db/audit-changes.ts'
import type { Changed } from '../db/change.ts'
import {
  expectChanges,
  likePattern,
  type Db,
  type Query,
  type Page,
  pageOf,
  type PageOptions,
} from '../db/db.ts'
import { sql, type AccountsTable } from '../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailureOf } from '../db/store-error.ts'
import { cleanEmail, cleanName, cleanPriceFactor, cleanTimezone, cleanCap } from './fields.ts'
import { limitsOf, limitsPatchJson, patchLimits, type LimitsPatch, type OwnLimits } from './limits.ts'

export interface Account extends Omit<
  RowFields<AccountsTable>,
  'emailNormalised' | 'capDailyNanos' | 'capMonthlyNanos' | 'limits' | 'trial'
> {
  readonly caps: { readonly dailyNanos: bigint | null; readonly monthlyNanos: bigint | null }
  readonly limits: OwnLimits
  readonly trial: boolean
}

export interface AccountInput extends Pick<Account, 'email'>, Partial<Pick<Account, 'name' | 'trial'>> {
  /** Default: `new`. */
  readonly tier?: string
  /** Default: `Asia/Shanghai`. */
  readonly timezone?: string
}

/** Omitted fields stay unchanged. null removes a cap, a limit or the account's own price factor. */
export interface AccountPatch extends Partial<
  Pick<Account, 'email' | 'name' | 'tier' | 'status' | 'timezone' | 'priceFactorPpm' | 'lowBalanceNanos'>
> {
  readonly caps?: Partial<Account['caps']>
  readonly limits?: LimitsPatch
}

const defaultTier = 'new'
const defaultTimezone = 'Asia/Shanghai'

export function accountOf(row: AccountsTable): Account {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    tier: row.tier,
    status: row.status,
    timezone: row.timezone,
    priceFactorPpm: row.price_factor_ppm,
    caps: { dailyNanos: row.cap_daily_nanos, monthlyNanos: row.cap_monthly_nanos },
    lowBalanceNanos: row.low_balance_nanos,
    limits: limitsOf(row.limits),
    trial: row.trial === 1,
    firstPaidAt: row.first_paid_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

async function checkTier(db: Db, name: string): Promise<void> {
  const tier = await db.first(sql.selectFrom('tiers').select('name').where('name', '=', name))
  if (tier === undefined) throw invalidField('tier', 'must be an existing tier')
}

/** Turns a store error into the API error that explains it. */
function toApiError(error: unknown): unknown {
  if (isUniqueViolation(error, 'accounts.email_normalised')) {
    return apiError('conflict', {
      param: 'email',
      message: 'An account with this e-mail address already exists.',
    })
  }
  return isExpectationFailureOf(error, 0) ? notFound('Account') : error
}

/**
 * Throws 400 naming the field, or 409 if the e-mail address already has an account. `extraStatements` returns
 * what to write in the same batch for the new account's id.
 */
export async function createAccount(
  db: Db,
  input: AccountInput,
  by: string,
  extraStatements: (accountId: string) => readonly Query[] = () => [],
): Promise<Changed<Account>> {
  const { email, normalised } = cleanEmail(input.email)
  const tier = input.tier ?? defaultTier
  await checkTier(db, tier)
  const now = Date.now()
  const row: AccountsTable = {
    id: newId('acc'),
    email,
    email_normalised: normalised,
    name: cleanName(input.name ?? ''),
    tier,
    status: 'active',
    timezone: cleanTimezone(input.timezone ?? defaultTimezone),
    price_factor_ppm: null,
    cap_daily_nanos: null,
    cap_monthly_nanos: null,
    low_balance_nanos: null,
    limits: '{}',
    trial: input.trial === true ? 1 : 0,
    first_paid_at: null,
    created_at: now,
    updated_at: now,
  }
  try {
    await db.write(
      sql.insertInto('accounts').values(row),
      auditStatement(by, 'account.create', row.id, { email, tier }),
      ...extraStatements(row.id),
    )
  } catch (error) {
    throw toApiError(error)
  }
  return { value: accountOf(row), changes: [{ kind: 'account', id: row.id }] }
}

export async function accountById(db: Db, id: string): Promise<Account | undefined> {
  const row = await db.first(sql.selectFrom('accounts').selectAll().where('id', '=', id))
  return row === undefined ? undefined : accountOf(row)
}

/** The e-mail addresses of accounts by id. */
export async function emailsOfAccounts(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.all(sql.selectFrom('accounts').select(['id', 'email']).where('id', 'in', ids))
  return new Map(rows.map((row) => [row.id, row.email]))
}

export async function accountByEmail(db: Db, email: string): Promise<Account | undefined> {
  const { normalised } = cleanEmail(email)
  const row = await db.first(
    sql.selectFrom('accounts').selectAll().where('email_normalised', '=', normalised),
  )
  return row === undefined ? undefined : accountOf(row)
}

export interface AccountsPage extends PageOptions {
  readonly status?: 'active' | 'suspended'
  /** A part of an e-mail address or of a name, or an id. */
  readonly search?: string
  /** Whether the account owes what disputes of payments took beyond its balance. */
  readonly hasReceivable?: boolean
}

/** E-mail addresses are searched as entered and in lower case with an ASCII domain. */
function searchCondition(text: string) {
  const part = text.trim().normalize('NFC')
  const pattern = likePattern(part)
  return fragment<boolean>`(id = ${part}
    or email_normalised like ${pattern.toLowerCase()} escape '!'
    or lower(email) like lower(${pattern}) escape '!'
    or lower(name) like lower(${pattern}) escape '!')`
}

/** Newest first. `next` is the cursor of the next page; null on the last one. */
export async function listAccounts(db: Db, page: AccountsPage): Promise<Page<Account>> {
  let query = sql
    .selectFrom('accounts')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  if (page.hasReceivable !== undefined) {
    const debtors = sql.selectFrom('payment_disputes').select('account_id').where('receivable_nanos', '>', 0n)
    query = query.where('id', page.hasReceivable ? 'in' : 'not in', debtors)
  }
  // A search reads all accounts in the worst case: like a report, it must not delay other queries.
  const rows = page.search ? await db.report(query.where(searchCondition(page.search))) : await db.all(query)
  return pageOf(rows, page.limit, accountOf)
}

function toColumns(patch: AccountPatch): Partial<AccountsTable> {
  const set: Partial<AccountsTable> = {}
  if (patch.email !== undefined) {
    const { email, normalised } = cleanEmail(patch.email)
    set.email = email
    set.email_normalised = normalised
  }
  if (patch.name !== undefined) set.name = cleanName(patch.name)
  if (patch.tier !== undefined) set.tier = patch.tier
  if (patch.status !== undefined) set.status = patch.status
  if (patch.timezone !== undefined) set.timezone = cleanTimezone(patch.timezone)
  if (patch.priceFactorPpm !== undefined) {
    set.price_factor_ppm = patch.priceFactorPpm === null ? null : cleanPriceFactor(patch.priceFactorPpm)
  }
  const { dailyNanos, monthlyNanos } = patch.caps ?? {}
  if (dailyNanos !== undefined) set.cap_daily_nanos = cleanCap(dailyNanos, 'caps.daily')
  if (monthlyNanos !== undefined) set.cap_monthly_nanos = cleanCap(monthlyNanos, 'caps.monthly')
  if (patch.lowBalanceNanos !== undefined) {
    set.low_balance_nanos = cleanCap(patch.lowBalanceNanos, 'low_balance')
  }
  return set
}

/**
 * Throws 404 for an unknown id, 400 naming the field, or 409 if another account has the e-mail address. A patch that
 * changes nothing writes nothing.
 */
export async function updateAccount(
  db: Db,
  id: string,
  patch: AccountPatch,
  by: string,
): Promise<Changed<Account>> {
  if (patch.tier !== undefined) await checkTier(db, patch.tier)
  const set = toColumns(patch)
  const before = await db.first(sql.selectFrom('accounts').selectAll().where('id', '=', id))
  if (before === undefined) throw notFound('Account')
  const limits = patchLimits(before.limits, patch.limits)
  const changes = auditChanges(accountOf(before), accountOf({ ...before, ...set, limits }))
  if (changes === null) return { value: accountOf(before), changes: [] }
  let update = sql
    .updateTable('accounts')
    .set({ ...set, updated_at: Date.now() })
    .where('id', '=', id)
  if (patch.limits !== undefined) {
    update = update.set({ limits: fragment<string>`json_patch(limits, ${limitsPatchJson(patch.limits)})` })
  }
  try {
    await db.write(expectChanges(update, 1), auditStatement(by, 'account.update', id, changes))
  } catch (error) {
    throw toApiError(error)
  }
  const account = await accountById(db, id)
  if (account === undefined) throw notFound('Account')
  return { value: account, changes: [{ kind: 'account', id }] }
}
