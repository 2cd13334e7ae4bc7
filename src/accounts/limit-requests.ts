/** Requests for higher limits. An account makes them, one at a time; an operator answers them. */
import { type RowFields, fieldsOf } from '../db/row-fields.ts'
import { apiError, notFound, invalidField } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditStatement } from '../db/audit.ts'
import { type Db, writeIfFound, pageOf, type Page, type PageOptions } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUniqueViolation } from '../db/store-error.ts'
import type { LimitRequestsTable } from '../db/schema/tables/console.ts'
import type { LimitName } from './limits.ts'

export type RequestedLimits = { readonly [Name in LimitName]?: number | undefined }

export interface LimitRequest extends Omit<RowFields<LimitRequestsTable>, 'wanted'> {
  readonly wanted: RequestedLimits
}

function limitRequestOf(row: LimitRequestsTable): LimitRequest {
  return { ...fieldsOf(row), wanted: JSON.parse(row.wanted) as RequestedLimits }
}

/** Throws 400 if no limit is requested, 409 if another request is open. */
export async function createLimitRequest(
  db: Db,
  input: { readonly accountId: string; readonly wanted: RequestedLimits; readonly reason: string },
  by: string,
): Promise<LimitRequest> {
  const { accountId, wanted, reason } = input
  if (Object.values(wanted).every((limit) => limit === undefined))
    throw invalidField('wanted', 'must name at least one limit')
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

export interface LimitRequestsPage extends PageOptions {
  readonly account?: string
  readonly status?: LimitRequestsTable['status'] | undefined
}

/** Newest first. */
export async function listLimitRequests(db: Db, page: LimitRequestsPage): Promise<Page<LimitRequest>> {
  let query = sql
    .selectFrom('limit_requests')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  if (page.account !== undefined) query = query.where('account_id', '=', page.account)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  return pageOf(await db.all(query), page.limit, limitRequestOf)
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
  if (row === undefined) throw notFound('Limit request')
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
  if (!(await writeIfFound(db, update, auditStatement(by, 'limits.answer', id, decision))))
    throw apiError('conflict', { message: 'This limit request was already answered.' })
  return limitRequestById(db, id)
}
