/**
 * Pages of request rows for people. With a filter, a page scans a limited number of rows, so that no page is
 * slow however rare the matches are. A page may therefore be short, or even empty, although more follow.
 */
import type { Db, PageOptions } from '../db/db.ts'
import { isFailureSql } from '../db/request-outcomes.ts'
import type { Parameter } from '../db/statement.ts'
import type { Selectable } from 'kysely'
import type { Outcome, RequestsTable } from '../db/schema/schema.ts'
import { apiError } from '../errors.ts'

/** One request's row as read from the database. */
export type StoredRequest = Selectable<RequestsTable>

export interface RequestRowFilter {
  /** Absent: all accounts. */
  readonly account?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly outcome?: Outcome | undefined
  readonly operation?: string | undefined
  /** Only requests that did not succeed. */
  readonly errors?: boolean
  readonly requestId?: string | undefined
  /** Inclusive. */
  readonly from?: number | undefined
  /** Exclusive. */
  readonly to?: number | undefined
}

export interface RequestRowPage {
  readonly rows: StoredRequest[]
  /** null on the last page. */
  readonly next: string | null
}

/** The maximum number of rows that a page scans, which takes some tens of milliseconds. */
const maxScannedRows = 20_000
const endOfTime = 8_640_000_000_000_000

/**
 * The position below which a page begins: the time of the last scanned row and, among equal times, its row
 * id.
 */
function parseCursor(cursor: string | undefined): readonly [number, number] {
  if (cursor === undefined) return [endOfTime, 0]
  const match = /^(\d{1,16})\.(\d{1,15})$/.exec(cursor)
  if (match === null)
    throw apiError('invalid_request', { param: 'cursor', message: 'Invalid cursor for this list.' })
  return [Number(match[1]), Number(match[2])]
}

interface ScannedRow {
  at: number
  row_id: number
}

interface Condition {
  readonly text: string
  readonly values: readonly Parameter[]
}

/** Joins conditions with "and". */
function joinConditions(conditions: readonly Condition[]): Condition {
  return {
    text: conditions.map(({ text }) => text).join(' and ') || '1 = 1',
    values: conditions.flatMap(({ values }) => values),
  }
}

/** Rows of an account that did not succeed have an index of their own. */
function usesFailureIndex({ account, errors, outcome }: RequestRowFilter): boolean {
  return account !== undefined && (errors === true || (outcome !== undefined && outcome !== 'ok'))
}

/**
 * `indexed` conditions select rows by an index in order of time; `scanned` conditions are checked row by row.
 */
function conditionsOf(filter: RequestRowFilter): {
  readonly indexed: Condition[]
  readonly scanned: Condition[]
} {
  const columns = [
    ['key_id', filter.key],
    ['account_id', filter.account],
    ['model', filter.model],
    ['outcome', filter.outcome],
    ['operation', filter.operation],
  ] as const
  const given = columns.filter(([, value]) => value !== undefined)
  const leadingColumn = usesFailureIndex(filter)
    ? 'account_id'
    : given.find(([column]) => column !== 'outcome' && column !== 'operation')?.[0]
  const conditions = given.map(([column, value]) => ({
    column,
    text: `${column} = ?`,
    values: value === undefined ? [] : [value],
  }))
  const indexed: Condition[] = conditions.filter(({ column }) => column === leadingColumn)
  const scanned: Condition[] = conditions.filter(({ column }) => column !== leadingColumn)
  indexed.push({ text: 'at >= ? and at < ?', values: [filter.from ?? 0, filter.to ?? endOfTime] })
  if (usesFailureIndex(filter)) indexed.push({ text: `outcome <> 'ok'`, values: [] })
  if (filter.errors === true) scanned.push({ text: isFailureSql, values: [] })
  return { indexed, scanned }
}

/** Newest first. */
export async function listRequestRows(
  db: Db,
  filter: RequestRowFilter,
  page: PageOptions,
): Promise<RequestRowPage> {
  const [at, rowId] = parseCursor(page.cursor)
  const { indexed, scanned } = conditionsOf(filter)
  const ordered = 'order by at desc, row_id desc'
  if (filter.requestId !== undefined) {
    const { text, values } = joinConditions([...indexed, ...scanned])
    const sql = `select * from requests where request_id = ? and ${text}`
    const rows = await db.report<StoredRequest>({ sql, parameters: [filter.requestId, ...values] })
    return { rows, next: null }
  }
  const range = joinConditions([...indexed, { text: '(at, row_id) < (?, ?)', values: [at, rowId] }])
  const matching = joinConditions(scanned)
  const scanLimit = scanned.length === 0 ? page.limit + 1 : maxScannedRows
  const rows = await db.report<StoredRequest>({
    sql: `select * from (select * from requests where ${range.text} ${ordered} limit ?) as looked
      where ${matching.text} ${ordered} limit ?`,
    parameters: [...range.values, scanLimit, ...matching.values, page.limit + 1],
  })
  const visible = rows.slice(0, page.limit)
  const last = visible.at(-1)
  if (rows.length > page.limit && last !== undefined)
    return { rows: visible, next: `${last.at}.${last.row_id}` }
  if (scanned.length === 0) return { rows: visible, next: null }
  const [lastScanned] = await db.report<ScannedRow>({
    sql: `select at, row_id from requests where ${range.text} ${ordered} limit 1 offset ${maxScannedRows - 1}`,
    parameters: range.values,
  })
  return { rows: visible, next: lastScanned === undefined ? null : `${lastScanned.at}.${lastScanned.row_id}` }
}

/** One row of an account. undefined for other accounts' rows. */
export async function requestRowById(
  db: Db,
  account: string,
  requestId: string,
): Promise<StoredRequest | undefined> {
  return (await listRequestRows(db, { account, requestId }, { limit: 1 })).rows[0]
}
