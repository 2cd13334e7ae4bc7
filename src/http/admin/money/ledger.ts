/** `/ledger/verify`: verification of the ledger. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
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
    handle: async ({ ctx }) => {
      const { drift, overrun, ...report } = await ctx.verify()
      return jsonFields({ ...report, driftNanos: drift, overrunNanos: overrun })
    },
  }),
]
