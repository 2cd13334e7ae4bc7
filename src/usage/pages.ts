/**
 * Pages of request rows for people: with any filter a page looks at a bounded number of rows, so that none takes long
 * however rare the thing is that is looked for. A page may therefore be short and still lead on.
 */
import type { Db } from '../db/db.ts'
import type { Parameter } from '../db/messages.ts'
import type { Selectable } from 'kysely'
import type { Outcome, RequestsTable } from '../db/schema.ts'
import { refuse } from '../errors.ts'

/** One request's row as it is read. */
export type StoredRequest = Selectable<RequestsTable>

export interface RowFilter {
  readonly account: string
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

function conditionsOf(filter: RowFilter): readonly [string[], Parameter[]] {
  const named: [string, Parameter | undefined][] = [
    ['key_id = ?', filter.key],
    ['model = ?', filter.model],
    ['outcome = ?', filter.outcome],
  ]
  const given = named.filter((each): each is [string, Parameter] => each[1] !== undefined)
  const texts = given.map(([text]) => text)
  if (filter.errors === true) texts.push(`outcome in ('refused', 'failed', 'truncated', 'ended')`)
  return [texts, given.map(([, value]) => value)]
}

/** Rows of an account that did not end well have an index of their own. */
function isOfFailures({ errors, outcome }: RowFilter): boolean {
  return errors === true || (outcome !== undefined && outcome !== 'ok')
}

/** Newest first. */
export async function pageOfRows(
  db: Db,
  filter: RowFilter,
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<RowPage> {
  const [at, rowId] = placeOf(page.cursor)
  if (filter.requestId !== undefined) {
    const query = 'select * from requests where request_id = ? and account_id = ?'
    const rows = await db.report<StoredRequest>({
      sql: query,
      parameters: [filter.requestId, filter.account],
    })
    return { rows, next: null }
  }
  const scope: Parameter[] = [filter.account, filter.from ?? 0, filter.to ?? endOfTime, at, rowId]
  const inside = `account_id = ? and at >= ? and at < ? and (at, row_id) < (?, ?)${isOfFailures(filter) ? ` and outcome <> 'ok'` : ''}`
  const [texts, values] = conditionsOf(filter)
  const matching = texts.length === 0 ? '' : `where ${texts.join(' and ')}`
  const rows = await db.report<StoredRequest>({
    sql: `select * from (select * from requests where ${inside} order by at desc, row_id desc limit ${lookedAtMost}) as looked
      ${matching} order by at desc, row_id desc limit ?`,
    parameters: [...scope, ...values, page.limit + 1],
  })
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  if (rows.length > page.limit && last !== undefined)
    return { rows: shown, next: `${last.at}.${last.row_id}` }
  if (texts.length === 0) return { rows: shown, next: null }
  const [edge] = await db.report<Looked>({
    sql: `select at, row_id from requests where ${inside} order by at desc, row_id desc limit 1 offset ${lookedAtMost - 1}`,
    parameters: scope,
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
