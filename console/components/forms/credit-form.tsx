/** Adds credit to an account or deducts it, with a reason. */
import type { Account } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { fromNanos, toNanos } from '../format.ts'
import { AmountForm } from './amount-form.tsx'
import { Money } from '../tables/format-cells.tsx'
import { showToast } from '../feedback/toast.tsx'

interface Credit {
  readonly amount: string
}

export interface CreditFormProps {
  readonly account: Account
  readonly close: () => void
}

export function CreditForm({ account, close }: CreditFormProps) {
  const t = useMessages('customers').credit
  return (
    <AmountForm<Credit>
      path={`/accounts/${account.id}/credits`}
      isValidAmount={(amount) => amount !== 0}
      labels={t}
      submitLabelFor={(amount) => (amount.startsWith('-') ? t.deduct : t.add)}
      onSuccess={({ amount }) => showToast(amount.startsWith('-') ? t.deducted : t.added)}
      close={close}
    >
      {(amount) => (
        <p>
          {t.balance} <Money amount={account.balance} /> →{' '}
          <Money amount={fromNanos(toNanos(account.balance) + toNanos(amount))} />
        </p>
      )}
    </AmountForm>
  )
}
