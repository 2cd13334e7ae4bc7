/** The advanced settings in the form of an upstream. */
import { Checkbox, TextInput } from '@mantine/core'
import type { Upstream } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { addedDraftFrom, addedFromDraft } from './added-draft.ts'
import { AddedFields } from './added-fields.tsx'
import { integerText, namesFrom, optionalInteger, optionalText } from './field-values.ts'
import { IntegerField, SelectField, type ValueFieldProps } from './fields.tsx'
import { timeoutDraftFrom, TimeoutFields, timeoutsFromDraft } from './timeout-fields.tsx'

const maximumFields = ['max_tokens', 'max_completion_tokens'] as const
/** The value of the field for an empty list: an empty one is the provider's default. */
const nothing = 'nothing'

export function advancedDraftFrom(upstream: Upstream | null) {
  return {
    priority: integerText(upstream?.priority ?? 1),
    weight: integerText(upstream?.weight ?? 1),
    on_abort: upstream?.on_abort ?? 'cancel',
    collect_stream: upstream?.collect_stream === true ? 'yes' : '',
    ...timeoutDraftFrom(upstream?.timeouts),
    max_tokens_field: upstream?.max_tokens_field ?? '',
    allowed_fields: upstream?.allowed_fields.join(', ') ?? '',
    speaks: upstream === null ? '' : upstream.speaks.join() || nothing,
    ...addedDraftFrom(upstream),
  }
}

type AdvancedDraft = ReturnType<typeof advancedDraftFrom>

export function advancedFromDraft(draft: AdvancedDraft) {
  return {
    priority: optionalInteger(draft.priority),
    weight: optionalInteger(draft.weight),
    on_abort: draft.on_abort,
    collect_stream: draft.collect_stream !== '',
    timeouts: timeoutsFromDraft(draft),
    max_tokens_field: optionalText(draft.max_tokens_field),
    allowed_fields: namesFrom(draft.allowed_fields),
    ...(draft.speaks === '' ? {} : { speaks: namesFrom(draft.speaks === nothing ? '' : draft.speaks) }),
    ...addedFromDraft(draft),
  }
}

interface AdvancedFieldsProps {
  readonly upstream: Upstream | null
  readonly draft: AdvancedDraft
  readonly set: (name: keyof AdvancedDraft, value: string) => void
  readonly field: (
    name: Exclude<keyof AdvancedDraft, 'on_abort'>,
  ) => Pick<ValueFieldProps, 'name' | 'value' | 'onChange'>
  readonly errorOf: (name: string) => string | undefined
}

export function AdvancedFields({ upstream, draft, set, field, errorOf }: AdvancedFieldsProps) {
  const { upstreams: t, added } = useMessages('catalog')
  const others = upstream?.speaks.filter((api) => api !== 'responses') ?? []
  return (
    <>
      <IntegerField label={t.priority} description={t.priorityHint} {...field('priority')} />
      <IntegerField label={t.weight} description={t.weightHint} {...field('weight')} />
      <TimeoutFields field={field} placeholder={t.default} />
      <SelectField
        label={t.onAbort}
        options={[
          { value: 'cancel', label: t.cancel },
          { value: 'drain', label: t.drain },
        ]}
        name="on_abort"
        value={draft.on_abort}
        onChange={(event) => set('on_abort', event.currentTarget.value)}
      />
      <Checkbox
        label={t.collectStream}
        description={t.collectStreamHint}
        checked={draft.collect_stream !== ''}
        onChange={(event) => set('collect_stream', event.currentTarget.checked ? 'yes' : '')}
      />
      <SelectField
        label={t.maxTokensField}
        anyLabel={t.default}
        options={maximumFields.map((name) => ({ value: name, label: name }))}
        {...field('max_tokens_field')}
      />
      <TextInput
        label={t.allowedFields}
        description={t.allowedFieldsHint}
        autoComplete="off"
        error={errorOf('allowed_fields')}
        {...field('allowed_fields')}
      />
      <SelectField
        label={added.responses}
        {...(upstream === null ? { anyLabel: t.default } : {})}
        options={[
          { value: ['responses', ...others].join(), label: added.passedThrough },
          { value: others.join() || nothing, label: added.translated },
        ]}
        {...field('speaks')}
      />
      <AddedFields draft={draft} set={set} headerNames={upstream?.header_names ?? []} errorOf={errorOf} />
    </>
  )
}
