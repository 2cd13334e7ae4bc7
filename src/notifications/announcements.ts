/** Announcements: what operators tell everybody who signs in, for a while, in one language or more. */
import { refuse, type Refusal } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditRow } from '../db/audit.ts'
import { expecting, type Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUndone } from '../db/store-error.ts'
import type { AnnouncementsTable } from '../db/schema/tables/console.ts'
import type { Language } from './locales/notification-texts.ts'

export type Worded = Partial<Record<Language, string>>

export interface Announcement {
  readonly id: string
  readonly title: Worded
  readonly text: Worded
  readonly severity: AnnouncementsTable['severity']
  readonly from: number
  readonly to: number | null
}

/** Not named stays; on creation: from now on, without an end. */
export interface AnnouncementPatch {
  readonly title?: Worded | undefined
  readonly text?: Worded | undefined
  readonly severity?: AnnouncementsTable['severity'] | undefined
  readonly from?: number | undefined
  readonly to?: number | null | undefined
}

const shownMost = 20

function announcementOf(row: AnnouncementsTable): Announcement {
  return {
    id: row.id,
    title: JSON.parse(row.title) as Worded,
    text: JSON.parse(row.message) as Worded,
    severity: row.severity,
    from: row.begins_at,
    to: row.ends_at,
  }
}

function wordedJson(worded: Worded, param: string): string {
  const texts = Object.entries(worded).filter(([, text]) => text.trim() !== '')
  if (texts.length === 0) throw refuse('invalid_request', { param, message: `${param} has no words.` })
  return JSON.stringify(Object.fromEntries(texts))
}

function changesOf({ title, text, severity, from, to }: AnnouncementPatch): Partial<AnnouncementsTable> {
  const set: Partial<AnnouncementsTable> = {}
  if (title !== undefined) set.title = wordedJson(title, 'title')
  if (text !== undefined) set.message = wordedJson(text, 'text')
  if (severity !== undefined) set.severity = severity
  if (from !== undefined) set.begins_at = from
  if (to !== undefined) set.ends_at = to
  return set
}

function noSuchAnnouncement(): Refusal {
  return refuse('not_found', { message: 'There is no such announcement.' })
}

async function announcementById(db: Db, id: string): Promise<Announcement> {
  const row = await db.first(sql.selectFrom('announcements').selectAll().where('id', '=', id))
  if (row === undefined) throw noSuchAnnouncement()
  return announcementOf(row)
}

/** Refuses with 400 for one without words. */
export async function announce(db: Db, input: AnnouncementPatch, by: string): Promise<Announcement> {
  const now = Date.now()
  const words = {
    title: wordedJson(input.title ?? {}, 'title'),
    message: wordedJson(input.text ?? {}, 'text'),
  }
  const usual = { severity: 'info' as const, begins_at: now, ends_at: null, created_at: now }
  const row: AnnouncementsTable = { id: newId('ann'), ...usual, ...changesOf(input), ...words }
  await db.write(
    sql.insertInto('announcements').values(row),
    auditRow(by, 'announcement.create', row.id, input),
  )
  return announcementOf(row)
}

/** Refuses with 404 for an unknown one. */
export async function updateAnnouncement(
  db: Db,
  id: string,
  patch: AnnouncementPatch,
  by: string,
): Promise<Announcement> {
  const update = sql
    .updateTable('announcements')
    .set({ id, ...changesOf(patch) })
    .where('id', '=', id)
  try {
    await db.write(expecting(update, 1), auditRow(by, 'announcement.update', id, patch))
  } catch (error) {
    throw isUndone(error) ? noSuchAnnouncement() : error
  }
  return announcementById(db, id)
}

export async function deleteAnnouncement(db: Db, id: string, by: string): Promise<void> {
  try {
    const remove = sql.deleteFrom('announcements').where('id', '=', id)
    await db.write(expecting(remove, 1), auditRow(by, 'announcement.delete', id))
  } catch (error) {
    throw isUndone(error) ? noSuchAnnouncement() : error
  }
}

/** Newest first. */
export async function listAnnouncements(
  db: Db,
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ data: Announcement[]; next: string | null }> {
  let query = sql
    .selectFrom('announcements')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  const rows = await db.all(query)
  const data = rows.slice(0, page.limit).map(announcementOf)
  return { data, next: rows.length > page.limit ? (data.at(-1)?.id ?? null) : null }
}

/** What is to be shown now, newest first. */
export async function currentAnnouncements(db: Db, now = Date.now()): Promise<Announcement[]> {
  const query = sql
    .selectFrom('announcements')
    .selectAll()
    .where('begins_at', '<=', now)
    .where((build) => build.or([build('ends_at', 'is', null), build('ends_at', '>', now)]))
    .orderBy('begins_at', 'desc')
    .limit(shownMost)
  return (await db.all(query)).map(announcementOf)
}
