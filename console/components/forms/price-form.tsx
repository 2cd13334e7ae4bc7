/** A new price version of a model: the diff, the volume of the last 30 days and the margin. */
import { useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { mutateAdmin, upstreamsQuery } from '../../api/admin-queries.ts'
import type { Model, Page, UsageRow } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from './use-action.ts'
import { Form, useDraft } from './fields.tsx'
import { formatNumber } from '../format.ts'
import {
  hasPrices,
  PriceChange,
  priceDraftFrom,
  PriceFields,
  pricesFromDraft,
  type PriceDraft,
} from './price-fields.tsx'
import { Money } from '../tables/format-cells.tsx'
import { showToast } from '../feedback/toast.tsx'

export interface PriceFormProps {
  readonly model: Model
  readonly close: () => void
  readonly usage: UseQueryOptions<Page<UsageRow>, Error, Page<UsageRow>, string[]>
}

export function PriceForm({ model, close, usage }: PriceFormProps) {
  const t = useMessages('catalog').models
  const { draft, set } = useDraft(priceDraftFrom(model.prices))
  const save = useAction(async () => {
    await mutateAdmin('PATCH', `/models/${encodeURIComponent(model.id)}`, { prices: pricesFromDraft(draft) })
    showToast(t.priceChanged)
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
      {hasPrices(draft) && <Margin model={model} draft={draft} />}
      <p className="muted">
        {sums === undefined
          ? t.noVolume
          : t.volume(
              formatNumber(sums.requests),
              formatNumber(sums.prompt_tokens + sums.completion_tokens),
            )}{' '}
        {t.effective}
      </p>
    </Form>
  )
}

interface MarginProps {
  readonly model: Model
  readonly draft: PriceDraft
}

/** The margin over the cost of the upstream that is tried first. */
function Margin({ model, draft }: MarginProps) {
  const t = useMessages('catalog').models
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const first = model.routes
    .map(({ upstream, priority }) => {
      const known = upstreams.find(({ id }) => id === upstream)
      return { known, rank: priority ?? known?.priority ?? 0 }
    })
    .toSorted((one, other) => one.rank - other.rank)[0]?.known
  const cost = first?.prices
  if (!cost || draft.free !== '') return null
  const rate = Number(cost.rate)
  const margin = (price: string, paid: string | undefined): string =>
    (Number(price) - Number(paid ?? 0) * rate).toFixed(9).replace(/0+$/, '')
  return (
    <p>
      {t.marginVia(first.name)} <Money amount={margin(draft.input, cost.input)} /> /{' '}
      <Money amount={margin(draft.output, cost.output)} />
    </p>
  )
}
