/** Multiplies the prices of several models by a factor, with all old and new prices shown first. */
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { Model } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction } from './use-action.ts'
import { AmountField, Form, useDraft } from './fields.tsx'
import { isDecimal } from './field-values.ts'
import { PricePair, multiplyPrice, type Prices } from './price-fields.tsx'
import { Table } from '../tables/table.tsx'
import { showToast } from '../feedback/toast.tsx'

function multiplyPrices(prices: Prices, factor: string): Prices {
  if (prices.free === true) return prices
  const { per_tool_call: tools, service_tiers: tiers, above, free: _free, ...others } = prices
  return {
    ...multiplyEach(others, factor),
    ...(tools ? { per_tool_call: multiplyTools(tools, factor) } : {}),
    ...(tiers ? { service_tiers: tiers } : {}),
    ...(above
      ? {
          above: above.map(({ input_tokens, ...rates }) => ({
            input_tokens,
            ...multiplyEach(rates, factor),
          })),
        }
      : {}),
  }
}

function multiplyTools(
  tools: NonNullable<Prices['per_tool_call']>,
  factor: string,
): NonNullable<Prices['per_tool_call']> {
  const multiplied = Object.entries(tools).map(([tool, price]) => [
    tool,
    typeof price === 'string'
      ? multiplyPrice(price, factor)
      : price.map((each) => ({ ...each, amount: multiplyPrice(each.amount, factor) })),
  ])
  return Object.fromEntries(multiplied) as NonNullable<Prices['per_tool_call']>
}

/** Multiplies each price; null and absent ones stay so. */
function multiplyEach(
  prices: Readonly<Record<string, string | null | undefined>>,
  factor: string,
): Record<string, string> {
  const changed = Object.entries(prices).flatMap(([name, price]) =>
    typeof price === 'string' ? [[name, multiplyPrice(price, factor)] as const] : [],
  )
  return Object.fromEntries(changed)
}

export interface BulkPriceFormProps {
  readonly models: readonly Model[]
  readonly close: () => void
}

export function BulkPriceForm({ models, close }: BulkPriceFormProps) {
  const t = useMessages('catalog').models
  const { draft, field } = useDraft({ factor: '1.1' })
  const isValid = isDecimal(draft.factor) && Number(draft.factor) > 0
  const priced = models.filter(({ prices }) => prices.free !== true)
  const apply = useAction(async () => {
    for (const model of priced) {
      const prices = multiplyPrices(model.prices, draft.factor.trim())
      await mutateAdmin('PATCH', `/models/${encodeURIComponent(model.id)}`, { prices })
    }
    showToast(t.bulkDone(priced.length))
    close()
  })
  return (
    <Form action={apply} submitLabel={t.bulkVerb(priced.length)} cancel={close} isIncomplete={!isValid}>
      <AmountField label={t.factor} description={t.factorHint} required {...field('factor')} />
      <Table
        label={t.bulkTitle}
        rows={priced}
        rowId={({ id }) => id}
        columns={[
          { header: t.id, primary: true, cell: ({ id }) => id },
          { header: t.before, numeric: true, cell: ({ prices }) => <PricePair prices={prices} /> },
          {
            header: t.after,
            numeric: true,
            cell: ({ prices }) =>
              isValid ? <PricePair prices={multiplyPrices(prices, draft.factor.trim())} /> : '–',
          },
        ]}
      />
    </Form>
  )
}
