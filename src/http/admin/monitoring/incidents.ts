/** `/incidents`: opened and closed by the watch over the models, or by hand; with the posts that people read. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  createIncident,
  incidentById,
  listIncidents,
  updateIncident,
  type Incident,
  type IncidentPatch,
} from '../../../health/incidents.ts'
import { tellPost } from '../../incident-telling.ts'
import type { Desk } from '../desk.ts'
import {
  bodyOf,
  createdAnswer,
  idPath,
  listAnswer,
  msOf,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeIn,
  timeOf,
} from '../schemas.ts'

const status = z.enum(['investigating', 'identified', 'monitoring', 'resolved'])
const severity = z.enum(['minor', 'major', 'critical'])
const patchFields = {
  title: z.string().optional(),
  status: status.optional().meta({ description: '`resolved` closes it, anything else opens it again.' }),
  severity: severity.optional(),
  models: z
    .array(z.string())
    .optional()
    .meta({ description: 'Names of models; empty is the whole service.' }),
  public: z.boolean().optional().meta({ description: 'Shown on the status page and told to customers.' }),
  message: z.string().optional().meta({ description: 'A new post.' }),
}
const incidentPatch = z.strictObject(patchFields)
const incidentIn = z.strictObject({
  ...patchFields,
  title: z.string(),
  opened_at: timeIn.optional().meta({ description: 'When it began; default: now.' }),
})
export const incidentOut = z
  .object({
    id: z.string(),
    title: z.string(),
    status,
    severity,
    models: z.array(z.string()).readonly(),
    automatic: z.boolean().meta({ description: 'Opened, and to be closed, by the watch over its model.' }),
    public: z.boolean(),
    opened_at: time,
    closed_at: time.nullable(),
    updated_at: time,
    updates: z
      .array(z.object({ id: z.string(), at: time, status, message: z.string() }))
      .meta({ description: 'The posts, newest first.' }),
  })
  .openapi('Incident')

export function incidentView(incident: Incident): z.infer<typeof incidentOut> {
  return {
    id: incident.id,
    title: incident.title,
    status: incident.status,
    severity: incident.severity,
    models: incident.models,
    automatic: incident.watchedModel !== null,
    public: incident.isPublic,
    opened_at: timeOf(incident.openedAt),
    closed_at: timeOf(incident.closedAt),
    updated_at: timeOf(incident.updatedAt),
    updates: incident.posts.map((post) => ({
      id: post.id,
      at: timeOf(post.at),
      status: post.status,
      message: post.message,
    })),
  }
}

const create = createRoute({
  method: 'post',
  path: '/incidents',
  summary: 'Open an incident by hand',
  request: { body: bodyOf(incidentIn) },
  responses: createdAnswer(incidentOut, 'The incident.'),
})
const list = createRoute({
  method: 'get',
  path: '/incidents',
  summary: 'List incidents, the one opened last first',
  request: {
    query: z.strictObject({
      ...pageFields,
      open: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only those that are open, or closed.' }),
    }),
  },
  responses: listAnswer(incidentOut, 'A page of incidents.'),
})
const read = createRoute({
  method: 'get',
  path: '/incidents/{id}',
  summary: 'Read an incident',
  request: { params: idPath },
  responses: okAnswer(incidentOut, 'The incident.'),
})
const update = createRoute({
  method: 'patch',
  path: '/incidents/{id}',
  summary: 'Change the fields given, and tell it with `message`',
  request: { params: idPath, body: bodyOf(incidentPatch) },
  responses: okAnswer(incidentOut, 'The incident as it is now.'),
})

function patchOf({ public: isPublic, ...patch }: z.infer<typeof incidentPatch>): IncidentPatch {
  return { ...patch, isPublic }
}

/** `openedAt.id` of the last one shown. */
function placeOf(cursor: string | undefined): { openedAt: number; id: string } | undefined {
  const inner = openedCursor(cursor, /^\d+\.inc_[0-9a-z]+$/)
  if (inner === undefined) return undefined
  const [openedAt = '', id = ''] = inner.split('.')
  return { openedAt: Number(openedAt), id }
}

export function incidentRoutes(desk: Desk): OpenAPIHono {
  const { db } = desk.house
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { opened_at: openedAt, title, ...rest } = c.req.valid('json')
    const input = { ...patchOf(rest), title, openedAt: msOf(openedAt) }
    const incident = await createIncident(db, input, desk.by)
    if (rest.message !== undefined) await tellPost(db, incident)
    return c.json(incidentView(incident), 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor, open } = c.req.valid('query')
    const isOpen = open === undefined ? undefined : open === 'true'
    const found = await listIncidents(db, { isOpen, limit: limit + 1, below: placeOf(cursor) })
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const next = found.length > limit && last !== undefined ? `${last.openedAt}.${last.id}` : null
    return c.json({ data: shown.map(incidentView), next: sealedCursor(next) }, 200)
  })
  app.openapi(read, async (c) => c.json(incidentView(await incidentById(db, c.req.valid('param').id)), 200))
  app.openapi(update, async (c) => {
    const patch = patchOf(c.req.valid('json'))
    const incident = await updateIncident(db, c.req.valid('param').id, patch, desk.by)
    if (patch.message !== undefined) await tellPost(db, incident)
    return c.json(incidentView(incident), 200)
  })
  return app
}
