/** The timeouts of an upstream or a model. */
import { useMessages } from '../../locales/messages.ts'
import { integerText, optionalInteger } from './field-values.ts'
import { IntegerField } from './fields.tsx'

const timeoutNames = ['connect_ms', 'first_token_ms', 'idle_ms', 'answer_ms'] as const
type TimeoutName = (typeof timeoutNames)[number]
type Timeouts = { readonly [Name in TimeoutName]: number | null }

export function timeoutDraftFrom(timeouts: Timeouts | undefined) {
  return {
    connect_ms: integerText(timeouts?.connect_ms),
    first_token_ms: integerText(timeouts?.first_token_ms),
    idle_ms: integerText(timeouts?.idle_ms),
    answer_ms: integerText(timeouts?.answer_ms),
  }
}

/** null for empty fields. */
export function timeoutsFromDraft(draft: { readonly [Name in TimeoutName]: string }): object {
  return Object.fromEntries(timeoutNames.map((name) => [name, optionalInteger(draft[name])]))
}

export interface TimeoutFieldsProps {
  /** Binds a timeout to its field. */
  readonly field: (name: TimeoutName) => {
    readonly name: string
    readonly value: string
    readonly onChange: (event: { currentTarget: { value: string } }) => void
  }
  /** What applies if a field is empty. */
  readonly placeholder: string
}

export function TimeoutFields({ field, placeholder }: TimeoutFieldsProps) {
  const { timeouts } = useMessages('catalog')
  return timeoutNames.map((name) => (
    <IntegerField key={name} label={timeouts[name]} placeholder={placeholder} {...field(name)} />
  ))
}
