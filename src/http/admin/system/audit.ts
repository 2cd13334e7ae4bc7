/** `/audit`: the audit log. */
import { z } from '@hono/zod-openapi'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import { listAudit, type AuditRecord } from '../../../db/audit.ts'
import { formatTime, parseTime } from '../../api/json-values.ts'
import { time, timeQuery } from '../schemas.ts'

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

const auditRecordView = view('audit record', auditRecordSchema, ({ id, at, ...rest }: AuditRecord) => ({
  id: String(id),
  time: formatTime(at),
  ...rest,
}))

export const auditEndpoints = [
  admin.page('/audit', {
    summary: 'List audit records: who did what to which object, newest first',
    item: auditRecordView,
    returns: 'A page of the audit log.',
    filters: {
      object: z.string().optional(),
      actor: z.string().optional().meta({ description: 'As in the records, such as `admin-api`.' }),
      from: timeQuery.optional(),
      to: timeQuery.optional().meta({ description: 'Excluded.' }),
    },
    cursor: /^\d{1,15}$/,
    csv: ['time', 'id', 'actor', 'action', 'object', 'detail'],
    async handle({ ctx, query: { object, actor, ...span }, page: { limit, cursor } }) {
      const before = cursor === undefined ? undefined : Number(cursor)
      const [from, to] = [parseTime(span.from), parseTime(span.to)]
      const records = await listAudit(ctx.db, { limit: limit + 1, before, object, actor, from, to })
      const data = records.slice(0, limit)
      const last = records.length > limit ? data.at(-1) : undefined
      return { data, next: last === undefined ? null : String(last.id) }
    },
  }),
]
