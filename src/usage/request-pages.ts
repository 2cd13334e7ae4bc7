/**
 * Pages of request rows for people: with any filter a page looks at a bounded number of rows, so that none takes long
 * however rare the thing is that is looked for. A page may therefore be short and still lead on.
 */
import type { Db } from '../db/db.ts'
import type { Parameter } from '../db/messages.ts'
import type { Selectable } from 'kysely'
import type { Outcome, RequestsTable } from '../db/schema/schema.ts'
import { refuse } from '../errors.ts'

/** One request's row as it is read. */
export type StoredRequest = Selectable<RequestsTable>

export interface RowFilter {
  /** Absent: everybody's. */
  readonly account?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly outcome?: Outcome | undefined
  /** Only what did not end well. */
  readonly errors?: boolean
  readonly requestId?: string | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export interface RowPage {
  readonly rows: StoredRequest[]
  /** null at the end. */
  readonly next: string | null
}

/** How many rows a page looks at, at most: some tens of milliseconds. */
const lookedAtMost = 20_000
const endOfTime = 8_640_000_000_000_000

/** Below which row a page begins: the time of the last one looked at and, among equal times, its number. */
function placeOf(cursor: string | undefined): readonly [number, number] {
  if (cursor === undefined) return [endOfTime, 0]
  const match = /^(\d{1,16})\.(\d{1,15})$/.exec(cursor)
  if (match === null)
    throw refuse('invalid_request', { param: 'cursor', message: 'cursor is not one of ours.' })
  return [Number(match[1]), Number(match[2])]
}

interface Looked {
  at: number
  row_id: number
}

interface Condition {
  readonly text: string
  readonly values: readonly Parameter[]
}

/** One text for all of them. */
function together(conditions: readonly Condition[]): Condition {
  return {
    text: conditions.map(({ text }) => text).join(' and ') || '1 = 1',
    values: conditions.flatMap(({ values }) => values),
  }
}

/** Rows of an account that did not end well have an index of their own. */
function isOfFailures({ account, errors, outcome }: RowFilter): boolean {
  return account !== undefined && (errors === true || (outcome !== undefined && outcome !== 'ok'))
}

/** By which an index finds rows in the order of their time, and by which they are looked at one by one. */
function conditionsOf(filter: RowFilter): { readonly found: Condition[]; readonly looked: Condition[] } {
  const named = [
    ['key_id', filter.key],
    ['account_id', filter.account],
    ['model', filter.model],
    ['outcome', filter.outcome],
  ] as const
  const given = named.filter(([, value]) => value !== undefined)
  const lead = isOfFailures(filter) ? 'account_id' : given.find(([column]) => column !== 'outcome')?.[0]
  const conditions = given.map(([column, value]) => ({
    column,
    text: `${column} = ?`,
    values: value === undefined ? [] : [value],
  }))
  const found: Condition[] = conditions.filter(({ column }) => column === lead)
  const looked: Condition[] = conditions.filter(({ column }) => column !== lead)
  found.push({ text: 'at >= ? and at < ?', values: [filter.from ?? 0, filter.to ?? endOfTime] })
  if (isOfFailures(filter)) found.push({ text: `outcome <> 'ok'`, values: [] })
  if (filter.errors === true)
    looked.push({ text: `outcome in ('refused', 'failed', 'truncated', 'ended')`, values: [] })
  return { found, looked }
}

/** Newest first. */
export async function pageOfRows(
  db: Db,
  filter: RowFilter,
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<RowPage> {
  const [at, rowId] = placeOf(page.cursor)
  const { found, looked } = conditionsOf(filter)
  const ordered = 'order by at desc, row_id desc'
  if (filter.requestId !== undefined) {
    const { text, values } = together([...found, ...looked])
    const sql = `select * from requests where request_id = ? and ${text}`
    const rows = await db.report<StoredRequest>({ sql, parameters: [filter.requestId, ...values] })
    return { rows, next: null }
  }
  const inside = together([...found, { text: '(at, row_id) < (?, ?)', values: [at, rowId] }])
  const matching = together(looked)
  const most = looked.length === 0 ? page.limit + 1 : lookedAtMost
  const rows = await db.report<StoredRequest>({
    sql: `select * from (select * from requests where ${inside.text} ${ordered} limit ?) as looked
      where ${matching.text} ${ordered} limit ?`,
    parameters: [...inside.values, most, ...matching.values, page.limit + 1],
  })
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  if (rows.length > page.limit && last !== undefined)
    return { rows: shown, next: `${last.at}.${last.row_id}` }
  if (looked.length === 0) return { rows: shown, next: null }
  const [edge] = await db.report<Looked>({
    sql: `select at, row_id from requests where ${inside.text} ${ordered} limit 1 offset ${lookedAtMost - 1}`,
    parameters: inside.values,
  })
  return { rows: shown, next: edge === undefined ? null : `${edge.at}.${edge.row_id}` }
}

/** One row of an account; undefined for another's too. */
export async function rowById(
  db: Db,
  account: string,
  requestId: string,
): Promise<StoredRequest | undefined> {
  return (await pageOfRows(db, { account, requestId }, { limit: 1 })).rows[0]
}
