/** `/ledger/verify`: verification of the ledger. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { formatAmount } from '../../../lib/money.ts'
import { money } from '../schemas.ts'

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
export const ledgerEndpoints = [
  admin.get('/ledger/verify', {
    summary: 'Recompute the ledger from its journal and compare it with the stored state',
    response: ledgerReportSchema,
    returns: 'The report.',
    async handle({ ctx }) {
      const { ok, entries, drift, openHolds, overrun, findings } = await ctx.verify()
      return {
        ok,
        entries,
        drift: formatAmount(drift),
        open_holds: openHolds,
        overrun: formatAmount(overrun),
        findings,
      }
    },
  }),
]
