/** Money for an account, or taken back from it, with a reason; however often it is sent, it is entered once. */
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { change } from '../admin.ts'
import type { Account } from '../contract.ts'
import { useWords } from '../language.ts'
import { useAction, useFieldError } from './action.ts'
import { AmountField, Form, isDecimal, useDraft } from './fields.tsx'
import { decimalOf, nanosOf } from './format.ts'
import { Money } from './shown.tsx'
import { say } from './toast.tsx'

export interface CreditFormProps {
  readonly account: Account
  readonly close: () => void
}

export function CreditForm({ account, close }: CreditFormProps) {
  const words = useWords('clients').credit
  const { draft, field } = useDraft({ amount: '', reason: '' })
  // The same form sent twice is one credit.
  const [key] = useState(() => `console-${crypto.randomUUID()}`)
  const give = useAction(async () => {
    const body = { amount: draft.amount.trim(), reason: draft.reason.trim(), idempotency_key: key }
    await change('POST', `/accounts/${account.id}/credits`, body)
    say(words.done)
    close()
  })
  const errorOf = useFieldError(give.error)
  const isReady = isDecimal(draft.amount) && Number(draft.amount) !== 0
  const isTaking = draft.amount.trim().startsWith('-')
  return (
    <Form
      action={give}
      verb={isTaking ? words.take : words.give}
      cancel={close}
      beside={['amount', 'reason']}
      isIncomplete={!isReady || draft.reason.trim() === ''}
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
      {isReady && (
        <p>
          {words.balance} <Money amount={account.balance} /> →{' '}
          <Money amount={decimalOf(nanosOf(account.balance) + nanosOf(draft.amount.trim()))} />
        </p>
      )}
    </Form>
  )
}
