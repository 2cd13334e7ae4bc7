/** `/orders/{id}/receipt`: receipts of paid orders, also as PDF. */
import { z } from '@hono/zod-openapi'
import { notFound } from '../../../errors.ts'
import { orderById } from '../../../payments/payment-orders.ts'
import { readReceipt, receiptQuery, receiptSchema, type Receipt } from '../../api/receipts.ts'
import type { AppContext } from '../../app-context.ts'
import { receiptPdf } from '../../pdf/receipt-pdf.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { admin } from '../admin-context.ts'

async function readReceiptOf(ctx: AppContext, id: string): Promise<Receipt> {
  const order = await orderById(ctx.db, id)
  if (order === undefined) throw notFound('Order')
  return readReceipt(ctx, order, await requireAccount(ctx.db, order.accountId))
}

export const receiptEndpoints = [
  admin.get('/orders/{id}/receipt', {
    summary: 'Get the receipt of a paid order',
    response: receiptSchema,
    returns: 'The receipt.',
    handle: ({ ctx, params }) => readReceiptOf(ctx, params.id),
  }),
  admin.get('/orders/{id}/receipt.pdf', {
    summary: 'Download the receipt of a paid order as PDF',
    query: receiptQuery,
    response: z.string(),
    returns: 'The file.',
    mediaType: 'application/pdf',
    handle: async ({ ctx, params, query }) =>
      receiptPdf(await readReceiptOf(ctx, params.id), ctx, query.language),
  }),
]
