/** `/ledger/verify`: verification of the ledger. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { formatAmount } from '../../../lib/money.ts'
import type { AdminContext } from '../admin-context.ts'
import { money, okResponse } from '../schemas.ts'

export const ledgerReportSchema = z
  .object({
    ok: z.boolean(),
    entries: z.int(),
    drift: money.meta({ description: 'The sum of all differences.' }),
    open_holds: z.int(),
    overrun: money.meta({ description: 'Delivered, but not covered by the balance.' }),
    findings: z.array(z.string()).readonly(),
  })
  .openapi('LedgerVerdict')
const verify = createRoute({
  method: 'get',
  path: '/ledger/verify',
  summary: 'Recompute the ledger from its journal and compare it with the stored state',
  responses: okResponse(ledgerReportSchema, 'The report.'),
})
export function ledgerRoutes({ ctx }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(verify, async (c) => {
    const { ok, entries, drift, openHolds, overrun, findings } = await ctx.verify()
    const body = {
      ok,
      entries,
      drift: formatAmount(drift),
      open_holds: openHolds,
      overrun: formatAmount(overrun),
      findings,
    }
    return c.json(body, 200)
  })
  return app
}
