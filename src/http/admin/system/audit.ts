/** `/audit`: the audit log. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { listAudit } from '../../../db/audit.ts'
import { decodeCursor, encodeCursor, formatTime, parseTime } from '../../api/json-values.ts'
import type { AdminContext } from '../admin-context.ts'
import { pageFields } from '../../api/pagination.ts'
import { listResponse, time, timeQuery } from '../schemas.ts'

export const auditRecordSchema = z
  .object({
    id: z.string(),
    time,
    actor: z.string(),
    action: z.string(),
    object: z.string(),
    detail: z.record(z.string(), z.unknown()).meta({
      description:
        'Of a change: each changed field with its value `before` and `after`; of secrets, only that they changed. Older records may have other names and units.',
    }),
  })
  .openapi('AuditRecord')

const audit = createRoute({
  method: 'get',
  path: '/audit',
  summary: 'List audit records: who did what to which object, newest first',
  request: {
    query: z.strictObject({
      ...pageFields,
      object: z.string().optional(),
      actor: z.string().optional().meta({ description: 'As in the records, such as `admin-api`.' }),
      from: timeQuery.optional(),
      to: timeQuery.optional().meta({ description: 'Excluded.' }),
    }),
  },
  responses: listResponse(auditRecordSchema, 'A page of the audit log.'),
})

export function auditRoutes({ ctx: { db } }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(audit, async (c) => {
    const { limit, cursor, object, actor, ...span } = c.req.valid('query')
    const position = decodeCursor(cursor, /^\d{1,15}$/)
    const before = position === undefined ? undefined : Number(position)
    const [from, to] = [parseTime(span.from), parseTime(span.to)]
    const records = await listAudit(db, { limit: limit + 1, before, object, actor, from, to })
    const page = records.slice(0, limit)
    const last = records.length > limit ? page.at(-1) : undefined
    const data = page.map(({ id, at, ...rest }) => ({ id: String(id), time: formatTime(at), ...rest }))
    return c.json({ data, next: encodeCursor(last === undefined ? null : String(last.id)) }, 200)
  })
  return app
}
