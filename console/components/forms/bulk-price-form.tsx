/** The prices of several models at once, times a factor: every old and new price is shown before anything changes. */
import { change } from '../../api/admin-queries.ts'
import type { Model } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction } from './use-action.ts'
import { AmountField, Form, isDecimal, useDraft } from './fields.tsx'
import { PricePair, priceNames, timesFactor, type Prices } from './price-fields.tsx'
import { Table } from '../tables/table.tsx'
import { say } from '../feedback/toast.tsx'

function timesAll(prices: Prices, factor: string): Prices {
  if (prices.free === true) return prices
  const changed = priceNames.flatMap((name) => {
    const price = prices[name]
    return typeof price === 'string' ? [[name, timesFactor(price, factor)] as const] : []
  })
  return Object.fromEntries(changed)
}

export interface BulkPricesProps {
  readonly models: readonly Model[]
  readonly close: () => void
}

export function BulkPrices({ models, close }: BulkPricesProps) {
  const words = useWords('offer').models
  const { draft, field } = useDraft({ factor: '1.1' })
  const isValid = isDecimal(draft.factor) && Number(draft.factor) > 0
  const priced = models.filter(({ prices }) => prices.free !== true)
  const apply = useAction(async () => {
    for (const model of priced) {
      const prices = timesAll(model.prices, draft.factor.trim())
      await change('PATCH', `/models/${encodeURIComponent(model.id)}`, { prices })
    }
    say(words.bulkDone(priced.length))
    close()
  })
  return (
    <Form action={apply} verb={words.bulkVerb(priced.length)} cancel={close} isIncomplete={!isValid}>
      <AmountField label={words.factor} description={words.factorHint} required {...field('factor')} />
      <Table
        label={words.bulkTitle}
        rows={priced}
        idOf={({ id }) => id}
        columns={[
          { head: words.id, names: true, cell: ({ id }) => id },
          { head: words.before, figures: true, cell: ({ prices }) => <PricePair prices={prices} /> },
          {
            head: words.after,
            figures: true,
            cell: ({ prices }) =>
              isValid ? <PricePair prices={timesAll(prices, draft.factor.trim())} /> : '–',
          },
        ]}
      />
    </Form>
  )
}
