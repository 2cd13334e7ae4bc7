/**
 * Notices: what an account or the operators have to be told. Each is raised once per audience, kind, subject and period,
 * however often and by however many threads; it keeps a code and parameters, and words.ts makes texts of them in the
 * reader's language. How they are brought elsewhere: outbox.ts.
 */
import type { Selectable } from 'kysely'
import { statementOf, type Db } from '../db/db.ts'
import type { Statement } from '../db/messages.ts'
import { sql, type NoticesTable } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import { operator, type NoticeKind } from './notification-kinds.ts'
import type { NoticeCode, NoticeParams } from './locales/notification-texts.ts'

export type Severity = NoticesTable['severity']

export interface NoticeInput {
  /** `operator`, or an account's id. */
  readonly audience: string
  readonly kind: NoticeKind
  readonly severity: Severity
  /** What it is about, e.g. `key:key_…`: with the period, what it is raised once for. */
  readonly subject: string
  readonly period: string
  readonly code: NoticeCode
  readonly params: NoticeParams
}

export interface Notice extends NoticeInput {
  readonly id: string
  /** Its place in the order of arrival. */
  readonly row: number
  readonly createdAt: number
  readonly readAt: number | null
}

/** The notice as a statement for a batch; it changes nothing where it was raised before. */
export function noticeRow(input: NoticeInput): Statement {
  const row = {
    id: newId('ntc'),
    ...input,
    params: JSON.stringify(input.params),
    created_at: Date.now(),
    read_at: null,
  }
  return statementOf(
    sql
      .insertInto('notices')
      .values(row)
      .onConflict((conflict) => conflict.columns(['audience', 'kind', 'subject', 'period']).doNothing()),
  )
}

/** Raises notices as one batch; tells how many are new. */
export async function raiseNotice(db: Db, ...inputs: NoticeInput[]): Promise<number> {
  if (inputs.length === 0) return 0
  const results = await db.write(...inputs.map(noticeRow))
  return results.reduce((sum, { changes }) => sum + changes, 0)
}

export function noticeOf(row: Selectable<NoticesTable>): Notice {
  const { audience, severity, subject, period } = row
  return {
    id: row.id,
    row: row.row_id,
    audience,
    kind: row.kind as NoticeKind,
    severity,
    subject,
    period,
    code: row.code as NoticeCode,
    params: JSON.parse(row.params) as NoticeParams,
    createdAt: row.created_at,
    readAt: row.read_at,
  }
}

export interface NoticeFilter {
  /** `operator`, or an account's id; absent: everybody's. */
  readonly audience?: string
  /** Accounts' alone. */
  readonly accountsOnly?: boolean
  readonly kind?: string
  readonly severity?: Severity
  /** Only those that nobody has read. */
  readonly unread?: boolean
}

/** Newest first. `next` is the cursor of the page after, null at the end. */
export async function listNotices(
  db: Db,
  filter: NoticeFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ data: Notice[]; next: string | null }> {
  const { audience, kind, severity } = filter
  let query = sql
    .selectFrom('notices')
    .selectAll()
    .orderBy('row_id', 'desc')
    .limit(page.limit + 1)
  if (audience !== undefined) query = query.where('audience', '=', audience)
  if (filter.accountsOnly === true) query = query.where('audience', '!=', operator)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (severity !== undefined) query = query.where('severity', '=', severity)
  if (filter.unread === true) query = query.where('read_at', 'is', null)
  if (page.cursor !== undefined) query = query.where('row_id', '<', Number(page.cursor))
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map(noticeOf)
  const last = rows.length > page.limit ? data.at(-1) : undefined
  return { data, next: last === undefined ? null : String(last.row) }
}

export async function unreadNotices(db: Db, audience: string): Promise<number> {
  const row = await db.first(
    sql
      .selectFrom('notices')
      .select((build) => build.fn.countAll<number>().as('unread'))
      .where('audience', '=', audience)
      .where('read_at', 'is', null),
  )
  return row?.unread ?? 0
}

/**
 * Marks notices as read: those named, else all; of one audience, where one is given. Tells how many had not been
 * read before; ids that are unknown, or another's, are passed over.
 */
export async function markNoticesRead(
  db: Db,
  which: { readonly audience?: string; readonly ids?: readonly string[] },
): Promise<number> {
  let update = sql.updateTable('notices').set({ read_at: Date.now() }).where('read_at', 'is', null)
  if (which.audience !== undefined) update = update.where('audience', '=', which.audience)
  if (which.ids !== undefined) update = update.where('id', 'in', [...which.ids])
  const [result] = await db.write(update)
  return result?.changes ?? 0
}
