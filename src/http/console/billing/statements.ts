/** An account's own monthly statements: as JSON, as lines for a spreadsheet, and as PDF. */
import { z } from 'zod'
import { dateOf, monthEndOf } from '../../../ledger/periods.ts'
import { firstMovementAt } from '../../../usage/statement.ts'
import { language } from '../../api/json-schemas.ts'
import { monthStartOf } from '../../api/time-buckets.ts'
import { currencyColumn } from '../../csv-export.ts'
import { customer } from '../context.ts'
import { readStatement, statementLineSchema, statementLines, statementSchema } from './read-statement.ts'
import { statementPdf } from './statement-pdf.ts'

export const statementEndpoints = {
  /** The months with a statement, newest first. */
  statements: customer.get('/billing/statements', {
    response: z.object({ data: z.array(z.string()) }),
    handle: async ({ ctx, account: { id, timezone } }) => {
      const first = await firstMovementAt(ctx.db, id)
      const data: string[] = []
      if (first === null) return { data }
      for (let at = monthStartOf(timezone, first); at <= Date.now(); at = monthEndOf(timezone, at))
        data.unshift(dateOf(timezone, at).slice(0, 7))
      return { data }
    },
  }),
  statement: customer.get('/billing/statements/{month}', {
    response: statementSchema,
    handle: ({ ctx, account, params }) => readStatement(ctx, account, params.month),
  }),
  statementLines: customer.get('/billing/statements/{month}/lines', {
    response: z.object({ data: z.array(statementLineSchema) }),
    csv: ['day', 'kind', 'description', 'amount', currencyColumn],
    handle: async ({ ctx, account, params }) => ({
      data: statementLines(await readStatement(ctx, account, params.month)),
    }),
  }),
  statementPdf: customer.get('/billing/statements/{month}/statement.pdf', {
    query: { language: language.default('en') },
    response: z.string(),
    handle: async ({ ctx, account, params, query }) =>
      statementPdf(await readStatement(ctx, account, params.month), ctx, query.language),
  }),
}
