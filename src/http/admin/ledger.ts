/** `/ledger/verify` and `/audit`: whether the money adds up, and who did what. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { listAudit } from '../../db/audit.ts'
import { decimalOf } from '../../lib/money.ts'
import type { Desk } from './desk.ts'
import {
  listAnswer,
  money,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeOf,
} from './schemas.ts'

export const verdictOut = z
  .object({
    ok: z.boolean(),
    entries: z.int(),
    drift: money.meta({ description: 'The sum of all differences found.' }),
    open_holds: z.int(),
    overrun: money.meta({ description: 'Delivered, and not to be had.' }),
    findings: z.array(z.string()).readonly(),
  })
  .openapi('LedgerVerdict')
export const auditOut = z
  .object({
    id: z.string(),
    time,
    actor: z.string(),
    action: z.string(),
    object: z.string(),
    detail: z.record(z.string(), z.unknown()),
  })
  .openapi('AuditRecord')

const verify = createRoute({
  method: 'get',
  path: '/ledger/verify',
  summary: 'Recompute the ledger from its journal and compare everything with it',
  responses: okAnswer(verdictOut, 'What was found.'),
})
const audit = createRoute({
  method: 'get',
  path: '/audit',
  summary: 'Who did what to which object, newest first',
  request: { query: z.strictObject({ ...pageFields, object: z.string().optional() }) },
  responses: listAnswer(auditOut, 'A page of the audit log.'),
})

export function ledgerRoutes({ house }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(verify, async (c) => {
    const { ok, entries, drift, openHolds, overrun, findings } = await house.verify()
    const body = {
      ok,
      entries,
      drift: decimalOf(drift),
      open_holds: openHolds,
      overrun: decimalOf(overrun),
      findings,
    }
    return c.json(body, 200)
  })
  app.openapi(audit, async (c) => {
    const { limit, cursor, object } = c.req.valid('query')
    const opened = openedCursor(cursor, /^\d{1,15}$/)
    const before = opened === undefined ? undefined : Number(opened)
    const records = await listAudit(house.db, { limit: limit + 1, before, object })
    const shown = records.slice(0, limit)
    const last = records.length > limit ? shown.at(-1) : undefined
    const data = shown.map(({ id, at, ...rest }) => ({ id: String(id), time: timeOf(at), ...rest }))
    return c.json({ data, next: sealedCursor(last === undefined ? null : String(last.id)) }, 200)
  })
  return app
}
