/**
 * Notifications to an account or to the operators. Each is raised once per audience, kind, subject and
 * period, however many threads try. It stores a code and parameters; locales/notification-texts.ts renders
 * them in the reader's language. outbox.ts queues them per channel, and send.ts sends them.
 */
import { fieldsOf } from '../db/row-fields.ts'
import type { Selectable } from 'kysely'
import { compileQuery, type Db, type Page, type PageOptions } from '../db/db.ts'
import type { Statement } from '../db/statement.ts'
import { sql, type NoticesTable } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import { operatorAudience, type NotificationKind } from './notification-kinds.ts'
import type { NotificationCode, NotificationParams } from './locales/notification-texts.ts'

export type Severity = NoticesTable['severity']

export interface NotificationInput {
  /** `operator`, or an account's id. */
  readonly audience: string
  readonly kind: NotificationKind
  readonly severity: Severity
  /** What it is about, such as `key:key_…`. Together with the period it identifies what is notified once. */
  readonly subject: string
  readonly period: string
  readonly code: NotificationCode
  readonly params: NotificationParams
}

export interface Notification extends NotificationInput {
  readonly id: string
  /** The position in order of creation. */
  readonly row: number
  readonly createdAt: number
  readonly readAt: number | null
}

/** The notification as a statement for a batch. It does nothing if the notification was raised before. */
export function insertNotification(input: NotificationInput): Statement {
  const row = {
    id: newId('ntc'),
    ...input,
    params: JSON.stringify(input.params),
    created_at: Date.now(),
    read_at: null,
  }
  return compileQuery(
    sql
      .insertInto('notices')
      .values(row)
      .onConflict((conflict) => conflict.columns(['audience', 'kind', 'subject', 'period']).doNothing()),
  )
}

/** Identifies what is notified once about a cap: a changed cap is notified again, even within the same day. */
export function capPeriod(cap: {
  readonly end: number
  readonly cap: bigint
  readonly level: number
}): string {
  return `${cap.end}:${cap.cap}:${cap.level}`
}

/** Whether an account was notified that this cap of its own is used up. */
export async function wasCapReached(
  db: Db,
  accountId: string,
  cap: { readonly name: 'daily' | 'monthly'; readonly end: number; readonly cap: bigint },
): Promise<boolean> {
  const query = sql
    .selectFrom('notices')
    .select('row_id')
    .where('audience', '=', accountId)
    .where('kind', '=', 'spend_cap')
    .where('subject', '=', `account_${cap.name}_cap`)
    .where('period', '=', capPeriod({ ...cap, level: 100 }))
  return (await db.first(query)) !== undefined
}

/** Raises notifications in one batch. Returns how many are new. */
export async function raiseNotification(
  db: Pick<Db, 'write'>,
  ...inputs: NotificationInput[]
): Promise<number> {
  if (inputs.length === 0) return 0
  const results = await db.write(...inputs.map(insertNotification))
  return results.reduce((sum, { changes }) => sum + changes, 0)
}

export function notificationOf(row: Selectable<NoticesTable>): Notification {
  const { rowId, queuedAt: _queuedAt, ...fields } = fieldsOf(row)
  return {
    ...fields,
    row: rowId,
    kind: row.kind as NotificationKind,
    code: row.code as NotificationCode,
    params: JSON.parse(row.params) as NotificationParams,
  }
}

export interface NotificationFilter {
  /** `operator`, or an account's id. Absent: all. */
  readonly audience?: string
  /** Only those of accounts. */
  readonly accountsOnly?: boolean
  readonly kind?: string
  readonly severity?: Severity
  /** Only those that nobody has read. */
  readonly unread?: boolean
}

/** Newest first. `next` is the cursor of the next page; null on the last one. */
export async function listNotifications(
  db: Db,
  filter: NotificationFilter,
  page: PageOptions,
): Promise<Page<Notification>> {
  const { audience, kind, severity } = filter
  let query = sql
    .selectFrom('notices')
    .selectAll()
    .orderBy('row_id', 'desc')
    .limit(page.limit + 1)
  if (audience !== undefined) query = query.where('audience', '=', audience)
  if (filter.accountsOnly === true) query = query.where('audience', '!=', operatorAudience)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (severity !== undefined) query = query.where('severity', '=', severity)
  if (filter.unread === true) query = query.where('read_at', 'is', null)
  if (page.cursor !== undefined) query = query.where('row_id', '<', Number(page.cursor))
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map(notificationOf)
  const last = rows.length > page.limit ? data.at(-1) : undefined
  return { data, next: last === undefined ? null : String(last.row) }
}

export async function countUnread(db: Db, audience: string): Promise<number> {
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
 * Marks notifications as read: the given ids, otherwise all, optionally of one audience. Returns how many
 * were unread. Unknown ids and those of other audiences are ignored.
 */
export async function markNotificationsRead(
  db: Db,
  selection: { readonly audience?: string; readonly ids?: readonly string[] },
): Promise<number> {
  let update = sql.updateTable('notices').set({ read_at: Date.now() }).where('read_at', 'is', null)
  if (selection.audience !== undefined) update = update.where('audience', '=', selection.audience)
  if (selection.ids !== undefined) update = update.where('id', 'in', [...selection.ids])
  const [result] = await db.write(update)
  return result?.changes ?? 0
}
