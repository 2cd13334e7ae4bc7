/** Recharge: method and amount, with bonuses, fee and credit before the payment, and one button; automatic recharge. */
import { Button, Checkbox, TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { paymentMethodsQuery } from '../../api/account-queries.ts'
import { get, queryString } from '../../api/client.ts'
import type { OfferedBonus, OrderPreview, PaymentMethod } from '../../api/contract.ts'
import { useStartOrder } from '../../api/start-order.ts'
import { AutomaticRechargeSection } from '../../components/forms/automatic-recharge.tsx'
import { SelectField, useDraft } from '../../components/forms/fields.tsx'
import { isDecimal } from '../../components/forms/field-values.ts'
import { submitHandler, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { EmptyState, ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { formatMoney } from '../../components/format.ts'
import { DescriptionList, Page } from '../../components/layout/page.tsx'
import { BonusTiers } from '../../components/tables/bonus-tiers.tsx'
import { Money, useCurrency } from '../../components/tables/format-cells.tsx'
import { ExpiryDate } from '../../components/tables/time-cells.tsx'
import { useMessages } from '../../locales/messages.ts'

const route = getRouteApi('/shell/billing/recharge')

/** Offered where they are within the bounds of the method. */
const suggestedAmounts = [10, 20, 50, 100, 200, 500, 1000, 5000] as const
const maxSuggested = 6

export function Recharge() {
  const t = useMessages('payments')
  return (
    <Page title={t.recharge} lead={t.rechargeLead}>
      <QueryBoundary options={paymentMethodsQuery}>
        {({ data }) => {
          const offered = data.filter(({ problem }) => problem === undefined)
          const saving = data.find(({ saves_cards: savesCards }) => savesCards)
          return (
            <>
              {offered.length === 0 ? (
                <EmptyState title={t.noMethods}>{t.noMethodsLead}</EmptyState>
              ) : (
                <>
                  <OfferedBonuses />
                  <RechargeForm methods={offered} />
                </>
              )}
              {saving !== undefined && <AutomaticRechargeSection method={saving} />}
            </>
          )
        }}
      </QueryBoundary>
    </Page>
  )
}

function suggestionsFor({ min, max }: PaymentMethod): string[] {
  return suggestedAmounts
    .filter((amount) => amount >= Number(min ?? 0) && amount <= Number(max ?? 0))
    .slice(0, maxSuggested)
    .map(String)
}

function RechargeForm({ methods }: { readonly methods: readonly PaymentMethod[] }) {
  const t = useMessages('payments')
  const search = route.useSearch()
  const startOrder = useStartOrder()
  const [clientKey] = useState(() => crypto.randomUUID())
  const first = methods.find((each) => each.method === search.method) ?? methods[0]
  const { draft, set, field } = useDraft({
    method: first?.method ?? '',
    product: '',
    amount: search.amount ?? '',
    saves_card: '',
  })
  const method = methods.find((each) => each.method === draft.method) ?? methods[0]
  const savesCard = method?.saves_cards === true && draft.saves_card !== ''
  const pay = useAction(() => {
    const { method: name, product } = draft
    const amount = draft.amount.trim()
    const orderKey = `${clientKey}:${name}:${amount}${savesCard ? ':saved' : ''}`
    return startOrder({ method: name, product, amount, savesCard, clientKey: orderKey })
  })
  const fieldError = useFieldError(pay.error)
  if (method === undefined) return null
  const currency = method.currency ?? ''
  return (
    <form className="panel stack" onSubmit={submitHandler(pay.run)}>
      <fieldset className="choices">
        <legend>{t.method}</legend>
        {methods.map(({ method: name }) => (
          <label key={name} className="choice">
            <input
              type="radio"
              name="method"
              value={name}
              checked={draft.method === name}
              onChange={() => {
                set('method', name)
                set('product', '')
              }}
            />
            {t.methods[name]}
          </label>
        ))}
      </fieldset>
      {method.products.length > 1 && (
        <SelectField
          label={t.product}
          options={method.products.map((value) => ({ value, label: t.products[value] ?? value }))}
          {...field('product')}
          value={draft.product === '' ? (method.products[0] ?? '') : draft.product}
        />
      )}
      <fieldset className="choices">
        <legend>{t.amount}</legend>
        {suggestionsFor(method).map((amount) => (
          <label key={amount} className="choice">
            <input
              type="radio"
              name="suggestion"
              checked={draft.amount === amount}
              onChange={() => set('amount', amount)}
            />
            {formatMoney(amount, currency)}
          </label>
        ))}
      </fieldset>
      <TextInput
        label={t.otherAmount}
        description={t.range(
          formatMoney(method.min ?? '0', currency),
          formatMoney(method.max ?? '0', currency),
        )}
        inputMode="decimal"
        autoComplete="off"
        required
        error={fieldError('amount')}
        {...field('amount')}
      />
      {method.saves_cards && (
        <Checkbox
          label={t.automatic.saveCard}
          checked={savesCard}
          onChange={(event) => set('saves_card', event.currentTarget.checked ? 'yes' : '')}
        />
      )}
      <Preview method={method} amount={draft.amount.trim()} />
      {pay.error && pay.error.param !== 'amount' && <ErrorMessage error={pay.error} />}
      <div className="row">
        <Button type="submit" loading={pay.isRunning}>
          {t.pay}
        </Button>
      </div>
    </form>
  )
}

const bonusesQuery = queryOptions({
  queryKey: ['account', 'bonuses'],
  queryFn: () => get<{ data: OfferedBonus[] }>('/console/billing/bonuses'),
})

/** What promotions add to a recharge, by its size; nothing if none is open to the account. */
function OfferedBonuses() {
  const t = useMessages('payments').promotions
  const currency = useCurrency()
  const { data } = useQuery(bonusesQuery)
  if (data === undefined || data.data.length === 0) return null
  return (
    <section className="callout stack" aria-label={t.offered}>
      {data.data.map(({ name, tiers, first_only: isFirstOnly, ends_at: endsAt, left }) => (
        <div key={name}>
          <strong>{name}</strong>
          <BonusTiers tiers={tiers} />
          {isFirstOnly && <div className="muted">{t.firstOnly}</div>}
          {left !== null && <div className="muted">{t.left(formatMoney(left, currency))}</div>}
          {endsAt !== null && (
            <div className="muted">
              {t.ends} <ExpiryDate at={endsAt} />
            </div>
          )}
        </div>
      ))}
    </section>
  )
}

function previewQuery(method: string, amount: string) {
  return queryOptions({
    queryKey: ['account', 'order-preview', method, amount],
    queryFn: () => get<OrderPreview>(`/console/billing/orders/preview${queryString({ method, amount })}`),
    enabled: isDecimal(amount) && Number(amount) > 0,
    retry: false,
  })
}

/** What is paid and what is credited; nothing while the amount is not allowed, because the form then says why. */
function Preview({ method, amount }: { readonly method: PaymentMethod; readonly amount: string }) {
  const t = useMessages('payments')
  const { data } = useQuery(previewQuery(method.method, amount))
  if (data === undefined || amount === '') return null
  return (
    <DescriptionList
      items={[
        [t.toPay, formatMoney(data.amount, data.currency)],
        ...(Number(data.fee) > 0 ? ([[t.fee, formatMoney(data.fee, data.currency)]] as const) : []),
        ...(Number(data.bonus) > 0 ? ([[t.bonus, <Money key="bonus" amount={data.bonus} />]] as const) : []),
        [t.credited, <Money key="credit" amount={data.credit} />],
      ]}
    />
  )
}
