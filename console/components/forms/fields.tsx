/** Fields that forms share: amounts, whole numbers, choices, and a dialogue that holds a form. */
import { Button, Modal, NativeSelect, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useWords } from '../../language.ts'
import { submitting, type Action } from './use-action.ts'
import { Refused } from '../feedback/empty-state.tsx'

/** The state of a form: its values, and what binds one of them to a field. */
export function useDraft<Draft extends Record<string, string>>(initial: Draft) {
  const [draft, setDraft] = useState(initial)
  const set = (name: keyof Draft, value: string): void => setDraft((before) => ({ ...before, [name]: value }))
  const field = (name: keyof Draft & string) => ({
    name,
    value: draft[name] ?? '',
    onChange: (event: { currentTarget: { value: string } }) => set(name, event.currentTarget.value),
  })
  return { draft, set, field }
}

/** A decimal of at most nine digits after the point; an empty text where none is asked. */
export function isDecimal(text: string): boolean {
  return /^-?\d{1,12}(\.\d{1,9})?$/.test(text.trim())
}

export function isWhole(text: string): boolean {
  return /^\d{1,15}$/.test(text.trim())
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

/** Says what is wrong as soon as it is wrong. */
export function AmountField({ error, ...props }: ValueFieldProps) {
  const words = useWords('shell')
  const isWrong = props.value.trim() !== '' && !isDecimal(props.value)
  return (
    <TextInput
      {...props}
      inputMode="decimal"
      autoComplete="off"
      error={isWrong ? words.decimal : error}
      className="amount"
    />
  )
}

export function WholeField({ error, ...props }: ValueFieldProps) {
  const words = useWords('shell')
  const isWrong = props.value.trim() !== '' && !isWhole(props.value)
  return (
    <TextInput
      {...props}
      inputMode="numeric"
      autoComplete="off"
      error={isWrong ? words.wholeNumber : error}
      className="amount"
    />
  )
}

export interface ChoiceProps extends ValueFieldProps {
  /** The words for no choice, where none has to be made. */
  readonly any?: string
  readonly choices: readonly { readonly value: string; readonly label: string }[]
}

export function Choice({ any, choices, ...props }: ChoiceProps) {
  const none = any === undefined ? [] : [{ value: '', label: any }]
  return <NativeSelect {...props} data={[...none, ...choices]} />
}

export interface DialogProps {
  readonly title: string
  readonly opened: boolean
  readonly close: () => void
  readonly children: ReactNode
  readonly size?: string
}

export function Dialog({ title, opened, close, children, size = '32rem' }: DialogProps) {
  const words = useWords('shell')
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': words.close }}
    >
      {children}
    </Modal>
  )
}

export interface FormProps {
  readonly action: Action<[]>
  /** The verb on its button. */
  readonly verb: string
  readonly cancel: () => void
  readonly children: ReactNode
  /** What the server refuses beside these fields is shown there, everything else below. */
  readonly beside?: readonly string[]
  readonly isIncomplete?: boolean
}

/** A dialogue puts the cursor where this mark is: into the first field. */
function beginAtFirst(form: HTMLFormElement | null): void {
  form?.querySelector('input, select, textarea')?.setAttribute('data-autofocus', '')
}

export function Form({ action, verb, cancel, children, beside = [], isIncomplete = false }: FormProps) {
  const words = useWords('shell')
  const param = action.error?.param ?? null
  const isBeside = param !== null && beside.some((name) => param === name || param.startsWith(`${name}.`))
  return (
    <form ref={beginAtFirst} className="stack" onSubmit={submitting(action.run)}>
      {children}
      {action.error && !isBeside && <Refused error={action.error} />}
      <div className="row end">
        <Button variant="default" onClick={cancel}>
          {words.cancel}
        </Button>
        <Button type="submit" loading={action.isRunning} disabled={isIncomplete}>
          {verb}
        </Button>
      </div>
    </form>
  )
}
