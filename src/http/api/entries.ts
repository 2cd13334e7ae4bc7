/** An entry of an account's ledger, as both APIs show it. */
import { z } from '@hono/zod-openapi'
import { formatAmount } from '../../lib/money.ts'
import type { Credit, Movement } from '../../usage/statement.ts'
import { money, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

export const entrySchema = z
  .object({
    id: z.string(),
    time,
    kind: z.string().meta({ description: '`charge` or `credit`.' }),
    amount: money.meta({ description: 'Negative for charges and debits.' }),
    balance: money.meta({ description: 'The balance after this entry.' }),
    reason: z.string().nullable(),
    source: z.string().nullable(),
    reference: z.string().nullable().meta({ description: 'The id of the request or the credit.' }),
  })
  .openapi('Entry')

/** An entry without its balance. */
export function serializeCredit({ id, at, kind, amountNanos, reason, source, reference }: Credit) {
  return {
    id: String(id),
    time: formatTime(at),
    kind,
    amount: formatAmount(amountNanos),
    reason,
    source,
    reference,
  }
}

export function serializeEntry({ balanceNanos, ...entry }: Movement): z.infer<typeof entrySchema> {
  return { ...serializeCredit(entry), balance: formatAmount(balanceNanos) }
}
