/** The form of a model: what it is called, what it holds, what it costs, where it goes. */
import { Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import { change } from '../../api/admin-queries.ts'
import type { Model } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction, useFieldError } from './use-action.ts'
import { Form, isWhole, useDraft, WholeField } from './fields.tsx'
import { isPriced, priceDraftOf, PriceFields, pricesOf } from './price-fields.tsx'
import { routesOf, RoutesFields, type RouteDraft } from './route-fields.tsx'

export interface ModelFormProps {
  /** null for a new one, which also gets its price here; later prices are versions of their own. */
  readonly model: Model | null
  readonly close: () => void
  readonly saved: (model: Model) => void
}

export function ModelForm({ model, close, saved }: ModelFormProps) {
  const words = useWords('offer').models
  const shell = useWords('shell')
  const { draft, set, field } = useDraft({
    id: model?.id ?? '',
    context_tokens: model === null ? '' : String(model.context_tokens),
    max_output_tokens:
      model?.max_output_tokens === null || model === null ? '' : String(model.max_output_tokens),
    owned_by: model?.owned_by ?? '',
    listed: model?.listed === false ? '' : 'yes',
  })
  const prices = useDraft(priceDraftOf(null))
  const [routes, setRoutes] = useState<readonly RouteDraft[]>(() =>
    (model?.routes ?? []).map((route) => ({
      upstream: route.upstream,
      model: route.model,
      priority: route.priority === null ? '' : String(route.priority),
    })),
  )
  const save = useAction(async () => {
    const body = {
      context_tokens: Number(draft.context_tokens),
      max_output_tokens: draft.max_output_tokens === '' ? null : Number(draft.max_output_tokens),
      ...(draft.owned_by.trim() === '' ? {} : { owned_by: draft.owned_by.trim() }),
      listed: draft.listed !== '',
      routes: routesOf(routes),
    }
    const answer =
      model === null
        ? await change<Model>('POST', '/models', {
            ...body,
            id: draft.id.trim(),
            prices: pricesOf(prices.draft),
          })
        : await change<Model>('PATCH', `/models/${encodeURIComponent(model.id)}`, body)
    saved(answer)
  })
  const errorOf = useFieldError(save.error)
  const isIncomplete = !isWhole(draft.context_tokens) || (model === null && !isPriced(prices.draft))
  return (
    <Form
      action={save}
      verb={model === null ? shell.create : shell.save}
      cancel={close}
      beside={['id', 'context_tokens', 'max_output_tokens', 'prices', 'owned_by']}
      isIncomplete={isIncomplete}
    >
      <div className="fields">
        {model === null && (
          <TextInput
            className="whole"
            label={words.id}
            description={words.idHint}
            required
            autoComplete="off"
            error={errorOf('id')}
            {...field('id')}
          />
        )}
        <WholeField
          label={words.context}
          required
          error={errorOf('context_tokens')}
          {...field('context_tokens')}
        />
        <WholeField
          label={words.maxOutput}
          placeholder={shell.none}
          error={errorOf('max_output_tokens')}
          {...field('max_output_tokens')}
        />
        <TextInput
          label={words.ownedBy}
          autoComplete="off"
          error={errorOf('owned_by')}
          {...field('owned_by')}
        />
      </div>
      {model === null && <PriceFields draft={prices.draft} set={prices.set} errorOf={errorOf} />}
      <RoutesFields modelId={draft.id} routes={routes} set={setRoutes} />
      <Checkbox
        label={words.listedHint}
        checked={draft.listed !== ''}
        onChange={(event) => set('listed', event.currentTarget.checked ? 'yes' : '')}
      />
    </Form>
  )
}
