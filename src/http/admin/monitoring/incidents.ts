/** `/incidents`: incidents with their posts, opened and closed by the incident monitor or by operators. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { withOutageIncident } from '../../../health/automatic-incidents.ts'
import {
  createIncident,
  incidentById,
  listIncidents,
  updateIncident,
  type Incident,
  type IncidentPatch,
} from '../../../health/incidents.ts'
import { notifyIncidentPost } from '../../../notifications/incident-notifications.ts'
import type { AdminContext } from '../admin-context.ts'
import { jsonBody, createdResponse, idParams, listResponse, okResponse, time, timeInput } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, parseTime, formatTime } from '../../api/json-values.ts'

const status = z.enum(['investigating', 'identified', 'monitoring', 'resolved'])
const severity = z.enum(['minor', 'major', 'critical'])
const patchFields = {
  title: z.string().optional(),
  status: status
    .optional()
    .meta({ description: '`resolved` closes the incident; any other status reopens it.' }),
  severity: severity.optional(),
  models: z
    .array(z.string())
    .optional()
    .meta({ description: 'The affected models; empty: the whole service.' }),
  public: z
    .boolean()
    .optional()
    .meta({ description: 'Whether it is shown on the status page and customers are notified.' }),
  message: z.string().optional().meta({ description: 'The text of a new post.' }),
}
const incidentPatch = z.strictObject(patchFields)
const incidentInput = z.strictObject({
  ...patchFields,
  title: z.string(),
  opened_at: timeInput.optional().meta({ description: 'Default: now.' }),
})
export const incidentSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    status,
    severity,
    models: z.array(z.string()).readonly(),
    automatic: z.boolean().meta({ description: 'Opened, and closed later, by the incident monitor.' }),
    public: z.boolean(),
    opened_at: time,
    closed_at: time.nullable(),
    updated_at: time,
    updates: z
      .array(z.object({ id: z.string(), at: time, status, message: z.string() }))
      .meta({ description: 'The posts, newest first.' }),
  })
  .openapi('Incident')

export function serializeIncident(incident: Incident): z.infer<typeof incidentSchema> {
  return {
    id: incident.id,
    title: incident.title,
    status: incident.status,
    severity: incident.severity,
    models: incident.models,
    automatic: incident.watchedModel !== null,
    public: incident.isPublic,
    opened_at: formatTime(incident.openedAt),
    closed_at: formatTime(incident.closedAt),
    updated_at: formatTime(incident.updatedAt),
    updates: incident.posts.map((post) => ({
      id: post.id,
      at: formatTime(post.at),
      status: post.status,
      message: post.message,
    })),
  }
}

const create = createRoute({
  method: 'post',
  path: '/incidents',
  summary: 'Create an incident',
  request: { body: jsonBody(incidentInput) },
  responses: createdResponse(incidentSchema, 'The incident.'),
})
const list = createRoute({
  method: 'get',
  path: '/incidents',
  summary: 'List incidents, most recently opened first',
  request: {
    query: z.strictObject({
      ...pageFields,
      open: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only open (true) or closed (false) incidents.' }),
    }),
  },
  responses: listResponse(incidentSchema, 'A page of incidents.'),
})
const read = createRoute({
  method: 'get',
  path: '/incidents/{id}',
  summary: 'Get an incident',
  request: { params: idParams },
  responses: okResponse(incidentSchema, 'The incident.'),
})
const update = createRoute({
  method: 'patch',
  path: '/incidents/{id}',
  summary: 'Update an incident; `message` adds a post',
  request: { params: idParams, body: jsonBody(incidentPatch) },
  responses: okResponse(incidentSchema, 'The updated incident.'),
})

function toIncidentPatch({ public: isPublic, ...patch }: z.infer<typeof incidentPatch>): IncidentPatch {
  return { ...patch, isPublic }
}

/** Decodes a cursor: `openedAt.id` of the last incident returned. */
function decodePosition(cursor: string | undefined): { openedAt: number; id: string } | undefined {
  const position = decodeCursor(cursor, /^\d+\.inc_[0-9a-z]+$/)
  if (position === undefined) return undefined
  const [openedAt = '', id = ''] = position.split('.')
  return { openedAt: Number(openedAt), id }
}

export function incidentRoutes(admin: AdminContext): OpenAPIHono {
  const { db } = admin.ctx
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { opened_at: openedAt, title, ...rest } = c.req.valid('json')
    const input = { ...toIncidentPatch(rest), title, openedAt: parseTime(openedAt) }
    const incident = await createIncident(db, input, admin.by)
    if (rest.message !== undefined) await notifyIncidentPost(db, incident)
    return c.json(serializeIncident(incident), 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor, open } = c.req.valid('query')
    const isOpen = open === undefined ? undefined : open === 'true'
    const incidents = await listIncidents(db, { isOpen, limit: limit + 1, before: decodePosition(cursor) })
    const page = incidents.slice(0, limit)
    const last = page.at(-1)
    const next = incidents.length > limit && last !== undefined ? `${last.openedAt}.${last.id}` : null
    const outage = cursor === undefined && isOpen !== false ? admin.ctx.admissionOutage() : null
    const shown = withOutageIncident(page, outage, Date.now())
    return c.json({ data: shown.map(serializeIncident), next: encodeCursor(next) }, 200)
  })
  app.openapi(read, async (c) =>
    c.json(serializeIncident(await incidentById(db, c.req.valid('param').id)), 200),
  )
  app.openapi(update, async (c) => {
    const patch = toIncidentPatch(c.req.valid('json'))
    const incident = await updateIncident(db, c.req.valid('param').id, patch, admin.by)
    if (patch.message !== undefined) await notifyIncidentPost(db, incident)
    return c.json(serializeIncident(incident), 200)
  })
  return app
}
