/** Shared form fields (amounts, integers, selects) and the form itself. */
import { Button, NativeSelect, TextInput, type TextInputProps } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { currencySymbol } from '../format.ts'
import { useCurrency } from '../tables/format-cells.tsx'
import { isDecimal, isInteger } from './field-values.ts'
import { submitHandler, type Action } from './use-action.ts'
import { ErrorMessage } from '../feedback/empty-state.tsx'

/** The state of a form: its values, and the props that bind a value to a field. */
export function useDraft<Draft extends Record<string, string>>(initial: Draft) {
  const [draft, setDraft] = useState(initial)
  const [initialDraft] = useState(initial)
  const set = (name: keyof Draft, value: string): void => setDraft((before) => ({ ...before, [name]: value }))
  const field = (name: keyof Draft & string) => ({
    name,
    value: draft[name] ?? '',
    onChange: (event: { currentTarget: { value: string } }) => set(name, event.currentTarget.value),
  })
  return { draft, initialDraft, set, field }
}

export interface ValueFieldProps {
  readonly label: string
  readonly name: string
  readonly value: string
  readonly onChange: (event: { currentTarget: { value: string } }) => void
  readonly description?: string
  readonly placeholder?: string
  readonly required?: boolean
  readonly error?: string | undefined
}

interface AmountFieldProps
  extends ValueFieldProps, Pick<TextInputProps, 'leftSection' | 'leftSectionWidth'> {}

/** Validates while typing. */
export function AmountField({ error, ...props }: AmountFieldProps) {
  const t = useMessages('shell')
  const isInvalid = props.value.trim() !== '' && !isDecimal(props.value)
  return <TextInput {...props} inputMode="decimal" autoComplete="off" error={isInvalid ? t.decimal : error} />
}

interface MoneyFieldProps extends ValueFieldProps {
  /** Default: the platform's. */
  readonly currency?: string
}

/** An amount of money, with the currency. */
export function MoneyField({ currency, ...props }: MoneyFieldProps) {
  const platformCurrency = useCurrency()
  const symbol = currencySymbol(currency ?? platformCurrency)
  return (
    <AmountField
      {...props}
      leftSection={<span className="muted">{symbol}</span>}
      leftSectionWidth={symbol.length > 1 ? 44 : 28}
    />
  )
}

export function IntegerField({ error, ...props }: ValueFieldProps) {
  const t = useMessages('shell')
  const isInvalid = props.value.trim() !== '' && !isInteger(props.value)
  return (
    <TextInput {...props} inputMode="numeric" autoComplete="off" error={isInvalid ? t.wholeNumber : error} />
  )
}

export interface SelectFieldProps extends ValueFieldProps {
  /** The label of the empty option; without it a choice is required. */
  readonly anyLabel?: string
  readonly options: readonly { readonly value: string; readonly label: string }[]
}

export function SelectField({ anyLabel, options, ...props }: SelectFieldProps) {
  const none = anyLabel === undefined ? [] : [{ value: '', label: anyLabel }]
  return <NativeSelect {...props} data={[...none, ...options]} />
}

export interface FormProps {
  readonly action: Action<[]>
  /** The label of the submit button. */
  readonly submitLabel: string
  readonly cancel: () => void
  readonly children: ReactNode
  /** Parameters whose errors are shown at their field; all other errors are shown below the form. */
  readonly inlineErrors?: readonly string[]
  readonly isIncomplete?: boolean
}

/** A dialog focuses the element with this attribute. */
function focusFirstField(form: HTMLFormElement | null): void {
  form?.querySelector('input, select, textarea')?.setAttribute('data-autofocus', '')
}

export function Form({
  action,
  submitLabel,
  cancel,
  children,
  inlineErrors = [],
  isIncomplete = false,
}: FormProps) {
  const t = useMessages('shell')
  const param = action.error?.param ?? null
  const isInline =
    param !== null && inlineErrors.some((name) => param === name || param.startsWith(`${name}.`))
  return (
    <form ref={focusFirstField} className="stack" onSubmit={submitHandler(action.run)}>
      {children}
      {action.error && !isInline && <ErrorMessage error={action.error} />}
      <div className="row end">
        <Button variant="default" onClick={cancel}>
          {t.cancel}
        </Button>
        <Button type="submit" loading={action.isRunning} disabled={isIncomplete}>
          {submitLabel}
        </Button>
      </div>
    </form>
  )
}
