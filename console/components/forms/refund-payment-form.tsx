/** Requests a refund of a payment, or makes one as an operator: the amount that can go back, and a reason. */
import { TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { mutateAccount } from '../../api/account-queries.ts'
import { get } from '../../api/client.ts'
import type { PaymentRefund } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { showToast } from '../feedback/toast.tsx'
import { formatMoney } from '../format.ts'
import { AmountField, Form, useDraft } from './fields.tsx'
import { useAction, useFieldError } from './use-action.ts'

interface Refundable {
  readonly amount: string
  readonly currency: string
}

function refundableQuery(order: string) {
  return queryOptions({
    queryKey: ['account', 'refundable', order],
    queryFn: () => get<Refundable>(`/console/billing/orders/${encodeURIComponent(order)}/refundable`),
    staleTime: 0,
  })
}

interface RefundPaymentFormProps {
  readonly order: string
  readonly close: () => void
}

export function RefundPaymentForm({ order, close }: RefundPaymentFormProps) {
  return (
    <QueryBoundary options={refundableQuery(order)}>
      {(refundable) => <Fields order={order} refundable={refundable} close={close} />}
    </QueryBoundary>
  )
}

function Fields({ order, refundable, close }: RefundPaymentFormProps & { readonly refundable: Refundable }) {
  const t = useMessages('payments')
  const { draft, field } = useDraft({ amount: refundable.amount, reason: '' })
  const send = useAction(async () => {
    const path = `/billing/orders/${encodeURIComponent(order)}/refunds`
    const body = { amount: draft.amount.trim(), reason: draft.reason.trim() }
    await mutateAccount<PaymentRefund>('POST', path, body)
    showToast(t.refundRequested)
    close()
  })
  const fieldError = useFieldError(send.error)
  return (
    <Form action={send} submitLabel={t.requestRefund} cancel={close} inlineErrors={['amount', 'reason']}>
      <p>{t.refundLead(formatMoney(refundable.amount, refundable.currency))}</p>
      <AmountField label={t.refundAmount} required error={fieldError('amount')} {...field('amount')} />
      <TextInput
        label={t.refundReason}
        required
        maxLength={500}
        error={fieldError('reason')}
        {...field('reason')}
      />
    </Form>
  )
}
