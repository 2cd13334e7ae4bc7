/** The form of an amount with a reason, idempotent on retry; shared by credits and refunds. */
import { TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { ConfirmIdentity } from './confirm-identity.tsx'
import { useAction, useFieldError } from './use-action.ts'
import { AmountField, Form, useDraft } from './fields.tsx'
import { isDecimal } from './field-values.ts'

export interface AmountFormProps<Data> {
  /** The endpoint, relative to /admin. */
  readonly path: string
  /** The initial amount. */
  readonly amount?: string
  readonly isValidAmount: (amount: number) => boolean
  readonly labels: Readonly<Record<'amount' | 'amountHint' | 'reason' | 'reasonHint', string>>
  readonly submitLabelFor: (amount: string) => string
  readonly onSuccess: (data: Data) => void
  readonly close: () => void
  /** A preview of the effect, shown while the amount is valid. */
  readonly children?: (amount: string) => ReactNode
}

export function AmountForm<Data>(props: AmountFormProps<Data>) {
  const {
    path,
    amount: initialAmount = '',
    isValidAmount,
    labels,
    submitLabelFor,
    onSuccess,
    close,
    children,
  } = props
  const { draft, field } = useDraft({ amount: initialAmount, reason: '' })
  // Submitting the same form twice books the amount once.
  const [idempotencyKey] = useState(() => `console-${crypto.randomUUID()}`)
  const amount = draft.amount.trim()
  const reason = draft.reason.trim()
  const submit = useAction(async () => {
    onSuccess(await mutateAdmin<Data>('POST', path, { amount, reason, idempotency_key: idempotencyKey }))
    close()
  })
  const fieldError = useFieldError(submit.error)
  if (submit.error?.code === 'password_required')
    return <ConfirmIdentity onConfirmed={() => void submit.run()} cancel={submit.reset} />
  const isReady = isDecimal(amount) && isValidAmount(Number(amount))
  return (
    <Form
      action={submit}
      submitLabel={submitLabelFor(amount)}
      cancel={close}
      inlineErrors={['amount', 'reason']}
      isIncomplete={!isReady || reason === ''}
    >
      <AmountField
        label={labels.amount}
        description={labels.amountHint}
        required
        error={fieldError('amount')}
        {...field('amount')}
      />
      <TextInput
        label={labels.reason}
        description={labels.reasonHint}
        required
        maxLength={500}
        autoComplete="off"
        error={fieldError('reason')}
        {...field('reason')}
      />
      {isReady && children?.(amount)}
    </Form>
  )
}
