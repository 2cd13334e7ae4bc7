/** An amount and the reason for it, entered once however often it is sent: what a credit and a refund have in common. */
import { TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { change } from '../../api/admin-queries.ts'
import { useAction, useFieldError } from './use-action.ts'
import { AmountField, Form, isDecimal, useDraft } from './fields.tsx'

export interface OrderFormProps<Answer> {
  /** Where it is sent, below /admin. */
  readonly path: string
  /** The amount that is proposed. */
  readonly amount?: string
  readonly mayBe: (amount: number) => boolean
  readonly words: Readonly<Record<'amount' | 'amountHint' | 'reason' | 'reasonHint', string>>
  readonly verbFor: (amount: string) => string
  readonly done: (answer: Answer) => void
  readonly close: () => void
  /** What it would do, shown while the amount is one. */
  readonly children?: (amount: string) => ReactNode
}

export function OrderForm<Answer>(props: OrderFormProps<Answer>) {
  const { path, amount: proposed = '', mayBe, words, verbFor, done, close, children } = props
  const { draft, field } = useDraft({ amount: proposed, reason: '' })
  // The same form sent twice is one order.
  const [key] = useState(() => `console-${crypto.randomUUID()}`)
  const amount = draft.amount.trim()
  const reason = draft.reason.trim()
  const give = useAction(async () => {
    done(await change<Answer>('POST', path, { amount, reason, idempotency_key: key }))
    close()
  })
  const errorOf = useFieldError(give.error)
  const isReady = isDecimal(amount) && mayBe(Number(amount))
  return (
    <Form
      action={give}
      verb={verbFor(amount)}
      cancel={close}
      beside={['amount', 'reason']}
      isIncomplete={!isReady || reason === ''}
    >
      <AmountField
        label={words.amount}
        description={words.amountHint}
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
      {isReady && children?.(amount)}
    </Form>
  )
}
