/** Sets the rate of a currency into the platform's, from a time on. */
import { TextInput } from '@mantine/core'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { showToast } from '../feedback/toast.tsx'
import { useCurrency } from '../tables/format-cells.tsx'
import { isDecimal } from './field-values.ts'
import { AmountField, Form, useDraft } from './fields.tsx'
import { useAction, useFieldError } from './use-action.ts'

interface RateFormProps {
  /** Empty: the operator enters it. */
  readonly currency: string
  readonly close: () => void
}

export function RateForm({ currency, close }: RateFormProps) {
  const t = useMessages('payments').operations.rates
  const platform = useCurrency()
  const { draft, field } = useDraft({ from: currency, rate: '', effective: '' })
  const save = useAction(async () => {
    const { from, rate, effective } = draft
    await mutateAdmin('POST', '/payment-rates', {
      from: from.trim().toUpperCase(),
      rate: rate.trim(),
      ...(effective === '' ? {} : { effective_from: new Date(effective).toISOString() }),
    })
    showToast(t.saved)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={t.add}
      cancel={close}
      inlineErrors={['from', 'rate', 'effective_from']}
      isIncomplete={draft.from.trim() === '' || !isDecimal(draft.rate)}
    >
      <div className="fields">
        <TextInput
          label={t.from}
          placeholder="USD"
          required
          autoComplete="off"
          error={fieldError('from')}
          {...field('from')}
        />
        <AmountField
          label={t.rate}
          description={t.rateHint(platform)}
          required
          error={fieldError('rate')}
          {...field('rate')}
        />
        <TextInput
          label={t.effective}
          description={t.effectiveHint}
          type="datetime-local"
          error={fieldError('effective_from')}
          {...field('effective')}
        />
      </div>
    </Form>
  )
}
