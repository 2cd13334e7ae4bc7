/** Requests for higher limits. An account makes them, one at a time; an operator answers them. */
import { apiError, type ApiError } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditStatement } from '../db/audit.ts'
import { expectChanges, type Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUniqueViolation, isExpectationFailure } from '../db/store-error.ts'
import type { LimitRequestsTable } from '../db/schema/tables/console.ts'
import type { LimitName } from './limits.ts'

export type RequestedLimits = { readonly [Name in LimitName]?: number | undefined }

export interface LimitRequest {
  readonly id: string
  readonly accountId: string
  readonly wanted: RequestedLimits
  readonly reason: string
  readonly status: LimitRequestsTable['status']
  readonly answer: string | null
  readonly createdAt: number
  readonly answeredAt: number | null
}

function limitRequestOf(row: LimitRequestsTable): LimitRequest {
  return {
    id: row.id,
    accountId: row.account_id,
    wanted: JSON.parse(row.wanted) as RequestedLimits,
    reason: row.reason,
    status: row.status,
    answer: row.answer,
    createdAt: row.created_at,
    answeredAt: row.answered_at,
  }
}

function noLimitRequested(): ApiError {
  return apiError('invalid_request', { param: 'wanted', message: 'wanted must name at least one limit.' })
}

/** Throws 400 if no limit is requested, 409 if another request is open. */
export async function createLimitRequest(
  db: Db,
  input: { readonly accountId: string; readonly wanted: RequestedLimits; readonly reason: string },
  by: string,
): Promise<LimitRequest> {
  const { accountId, wanted, reason } = input
  if (Object.values(wanted).every((limit) => limit === undefined)) throw noLimitRequested()
  const row: LimitRequestsTable = {
    id: newId('lrq'),
    account_id: accountId,
    wanted: JSON.stringify(wanted),
    reason,
    status: 'open',
    answer: null,
    created_at: Date.now(),
    answered_at: null,
  }
  try {
    const audit = auditStatement(by, 'limits.ask', row.id, { account: accountId, wanted })
    await db.write(sql.insertInto('limit_requests').values(row), audit)
  } catch (error) {
    if (!isUniqueViolation(error, 'limit_requests.account_id')) throw error
    throw apiError('conflict', { message: 'A limit request is already open. Wait for its answer.' })
  }
  return limitRequestOf(row)
}

export interface LimitRequestsPage {
  readonly limit: number
  /** The last id of the previous page. */
  readonly cursor?: string | undefined
  readonly account?: string
  readonly status?: LimitRequestsTable['status'] | undefined
}

/** Newest first. */
export async function listLimitRequests(
  db: Db,
  page: LimitRequestsPage,
): Promise<{ data: LimitRequest[]; next: string | null }> {
  let query = sql
    .selectFrom('limit_requests')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  if (page.account !== undefined) query = query.where('account_id', '=', page.account)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map(limitRequestOf)
  return { data, next: rows.length > page.limit ? (data.at(-1)?.id ?? null) : null }
}

export async function countOpenLimitRequests(db: Db): Promise<number> {
  const row = await db.first(
    sql
      .selectFrom('limit_requests')
      .select((build) => build.fn.countAll<number>().as('open'))
      .where('status', '=', 'open'),
  )
  return row?.open ?? 0
}

export async function limitRequestById(db: Db, id: string): Promise<LimitRequest> {
  const row = await db.first(sql.selectFrom('limit_requests').selectAll().where('id', '=', id))
  if (row === undefined) throw apiError('not_found', { message: 'Limit request not found.' })
  return limitRequestOf(row)
}

/** Throws 409 if it was already answered. The caller sets the limits that are granted. */
export async function answerLimitRequest(
  db: Db,
  id: string,
  decision: { readonly status: 'granted' | 'declined'; readonly answer: string },
  by: string,
): Promise<LimitRequest> {
  const update = sql
    .updateTable('limit_requests')
    .set({ ...decision, answered_at: Date.now() })
    .where('id', '=', id)
    .where('status', '=', 'open')
  try {
    await db.write(expectChanges(update, 1), auditStatement(by, 'limits.answer', id, decision))
  } catch (error) {
    throw isExpectationFailure(error)
      ? apiError('conflict', { message: 'This limit request was already answered.' })
      : error
  }
  return limitRequestById(db, id)
}
