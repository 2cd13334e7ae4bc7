/** Money for an account, or taken back from it, with a reason. */
import type { Account } from '../contract.ts'
import { useWords } from '../language.ts'
import { decimalOf, nanosOf } from '../components/format.ts'
import { OrderForm } from '../components/forms/amount-form.tsx'
import { Money } from '../components/tables/format-cells.tsx'
import { say } from '../components/feedback/toast.tsx'

export interface CreditFormProps {
  readonly account: Account
  readonly close: () => void
}

export function CreditForm({ account, close }: CreditFormProps) {
  const words = useWords('clients').credit
  return (
    <OrderForm
      path={`/accounts/${account.id}/credits`}
      mayBe={(amount) => amount !== 0}
      words={words}
      verbFor={(amount) => (amount.startsWith('-') ? words.take : words.give)}
      done={() => say(words.done)}
      close={close}
    >
      {(amount) => (
        <p>
          {words.balance} <Money amount={account.balance} /> →{' '}
          <Money amount={decimalOf(nanosOf(account.balance) + nanosOf(amount))} />
        </p>
      )}
    </OrderForm>
  )
}
