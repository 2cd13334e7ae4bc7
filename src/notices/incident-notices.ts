/** Notices of incidents: to the operators, and to accounts that asked to be told of those that are public. */
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { operator } from '../notifications/notification-kinds.ts'
import { raiseNotice, type NoticeInput } from '../notifications/notifications.ts'

export interface IncidentNotice extends Pick<NoticeInput, 'code' | 'severity' | 'params'> {
  /** Its id. */
  readonly incident: string
  /** What of it is told: once each. */
  readonly period: string
  readonly isPublic: boolean
}

const accountsAtOnce = 200

/** Accounts that have chosen a channel for incidents. */
async function subscribers(db: Db): Promise<string[]> {
  const rows = await db.all(
    sql
      .selectFrom('notice_preferences')
      .innerJoin('accounts', 'accounts.id', 'notice_preferences.audience')
      .select('accounts.id')
      .where('kind', '=', 'incident')
      .where('channels', '!=', '[]')
      .where('accounts.status', '=', 'active'),
  )
  return rows.map(({ id }) => id)
}

export async function tellOfIncident(db: Db, notice: IncidentNotice): Promise<void> {
  const { incident, isPublic, ...about } = notice
  const noticeFor = (audience: string): NoticeInput => ({
    ...about,
    audience,
    kind: 'incident',
    subject: `incident:${incident}`,
  })
  await raiseNotice(db, noticeFor(operator))
  if (!isPublic) return
  const accounts = await subscribers(db)
  for (let first = 0; first < accounts.length; first += accountsAtOnce)
    await raiseNotice(db, ...accounts.slice(first, first + accountsAtOnce).map(noticeFor))
}
