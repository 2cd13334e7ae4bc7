/** `/announcements`: messages to everyone who signs in to the console. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createAnnouncement,
  deleteAnnouncement,
  listAnnouncements,
  updateAnnouncement,
  type AnnouncementPatch,
} from '../../../notifications/announcements.ts'
import { announcement, serializeAnnouncement } from '../../api/announcements.ts'
import { decodeCursor, encodeCursor, parseTime } from '../../api/json-values.ts'
import { timeInput } from '../../api/json-schemas.ts'
import type { AdminContext } from '../admin-context.ts'
import { pageFields } from '../pagination.ts'
import { createdResponse, deletedSchema, idParams, jsonBody, listResponse, okResponse } from '../schemas.ts'

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

const list = createRoute({
  method: 'get',
  path: '/announcements',
  summary: 'List announcements, newest first',
  request: { query: z.strictObject(pageFields) },
  responses: listResponse(announcement, 'A page of announcements.'),
})
const create = createRoute({
  method: 'post',
  path: '/announcements',
  summary: 'Create an announcement to all console users',
  request: { body: jsonBody(announcementInput) },
  responses: createdResponse(announcement, 'The announcement.'),
})
const update = createRoute({
  method: 'patch',
  path: '/announcements/{id}',
  summary: 'Update an announcement',
  request: { params: idParams, body: jsonBody(announcementPatch) },
  responses: okResponse(announcement, 'The updated announcement.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/announcements/{id}',
  summary: 'Delete an announcement',
  request: { params: idParams },
  responses: okResponse(deletedSchema, 'Deleted.'),
})

const idCursor = /^\w{1,60}$/

function toAnnouncementPatch({ from, to, ...rest }: z.infer<typeof announcementPatch>): AnnouncementPatch {
  return { ...rest, from: parseTime(from), to: parseTime(to) }
}

export function announcementRoutes({ ctx: { db }, by }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const { data, next } = await listAnnouncements(db, { limit, cursor: decodeCursor(cursor, idCursor) })
    return c.json({ data: data.map(serializeAnnouncement), next: encodeCursor(next) }, 200)
  })
  app.openapi(create, async (c) => {
    return c.json(
      serializeAnnouncement(await createAnnouncement(db, toAnnouncementPatch(c.req.valid('json')), by)),
      201,
    )
  })
  app.openapi(update, async (c) => {
    const { id } = c.req.valid('param')
    return c.json(
      serializeAnnouncement(await updateAnnouncement(db, id, toAnnouncementPatch(c.req.valid('json')), by)),
      200,
    )
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await deleteAnnouncement(db, id, by)
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
