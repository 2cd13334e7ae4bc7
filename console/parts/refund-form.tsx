/** What a request cost is given back, all of it or a part, with a reason. */
import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../api/client.ts'
import type { Refund, RequestWithBill } from '../contract.ts'
import { useWords } from '../language.ts'
import { decimalOf, moneyText, nanosOf } from '../components/format.ts'
import { Asked } from '../components/feedback/query-boundary.tsx'
import { OrderForm } from '../components/forms/amount-form.tsx'
import { useCurrency } from '../components/tables/format-cells.tsx'
import { say } from '../components/feedback/toast.tsx'

export function requestQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'request', id],
    queryFn: () => get<RequestWithBill>(`/admin/requests/${encodeURIComponent(id)}`),
  })
}

/** What of its cost has not been given back, in nanos. */
export function refundableNanos({ cost, refunded }: RequestWithBill): bigint {
  return nanosOf(cost) - nanosOf(refunded)
}

export interface RefundProps {
  readonly requestId: string
  readonly close: () => void
}

export function RefundForm({ requestId, close }: RefundProps) {
  return (
    <Asked options={requestQuery(requestId)}>{(request) => <Fields request={request} close={close} />}</Asked>
  )
}

function Fields({ request, close }: { readonly request: RequestWithBill; readonly close: () => void }) {
  const words = useWords('clients').refund
  const currency = useCurrency()
  const [left] = useState(() => decimalOf(refundableNanos(request)))
  if (nanosOf(left) <= 0n) return <p>{words.all}</p>
  return (
    <OrderForm<Refund>
      path={`/requests/${request.request_id}/refund`}
      amount={left}
      mayBe={(amount) => amount > 0}
      words={{ ...words, amountHint: words.amountHint(moneyText(left, currency)) }}
      verbFor={() => words.give}
      done={({ balance }) => say(`${words.done} ${words.balance(moneyText(balance, currency))}`)}
      close={close}
    />
  )
}
