/** What a customer is notified of about a refund: that it was made, refused by an operator, or rejected by the provider. */
import type { Statement } from '../../db/statement.ts'
import { formatMinor } from '../../lib/currency.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import type { Refund } from '../../payments/payment-refunds.ts'

type Notified = Pick<Refund, 'id' | 'orderId' | 'accountId' | 'amountMinor'>

/** A statement for the batch that changes the refund's state. `reason`: of an operator's refusal. */
export function refundNotification(
  { id, orderId: order, accountId: audience, amountMinor }: Notified,
  currency: string,
  state: 'done' | 'refused' | 'failed',
  reason = '',
): Statement {
  return insertNotification({
    audience,
    kind: 'payment',
    severity: state === 'done' ? 'info' : 'warning',
    subject: `refund:${id}`,
    period: state,
    code: `refund_${state}`,
    params: { order, amount: formatMinor(amountMinor, currency), currency, reason },
  })
}
