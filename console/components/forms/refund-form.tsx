/** Refunds the cost of a request, in full or in part, with a reason. */
import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../../api/client.ts'
import type { Refund, RequestWithBill } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { fromNanos, formatMoney, toNanos } from '../format.ts'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { AmountForm } from './amount-form.tsx'
import { useCurrency } from '../tables/format-cells.tsx'
import { showToast } from '../feedback/toast.tsx'

export function requestQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'request', id],
    queryFn: () => get<RequestWithBill>(`/admin/requests/${encodeURIComponent(id)}`),
  })
}

/** The part of the cost that is not refunded yet, in nanos. */
export function refundableNanos({ cost, refunded }: RequestWithBill): bigint {
  return toNanos(cost) - toNanos(refunded)
}

export interface RefundFormProps {
  readonly requestId: string
  readonly close: () => void
}

export function RefundForm({ requestId, close }: RefundFormProps) {
  return (
    <QueryBoundary options={requestQuery(requestId)}>
      {(request) => <RefundFields request={request} close={close} />}
    </QueryBoundary>
  )
}

function RefundFields({ request, close }: { readonly request: RequestWithBill; readonly close: () => void }) {
  const t = useMessages('customers').refund
  const { sentenceGap } = useMessages('shell')
  const currency = useCurrency()
  const [remaining] = useState(() => fromNanos(refundableNanos(request)))
  if (toNanos(remaining) <= 0n) return <p>{t.nothingLeft}</p>
  return (
    <AmountForm<Refund>
      path={`/requests/${request.request_id}/refund`}
      amount={remaining}
      isValidAmount={(amount) => amount > 0}
      labels={{ ...t, amountHint: t.amountHint(formatMoney(remaining, currency)) }}
      submitLabelFor={() => t.submit}
      onSuccess={({ balance }) =>
        showToast([t.done, t.balance(formatMoney(balance, currency))].join(sentenceGap))
      }
      close={close}
    />
  )
}
