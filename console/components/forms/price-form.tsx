/** A new version of a model's prices: old → new, what it would have meant for the last month, and the margin. */
import { useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { change, upstreamsQuery } from '../../api/admin-queries.ts'
import type { Model, Page, UsageRow } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction, useFieldError } from './use-action.ts'
import { Form, useDraft } from './fields.tsx'
import { numberText } from '../format.ts'
import {
  isPriced,
  PriceChange,
  priceDraftOf,
  PriceFields,
  pricesOf,
  type PriceDraft,
} from './price-fields.tsx'
import { Money } from '../tables/format-cells.tsx'
import { say } from '../feedback/toast.tsx'

export interface PriceFormProps {
  readonly model: Model
  readonly close: () => void
  readonly usage: UseQueryOptions<Page<UsageRow>, Error, Page<UsageRow>, string[]>
}

export function PriceForm({ model, close, usage }: PriceFormProps) {
  const words = useWords('offer').models
  const { draft, set } = useDraft(priceDraftOf(model.prices))
  const save = useAction(async () => {
    await change('PATCH', `/models/${encodeURIComponent(model.id)}`, { prices: pricesOf(draft) })
    say(words.priceChanged)
    close()
  })
  const errorOf = useFieldError(save.error)
  const sums = useQuery(usage).data?.data[0]
  return (
    <Form
      action={save}
      verb={words.changePrice}
      cancel={close}
      beside={['prices']}
      isIncomplete={!isPriced(draft)}
    >
      <PriceFields draft={draft} set={set} errorOf={errorOf} />
      <PriceChange before={model.prices} after={draft} />
      {isPriced(draft) && <Margin model={model} draft={draft} />}
      <p className="quiet">
        {sums === undefined
          ? words.noVolume
          : words.volume(
              numberText(sums.requests),
              numberText(sums.prompt_tokens + sums.completion_tokens),
            )}{' '}
        {words.effective}
      </p>
    </Form>
  )
}

interface MarginProps {
  readonly model: Model
  readonly draft: PriceDraft
}

/** What is left of a price after the upstream that is tried first has been paid. */
function Margin({ model, draft }: MarginProps) {
  const words = useWords('offer').models
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
  const left = (price: string, paid: string | undefined): string =>
    (Number(price) - Number(paid ?? 0) * rate).toFixed(9).replace(/0+$/, '')
  return (
    <p>
      {words.marginAt(first.name)} <Money amount={left(draft.input, cost.input)} /> /{' '}
      <Money amount={left(draft.output, cost.output)} />
    </p>
  )
}
