/** What a request cost is given back, all of it or a part, with a reason; however often it is sent, it is entered once. */
import { TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { change } from '../admin.ts'
import { get } from '../api.ts'
import type { Refund, RequestWithBill } from '../contract.ts'
import { useWords } from '../language.ts'
import { useAction, useFieldError } from './action.ts'
import { AmountField, Form, isDecimal, useDraft } from './fields.tsx'
import { decimalOf, moneyText, nanosOf } from './format.ts'
import { Asked } from './loaded.tsx'
import { useCurrency } from './shown.tsx'
import { say } from './toast.tsx'

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
  const { draft, field } = useDraft({ amount: left, reason: '' })
  // The same form sent twice is one refund.
  const [key] = useState(() => `console-${crypto.randomUUID()}`)
  const give = useAction(async () => {
    const body = { amount: draft.amount.trim(), reason: draft.reason.trim(), idempotency_key: key }
    const { balance } = await change<Refund>('POST', `/requests/${request.request_id}/refund`, body)
    say(`${words.done} ${words.balance(moneyText(balance, currency))}`)
    close()
  })
  const errorOf = useFieldError(give.error)
  const isReady = isDecimal(draft.amount) && Number(draft.amount) > 0
  if (nanosOf(left) <= 0n) return <p>{words.all}</p>
  return (
    <Form
      action={give}
      verb={words.give}
      cancel={close}
      beside={['amount', 'reason']}
      isIncomplete={!isReady || draft.reason.trim() === ''}
    >
      <AmountField
        label={words.amount}
        description={words.amountHint(moneyText(left, currency))}
        required
        error={errorOf('amount')}
        {...field('amount')}
      />
      <TextInput
        label={words.reason}
        description={words.reasonHint}
        required
        maxLength={500}
        autoComplete="off"
        error={errorOf('reason')}
        {...field('reason')}
      />
    </Form>
  )
}
