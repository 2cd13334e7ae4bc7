/** The form of a model: id, context length, price and routes. */
import { Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { Model } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from './use-action.ts'
import { changedFields, integerText, isInteger, optionalInteger, undoOf } from './field-values.ts'
import { Form, useDraft, IntegerField } from './fields.tsx'
import { showToast } from '../feedback/toast.tsx'
import { hasPrices, priceDraftFrom, PriceFields, pricesFromDraft } from './price-fields.tsx'
import { routeDraftsFrom, routesFromDrafts, RouteFields, type RouteDraft } from './route-fields.tsx'
import { timeoutDraftFrom, TimeoutFields, timeoutsFromDraft } from './timeout-fields.tsx'

export interface ModelFormProps {
  /** null creates a model, with its first price; later prices are new versions. */
  readonly model: Model | null
  readonly close: () => void
  readonly saved: (model: Model) => void
}

type Operation = Model['operations'][number]
/** An operation that is missing here does not compile. */
const names: Readonly<Record<Operation, true>> = { chat: true, completions: true, embeddings: true }
const operations = Object.keys(names) as Operation[]

interface OperationFieldsProps {
  /** Separated by commas. */
  readonly value: string
  readonly change: (value: string) => void
}

function OperationFields({ value, change }: OperationFieldsProps) {
  const t = useMessages('catalog').models
  const { modelOperations } = useMessages('shell')
  return (
    <Checkbox.Group
      label={t.operations}
      description={t.operationsHint}
      value={value.split(',')}
      onChange={(chosen) =>
        chosen.length > 0 && change(operations.filter((each) => chosen.includes(each)).join())
      }
    >
      <div className="row">
        {operations.map((each) => (
          <Checkbox key={each} value={each} label={modelOperations[each]} />
        ))}
      </div>
    </Checkbox.Group>
  )
}

function draftFrom(model: Model | null) {
  return {
    id: model?.id ?? '',
    context_tokens: integerText(model?.context_tokens),
    max_output_tokens: integerText(model?.max_output_tokens),
    owned_by: model?.owned_by ?? '',
    operations: (model?.operations ?? ['chat']).join(),
    listed: model?.listed === false ? '' : 'yes',
    ...timeoutDraftFrom(model?.timeouts),
  }
}

function bodyFrom(draft: ReturnType<typeof draftFrom>, routes: readonly RouteDraft[]) {
  return {
    context_tokens: Number(draft.context_tokens),
    max_output_tokens: optionalInteger(draft.max_output_tokens),
    ...(draft.owned_by.trim() === '' ? {} : { owned_by: draft.owned_by.trim() }),
    operations: draft.operations.split(','),
    listed: draft.listed !== '',
    routes: routesFromDrafts(routes),
    timeouts: timeoutsFromDraft(draft),
  }
}

export function ModelForm({ model, close, saved }: ModelFormProps) {
  const t = useMessages('catalog').models
  const shell = useMessages('shell')
  const { draft, initialDraft, set, field } = useDraft(draftFrom(model))
  const prices = useDraft(priceDraftFrom(null))
  const [initialRoutes] = useState(() => routeDraftsFrom(model?.routes ?? []))
  const [routes, setRoutes] = useState(initialRoutes)
  const save = useAction(async () => {
    const body = bodyFrom(draft, routes)
    if (model === null) {
      const id = draft.id.trim()
      saved(
        await mutateAdmin<Model>('POST', '/models', { ...body, id, prices: pricesFromDraft(prices.draft) }),
      )
      return
    }
    const before = bodyFrom(initialDraft, initialRoutes)
    const update = (changes: object) =>
      mutateAdmin<Model>('PATCH', `/models/${encodeURIComponent(model.id)}`, changes)
    const changes = changedFields(before, body)
    saved(await update(changes))
    showToast(shell.saved, { undo: undoOf(changes, () => update(changedFields(body, before))) })
  })
  const fieldError = useFieldError(save.error)
  const hasOutput = draft.operations !== 'embeddings'
  const isIncomplete =
    !isInteger(draft.context_tokens) || (model === null && !hasPrices(prices.draft, hasOutput))
  return (
    <Form
      action={save}
      submitLabel={model === null ? shell.create : shell.save}
      cancel={close}
      inlineErrors={['id', 'context_tokens', 'max_output_tokens', 'prices', 'owned_by']}
      isIncomplete={isIncomplete}
    >
      <div className="fields">
        {model === null && (
          <TextInput
            className="full-width"
            label={t.id}
            description={t.idHint}
            required
            autoComplete="off"
            error={fieldError('id')}
            {...field('id')}
          />
        )}
        <IntegerField
          label={t.context}
          required
          error={fieldError('context_tokens')}
          {...field('context_tokens')}
        />
        <IntegerField
          label={t.maxOutput}
          placeholder={shell.unlimited}
          error={fieldError('max_output_tokens')}
          {...field('max_output_tokens')}
        />
        <TextInput
          label={t.ownedBy}
          autoComplete="off"
          error={fieldError('owned_by')}
          {...field('owned_by')}
        />
      </div>
      {model === null && (
        <PriceFields draft={prices.draft} set={prices.set} fieldError={fieldError} hasOutput={hasOutput} />
      )}
      <RouteFields modelId={draft.id} routes={routes} set={setRoutes} />
      <details className="disclosure">
        <summary>{t.timeouts}</summary>
        <p className="muted">{t.timeoutsLead}</p>
        <div className="fields">
          <TimeoutFields field={field} placeholder={t.asUpstream} />
        </div>
      </details>
      <OperationFields value={draft.operations} change={(value) => set('operations', value)} />
      <Checkbox
        label={t.listedHint}
        checked={draft.listed !== ''}
        onChange={(event) => set('listed', event.currentTarget.checked ? 'yes' : '')}
      />
    </Form>
  )
}
