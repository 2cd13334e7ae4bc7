/** Announcements: what operators tell all signed-in users for a while, in one or more languages. */
import { notFound, invalidField } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import { auditStatement } from '../db/audit.ts'
import { auditChanges, auditFields } from '../db/audit-changes.ts'
import { type Db, writeIfFound, pageOf, type Page, type PageOptions } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import type { AnnouncementsTable } from '../db/schema/tables/console.ts'
import type { Language } from './locales/notification-texts.ts'

export type LocalizedText = Partial<Record<Language, string>>

export interface Announcement {
  readonly id: string
  readonly title: LocalizedText
  readonly text: LocalizedText
  readonly severity: AnnouncementsTable['severity']
  readonly from: number
  readonly to: number | null
}

/** Omitted fields stay unchanged; on creation they default to "from now" and no end. */
export type AnnouncementPatch = Partial<Omit<Announcement, 'id'>>

const maxShown = 20

function announcementOf(row: AnnouncementsTable): Announcement {
  return {
    id: row.id,
    title: JSON.parse(row.title) as LocalizedText,
    text: JSON.parse(row.message) as LocalizedText,
    severity: row.severity,
    from: row.begins_at,
    to: row.ends_at,
  }
}

function localizedJson(localized: LocalizedText, param: string): string {
  const texts = Object.entries(localized).filter(([, text]) => text.trim() !== '')
  if (texts.length === 0) throw invalidField(param, 'must contain text in at least one language')
  return JSON.stringify(Object.fromEntries(texts))
}

function toColumns({ title, text, severity, from, to }: AnnouncementPatch): Partial<AnnouncementsTable> {
  const set: Partial<AnnouncementsTable> = {}
  if (title !== undefined) set.title = localizedJson(title, 'title')
  if (text !== undefined) set.message = localizedJson(text, 'text')
  if (severity !== undefined) set.severity = severity
  if (from !== undefined) set.begins_at = from
  if (to !== undefined) set.ends_at = to
  return set
}

async function announcementRow(db: Db, id: string): Promise<AnnouncementsTable> {
  const row = await db.first(sql.selectFrom('announcements').selectAll().where('id', '=', id))
  if (row === undefined) throw notFound('Announcement')
  return row
}

/** Throws 400 if a text is missing. */
export async function createAnnouncement(
  db: Db,
  input: AnnouncementPatch,
  by: string,
): Promise<Announcement> {
  const now = Date.now()
  const texts = {
    title: localizedJson(input.title ?? {}, 'title'),
    message: localizedJson(input.text ?? {}, 'text'),
  }
  const defaults = { severity: 'info' as const, begins_at: now, ends_at: null, created_at: now }
  const row: AnnouncementsTable = { id: newId('ann'), ...defaults, ...toColumns(input), ...texts }
  await db.write(
    sql.insertInto('announcements').values(row),
    auditStatement(by, 'announcement.create', row.id, auditFields(apiAnnouncement(row))),
  )
  return announcementOf(row)
}

/** An announcement as the API has it. */
function apiAnnouncement(row: AnnouncementsTable): object {
  const { from, to, ...announcement } = announcementOf(row)
  const timeText = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
  return { ...announcement, from: timeText(from), to: timeText(to) }
}

/** Throws 404 for an unknown id. A patch that changes nothing writes nothing. */
export async function updateAnnouncement(
  db: Db,
  id: string,
  patch: AnnouncementPatch,
  by: string,
): Promise<Announcement> {
  const before = await announcementRow(db, id)
  const set = toColumns(patch)
  const changes = auditChanges(apiAnnouncement(before), apiAnnouncement({ ...before, ...set }))
  if (changes === null) return announcementOf(before)
  const update = sql.updateTable('announcements').set(set).where('id', '=', id)
  if (!(await writeIfFound(db, update, auditStatement(by, 'announcement.update', id, changes))))
    throw notFound('Announcement')
  return announcementOf(await announcementRow(db, id))
}

export async function deleteAnnouncement(db: Db, id: string, by: string): Promise<void> {
  const remove = sql.deleteFrom('announcements').where('id', '=', id)
  if (!(await writeIfFound(db, remove, auditStatement(by, 'announcement.delete', id))))
    throw notFound('Announcement')
}

/** Newest first. */
export async function listAnnouncements(db: Db, page: PageOptions): Promise<Page<Announcement>> {
  let query = sql
    .selectFrom('announcements')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, announcementOf)
}

/** The announcements to show now, newest first. */
export async function currentAnnouncements(db: Db, now = Date.now()): Promise<Announcement[]> {
  const query = sql
    .selectFrom('announcements')
    .selectAll()
    .where('begins_at', '<=', now)
    .where((build) => build.or([build('ends_at', 'is', null), build('ends_at', '>', now)]))
    .orderBy('begins_at', 'desc')
    .limit(maxShown)
  return (await db.all(query)).map(announcementOf)
}
