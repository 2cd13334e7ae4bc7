/** Requests for higher limits: asked for by an account, one at a time, answered by an operator. */
import { refuse, type Refusal } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isTaken, isUndone } from '../db/store-error.ts'
import type { LimitRequestsTable } from '../db/schema/tables/console.ts'
import type { LimitName } from './limits.ts'

export type Wanted = { readonly [Name in LimitName]?: number | undefined }

export interface LimitRequest {
  readonly id: string
  readonly accountId: string
  readonly wanted: Wanted
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
    wanted: JSON.parse(row.wanted) as Wanted,
    reason: row.reason,
    status: row.status,
    answer: row.answer,
    createdAt: row.created_at,
    answeredAt: row.answered_at,
  }
}

function noneWanted(): Refusal {
  return refuse('invalid_request', { param: 'wanted', message: 'wanted names no limit.' })
}

/** Refuses with 400 when nothing is wanted, 409 when one is open. */
export async function askLimits(
  db: Db,
  asked: { readonly accountId: string; readonly wanted: Wanted; readonly reason: string },
  by: string,
): Promise<LimitRequest> {
  const { accountId, wanted, reason } = asked
  if (Object.values(wanted).every((limit) => limit === undefined)) throw noneWanted()
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
    const audit = auditRow(by, 'limits.ask', row.id, { account: accountId, wanted })
    await db.write(sql.insertInto('limit_requests').values(row), audit)
  } catch (error) {
    if (!isTaken(error, 'limit_requests.account_id')) throw error
    throw refuse('conflict', { message: 'A request is open already. Wait for its answer.' })
  }
  return limitRequestOf(row)
}

export interface LimitRequestsPage {
  readonly limit: number
  /** The last id of the page before. */
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

export async function limitRequestById(db: Db, id: string): Promise<LimitRequest> {
  const row = await db.first(sql.selectFrom('limit_requests').selectAll().where('id', '=', id))
  if (row === undefined) throw refuse('not_found', { message: 'There is no such request.' })
  return limitRequestOf(row)
}

/** Refuses with 409 when it was answered before. What is granted, the caller sets. */
export async function answerLimitRequest(
  db: Db,
  id: string,
  given: { readonly status: 'granted' | 'declined'; readonly answer: string },
  by: string,
): Promise<LimitRequest> {
  const update = sql
    .updateTable('limit_requests')
    .set({ ...given, answered_at: Date.now() })
    .where('id', '=', id)
    .where('status', '=', 'open')
  try {
    await db.write(expecting(update, 1), auditRow(by, 'limits.answer', id, given))
  } catch (error) {
    throw isUndone(error) ? refuse('conflict', { message: 'This request was answered before.' }) : error
  }
  return limitRequestById(db, id)
}
