/** Payments of all accounts: methods and rates, refunds and differences that need a decision, orders, revenue. */
import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { paymentMethodsQuery, paymentRatesQuery } from '../../../api/admin-queries.ts'
import type { AdminPaymentMethod } from '../../../api/contract.ts'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Filters, SelectFilter } from '../../../components/forms/filters.tsx'
import {
  CompareForm,
  ConfirmTransferForm,
  RefundOrderForm,
} from '../../../components/forms/payment-forms.tsx'
import { RateForm } from '../../../components/forms/rate-form.tsx'
import { formatMoney } from '../../../components/format.ts'
import { Page, Section } from '../../../components/layout/page.tsx'
import { StatusLabel, useCurrency } from '../../../components/tables/format-cells.tsx'
import { OrderTable } from '../../../components/tables/order-table.tsx'
import {
  DifferenceTable,
  differenceStates,
  RefundTable,
} from '../../../components/tables/payment-decisions.tsx'
import { RateTable } from '../../../components/tables/payment-rates.tsx'
import { ReferralTable } from '../../../components/tables/referral-list.tsx'
import { RevenueTable } from '../../../components/tables/payment-revenue.tsx'
import { ServerText } from '../../../components/tables/server-text.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { LogTime } from '../../../components/tables/time-cells.tsx'
import { useMessages } from '../../../locales/messages.ts'

const route = getRouteApi('/shell/operator/payments')

export function Payments() {
  const all = useMessages('payments')
  const { operator: t, operations } = all
  const currency = useCurrency()
  const navigate = route.useNavigate()
  const { refund, confirm, compare, rate, differences, ...orders } = route.useSearch()
  const filters = { differences, ...orders }
  const open = (dialog: object): void => void navigate({ search: { ...filters, ...dialog } })
  const close = (): void => open({})
  const shownState = differenceStates.find((state) => state === differences) ?? 'open'
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <>
          <BankListLink />
          <Button variant="default" onClick={() => open({ compare: 'yes' })}>
            {t.compare}
          </Button>
        </>
      }
    >
      <Section title={t.methods}>
        <QueryBoundary options={paymentMethodsQuery}>
          {({ data }) => <MethodTable methods={data} setRate={(of) => open({ rate: of })} />}
        </QueryBoundary>
      </Section>
      <Section
        title={operations.rates.title}
        lead={operations.rates.lead(currency)}
        actions={
          <Button variant="default" onClick={() => open({ rate: 'new' })}>
            {operations.rates.add}
          </Button>
        }
      >
        <QueryBoundary options={paymentRatesQuery}>{({ data }) => <RateTable rates={data} />}</QueryBoundary>
      </Section>
      <Section
        title={t.differences}
        csv={{ path: '/admin/payments/differences', filter: { state: shownState } }}
      >
        <Filters
          search={{ differences }}
          apply={(search) => void navigate({ search: { ...orders, ...search } })}
          selectsOnly
        >
          {({ select }) => (
            <SelectField
              label={operations.differences.show}
              options={differenceStates.map((value) => ({
                value,
                label: operations.differences.states[value],
              }))}
              {...select('differences')}
              value={shownState}
            />
          )}
        </Filters>
        <DifferenceTable state={shownState} />
      </Section>
      <Section title={all.refunds} csv={{ path: '/admin/refunds' }}>
        <RefundTable />
      </Section>
      <Section title={all.orders} csv={{ path: '/admin/orders', filter: orders }}>
        <OrderFilters
          search={orders}
          apply={(search) => void navigate({ search: { differences, ...search } })}
        />
        <OrderTable
          filter={orders}
          confirmTransfer={(order) => open({ confirm: order })}
          refund={(order) => open({ refund: order })}
        />
      </Section>
      <Section
        title={operations.revenue.title}
        lead={operations.revenue.lead}
        csv={{ path: '/admin/payments/revenue' }}
      >
        <RevenueTable />
      </Section>
      <Section title={all.referral.title} csv={{ path: '/admin/referrals' }}>
        <ReferralTable />
      </Section>
      <Dialog title={t.refund} opened={refund !== undefined} close={close}>
        <RefundOrderForm order={refund ?? ''} close={close} />
      </Dialog>
      <Dialog title={t.confirm} opened={confirm !== undefined} close={close}>
        <ConfirmTransferForm order={confirm ?? ''} close={close} />
      </Dialog>
      <Dialog title={t.compare} opened={compare !== undefined} close={close}>
        <CompareForm close={close} />
      </Dialog>
      <Dialog title={operations.rates.add} opened={rate !== undefined} close={close}>
        <RateForm currency={rate === undefined || rate === 'new' ? '' : rate} close={close} />
      </Dialog>
    </Page>
  )
}

/** Only where transfers are taken. */
function BankListLink() {
  const t = useMessages('payments').operations.bank
  const { data } = useQuery(paymentMethodsQuery)
  const takesTransfers = data?.data.some(({ method, configured }) => method === 'bank' && configured)
  if (takesTransfers !== true) return null
  return <Link to="/operator/payments/bank">{t.title}</Link>
}

interface OrderFiltersProps {
  readonly search: { readonly q?: string; readonly state?: string; readonly method?: string }
  readonly apply: (search: OrderFiltersProps['search']) => void
}

function OrderFilters({ search, apply }: OrderFiltersProps) {
  const t = useMessages('payments')
  const options = (labels: Readonly<Record<string, string>>) =>
    Object.entries(labels).map(([value, label]) => ({ value, label }))
  return (
    <Filters<'q' | 'state' | 'method'> search={search} apply={apply}>
      {({ input, select }) => (
        <>
          <TextInput label={t.operations.search} type="search" {...input('q')} />
          <SelectFilter label={t.state} options={options(t.orderStates)} {...select('state')} />
          <SelectFilter label={t.method} options={options(t.methods)} {...select('method')} />
        </>
      )}
    </Filters>
  )
}

interface MethodTableProps {
  readonly methods: readonly AdminPaymentMethod[]
  readonly setRate: (currency: string) => void
}

function MethodTable({ methods, setRate }: MethodTableProps) {
  const t = useMessages('payments')
  const platform = useCurrency()
  const { data: rates } = useQuery(paymentRatesQuery)
  const hasRate = (currency: string | null): boolean =>
    currency === platform ||
    rates === undefined ||
    rates.data.some(({ from, state }) => from === currency && state === 'current')
  const bounds = ({ min, max, currency }: AdminPaymentMethod): string =>
    t.range(formatMoney(min ?? '0', currency ?? ''), formatMoney(max ?? '0', currency ?? ''))
  return (
    <Table
      label={t.operator.methods}
      rows={methods}
      rowId={({ method }) => method}
      columns={[
        { header: t.method, primary: true, cell: ({ method }) => t.methods[method] },
        {
          header: t.state,
          cell: ({ configured, problem, currency }) => {
            if (!configured) return <StatusLabel tone="neutral">{t.operator.off}</StatusLabel>
            if (problem === undefined) return <StatusLabel tone="success">{t.operator.working}</StatusLabel>
            return (
              <>
                <StatusLabel tone="danger">
                  <ServerText text={problem} />
                </StatusLabel>
                {!hasRate(currency) && (
                  <Button variant="subtle" size="compact-sm" onClick={() => setRate(currency ?? '')}>
                    {t.operations.rates.add}
                  </Button>
                )}
              </>
            )
          },
        },
        { header: t.operator.currency, cell: ({ currency }) => currency ?? '–' },
        { header: t.operator.bounds, cell: (method) => (method.configured ? bounds(method) : '–') },
        { header: t.operator.lastCompared, cell: ({ comparison }) => <Comparison comparison={comparison} /> },
      ]}
    />
  )
}

/** The last one that was complete, and why the last one failed: a text of the relay or the provider. */
function Comparison({ comparison }: Pick<AdminPaymentMethod, 'comparison'>) {
  const t = useMessages('payments').operator
  if (comparison === null) return '–'
  const { at, problem } = comparison
  return (
    <>
      {at === null ? '–' : <LogTime at={at} />}
      {problem !== null && (
        <>
          <StatusLabel tone="danger">{t.comparisonFailed}</StatusLabel>
          <small>
            <ServerText text={problem} />
          </small>
        </>
      )}
    </>
  )
}
