/** `/announcements`: messages to everyone who signs in to the console. */
import { z } from '@hono/zod-openapi'
import { idCursor } from '../../api/pagination.ts'
import {
  createAnnouncement,
  deleteAnnouncement,
  listAnnouncements,
  updateAnnouncement,
  type AnnouncementPatch,
} from '../../../notifications/announcements.ts'
import { announcement, announcementView } from '../../api/announcements.ts'
import { parseTime } from '../../api/json-values.ts'
import { timeInput } from '../../api/json-schemas.ts'
import { admin } from '../admin-context.ts'

const fields = announcement.shape
const inputFields = {
  title: fields.title,
  text: fields.text,
  severity: fields.severity,
  from: timeInput.optional(),
  to: timeInput.nullish(),
}
export const announcementInput = z.strictObject({ ...inputFields, severity: fields.severity.default('info') })
/** Without a default: what an update omits stays as it is. */
const announcementPatch = z.strictObject(inputFields).partial()
export type AnnouncementBody = z.input<typeof announcementInput>

function toAnnouncementPatch({ from, to, ...rest }: z.infer<typeof announcementPatch>): AnnouncementPatch {
  return { ...rest, from: parseTime(from), to: parseTime(to) }
}

export const announcementEndpoints = [
  admin.page('/announcements', {
    summary: 'List announcements, newest first',
    item: announcementView,
    cursor: idCursor,
    handle: ({ ctx, page }) => listAnnouncements(ctx.db, page),
  }),
  admin.create('/announcements', {
    summary: 'Create an announcement to all console users',
    body: announcementInput,
    response: announcementView,
    handle: ({ ctx, by, body }) => createAnnouncement(ctx.db, toAnnouncementPatch(body), by),
  }),
  admin.patch('/announcements/{id}', {
    summary: 'Update an announcement',
    body: announcementPatch,
    response: announcementView,
    handle: ({ ctx, by, params, body }) =>
      updateAnnouncement(ctx.db, params.id, toAnnouncementPatch(body), by),
  }),
  admin.delete('/announcements/{id}', {
    summary: 'Delete an announcement',
    handle: ({ ctx, by, params }) => deleteAnnouncement(ctx.db, params.id, by),
  }),
]
