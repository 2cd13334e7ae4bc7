/** `/incidents`: incidents with their posts, opened and closed by the incident monitor or by operators. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
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
import { time, timeInput } from '../schemas.ts'
import { parseTime, formatTime } from '../../api/json-values.ts'

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

const incidentView = view('incident', incidentSchema, (incident: Incident) => ({
  ...jsonFields(incident),
  automatic: incident.watchedModel !== null,
  updates: incident.posts.map((post) => ({ ...post, at: formatTime(post.at) })),
}))

function toIncidentPatch({ public: isPublic, ...patch }: z.infer<typeof incidentPatch>): IncidentPatch {
  return { ...patch, isPublic }
}

/** Parses a cursor: `openedAt.id` of the last incident returned. */
function parsePosition(cursor: string | undefined): { openedAt: number; id: string } | undefined {
  if (cursor === undefined) return undefined
  const [openedAt = '', id = ''] = cursor.split('.')
  return { openedAt: Number(openedAt), id }
}

export const incidentEndpoints = [
  admin.create('/incidents', {
    summary: 'Create an incident',
    body: incidentInput,
    response: incidentView,
    async handle({ ctx: { db }, by, body: { opened_at: openedAt, title, ...rest } }) {
      const input = { ...toIncidentPatch(rest), title, openedAt: parseTime(openedAt) }
      const incident = await createIncident(db, input, by)
      if (rest.message !== undefined) await notifyIncidentPost(db, incident)
      return incident
    },
  }),
  admin.page('/incidents', {
    summary: 'List incidents, most recently opened first',
    item: incidentView,
    filters: {
      open: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only open (true) or closed (false) incidents.' }),
    },
    cursor: /^\d+\.inc_[0-9a-z]+$/,
    csv: [
      'id',
      'title',
      'status',
      'severity',
      'models',
      'automatic',
      'public',
      'opened_at',
      'closed_at',
      'updated_at',
      { name: 'latest_message', valueOf: ({ updates }) => updates[0]?.message },
    ],
    async handle({ ctx, query: { open }, page: { limit, cursor } }) {
      const isOpen = open === undefined ? undefined : open === 'true'
      const before = parsePosition(cursor)
      const incidents = await listIncidents(ctx.db, { isOpen, limit: limit + 1, before })
      const shown = incidents.slice(0, limit)
      const last = shown.at(-1)
      const next = incidents.length > limit && last !== undefined ? `${last.openedAt}.${last.id}` : null
      const outage = cursor === undefined && isOpen !== false ? ctx.admissionOutage() : null
      return { data: withOutageIncident(shown, outage, Date.now()), next }
    },
  }),
  admin.get('/incidents/{id}', {
    summary: 'Get an incident',
    response: incidentView,
    handle: ({ ctx, params }) => incidentById(ctx.db, params.id),
  }),
  admin.patch('/incidents/{id}', {
    summary: 'Update an incident; `message` adds a post',
    body: incidentPatch,
    response: incidentView,
    async handle({ ctx: { db }, by, params, body }) {
      const incident = await updateIncident(db, params.id, toIncidentPatch(body), by)
      if (body.message !== undefined) await notifyIncidentPost(db, incident)
      return incident
    },
  }),
]
