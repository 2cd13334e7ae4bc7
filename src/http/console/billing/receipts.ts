/** Receipts of an account's own payments. */
import { z } from 'zod'
import { readReceipt, receiptQuery, receiptSchema, type Receipt } from '../../api/receipts.ts'
import { receiptPdf } from '../../pdf/receipt-pdf.ts'
import { customer, type ConsoleContext } from '../context.ts'
import { requireOwnOrder } from './payment-orders.ts'

const readOwnReceipt = async (context: ConsoleContext, id: string): Promise<Receipt> =>
  readReceipt(context.ctx, await requireOwnOrder(context, id), context.account)

export const receiptEndpoints = {
  receipt: customer.get('/billing/orders/{id}/receipt', {
    response: receiptSchema,
    handle: (context) => readOwnReceipt(context, context.params.id),
  }),
  receiptPdf: customer.get('/billing/orders/{id}/receipt.pdf', {
    query: receiptQuery,
    response: z.string(),
    handle: async (context) =>
      receiptPdf(await readOwnReceipt(context, context.params.id), context.ctx, context.query.language),
  }),
}
