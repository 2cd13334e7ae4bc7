/** Cells of orders and refunds. */
import type { PaymentOrder, PaymentRefund } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatMoney } from '../format.ts'
import { StatusLabel, type Tone } from './format-cells.tsx'

const orderTones: Readonly<Record<PaymentOrder['state'], Tone>> = {
  created: 'neutral',
  pending: 'warning',
  paid: 'success',
  expired: 'neutral',
  failed: 'danger',
  canceled: 'neutral',
}

const refundTones: Readonly<Record<PaymentRefund['state'], Tone>> = {
  requested: 'warning',
  debited: 'info',
  sent: 'info',
  done: 'success',
  failed: 'danger',
  refused: 'neutral',
  unknown: 'warning',
}

export function OrderState({ order }: { readonly order: Pick<PaymentOrder, 'state'> }) {
  const t = useMessages('payments')
  return <StatusLabel tone={orderTones[order.state]}>{t.orderStates[order.state]}</StatusLabel>
}

type RefundStateProps = Pick<PaymentRefund, 'state' | 'problem' | 'credit_note_first'>

/** With what is wrong, if anything is: a text of the relay or the provider, in English. */
export function RefundState({ refund }: { readonly refund: RefundStateProps }) {
  const t = useMessages('payments')
  const { creditNoteFirst } = useMessages('invoices').operator
  return (
    <>
      <StatusLabel tone={refundTones[refund.state]}>{t.refundStates[refund.state]}</StatusLabel>
      {refund.problem !== null && <small lang="en">{refund.problem}</small>}
      {refund.credit_note_first && <small>{creditNoteFirst}</small>}
    </>
  )
}

/** An amount in a currency other than the platform's. */
export function PaidAmount({ amount, currency }: Pick<PaymentOrder, 'amount' | 'currency'>) {
  return <span className="num">{formatMoney(amount, currency)}</span>
}
