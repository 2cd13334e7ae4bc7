/** A new price version of a model: the diff, the volume of the last 30 days and the margin. */
import { useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { mutateAdmin, upstreamsQuery } from '../../api/admin-queries.ts'
import type { Model, Page, UsageRow } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from './use-action.ts'
import { Form, useDraft } from './fields.tsx'
import { changedFields, undoOf } from './field-values.ts'
import { formatNumber } from '../format.ts'
import {
  hasPrices,
  MarginPair,
  PriceChange,
  priceDraftFrom,
  PriceFields,
  pricesFromDraft,
  type PriceDraft,
} from './price-fields.tsx'
import { sortRoutes } from '../../api/sorted-routes.ts'
import { showToast } from '../feedback/toast.tsx'

export interface PriceFormProps {
  readonly model: Model
  readonly close: () => void
  readonly usage: UseQueryOptions<Page<UsageRow>, Error, Page<UsageRow>, string[]>
}

export function PriceForm({ model, close, usage }: PriceFormProps) {
  const t = useMessages('catalog').models
  const { sentenceGap } = useMessages('shell')
  const { draft, initialDraft, set } = useDraft(priceDraftFrom(model.prices))
  const setPrices = (prices: PriceDraft) =>
    mutateAdmin('PATCH', `/models/${encodeURIComponent(model.id)}`, { prices: pricesFromDraft(prices) })
  const save = useAction(async () => {
    await setPrices(draft)
    showToast(t.priceChanged, {
      undo: undoOf(changedFields(pricesFromDraft(initialDraft), pricesFromDraft(draft)), () =>
        setPrices(initialDraft),
      ),
    })
    close()
  })
  const fieldError = useFieldError(save.error)
  const sums = useQuery(usage).data?.data[0]
  return (
    <Form
      action={save}
      submitLabel={t.changePrice}
      cancel={close}
      inlineErrors={['prices']}
      isIncomplete={!hasPrices(draft)}
    >
      <PriceFields draft={draft} set={set} fieldError={fieldError} />
      <PriceChange before={model.prices} after={draft} />
      {hasPrices(draft) && <Margins model={model} draft={draft} />}
      <p className="muted">
        {sums === undefined
          ? t.noVolume
          : t.volume(formatNumber(sums.requests), formatNumber(sums.prompt_tokens + sums.completion_tokens))}
        {sentenceGap}
        {t.effective}
      </p>
    </Form>
  )
}

interface MarginsProps {
  readonly model: Model
  readonly draft: PriceDraft
}

/** The margin over what each route costs, in the order in which they are tried. */
function Margins({ model, draft }: MarginsProps) {
  const t = useMessages('catalog').models
  const routes = sortRoutes(model, useQuery(upstreamsQuery).data?.data ?? [])
  return routes.map(({ upstream, model: name, known, cost }) => (
    <p key={`${upstream} ${name}`}>
      {t.marginVia(known?.name ?? upstream)} <MarginPair prices={pricesFromDraft(draft)} cost={cost} />
    </p>
  ))
}
