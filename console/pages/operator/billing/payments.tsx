/** Payments of all accounts: the state of each method, refunds and differences that need a decision, and orders. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Page as PageOf, PaymentMethod, PaymentOrder } from '../../../api/contract.ts'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { PagedList, QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { actWithToast } from '../../../components/feedback/toast.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import {
  CompareForm,
  ConfirmTransferForm,
  RefundOrderForm,
} from '../../../components/forms/payment-forms.tsx'
import { formatMoney } from '../../../components/format.ts'
import { Page, Section } from '../../../components/layout/page.tsx'
import { Money, ShortId, StatusLabel } from '../../../components/tables/format-cells.tsx'
import { OrderState, PaidAmount } from '../../../components/tables/payment-cells.tsx'
import { DifferenceTable, RefundTable } from '../../../components/tables/payment-decisions.tsx'
import { ReferralTable } from '../../../components/tables/referral-list.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { LogTime } from '../../../components/tables/time-cells.tsx'
import { useMessages } from '../../../locales/messages.ts'

const route = getRouteApi('/shell/operator/payments')

const methodsQuery = queryOptions({
  queryKey: ['admin', 'payment-methods'],
  queryFn: () => get<PageOf<PaymentMethod>>('/admin/payment-methods'),
})

export function Payments() {
  const t = useMessages('payments').operator
  const all = useMessages('payments')
  const navigate = route.useNavigate()
  const { refund, confirm: confirmed, compare } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <Button variant="default" onClick={() => void navigate({ search: { compare: 'yes' } })}>
          {t.compare}
        </Button>
      }
    >
      <Section title={t.methods}>
        <QueryBoundary options={methodsQuery}>{({ data }) => <MethodTable methods={data} />}</QueryBoundary>
      </Section>
      <Section title={t.differences} csv={{ path: '/admin/payments/differences' }}>
        <DifferenceTable />
      </Section>
      <Section title={all.refunds} csv={{ path: '/admin/refunds' }}>
        <RefundTable />
      </Section>
      <Section title={all.orders} csv={{ path: '/admin/orders' }}>
        <OrderTable />
      </Section>
      <Section title={all.referral.title} csv={{ path: '/admin/referrals' }}>
        <ReferralTable />
      </Section>
      <Dialog title={t.refund} opened={refund !== undefined} close={close}>
        <RefundOrderForm order={refund ?? ''} close={close} />
      </Dialog>
      <Dialog title={t.confirm} opened={confirmed !== undefined} close={close}>
        <ConfirmTransferForm order={confirmed ?? ''} close={close} />
      </Dialog>
      <Dialog title={t.compare} opened={compare !== undefined} close={close}>
        <CompareForm close={close} />
      </Dialog>
    </Page>
  )
}

function MethodTable({ methods }: { readonly methods: readonly PaymentMethod[] }) {
  const t = useMessages('payments')
  const bounds = ({ min, max, currency }: PaymentMethod): string =>
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
          cell: ({ configured, problem }) => {
            if (!configured) return <StatusLabel tone="neutral">{t.operator.off}</StatusLabel>
            if (problem === undefined) return <StatusLabel tone="success">{t.operator.working}</StatusLabel>
            return (
              <StatusLabel tone="danger">
                <span lang="en">{problem}</span>
              </StatusLabel>
            )
          },
        },
        { header: t.operator.currency, cell: ({ currency }) => currency ?? '–' },
        { header: t.operator.bounds, cell: (method) => (method.configured ? bounds(method) : '–') },
      ]}
    />
  )
}

function OrderTable() {
  const t = useMessages('payments')
  const navigate = route.useNavigate()
  const check = (id: string): Promise<void> =>
    actWithToast(
      () => mutateAdmin<PaymentOrder>('POST', `/orders/${id}/check`, {}),
      ({ state }) => t.operator.checked(t.orderStates[state]),
    )
  const cancel = ({ id }: PaymentOrder): void =>
    confirm({
      title: t.operator.cancel,
      description: t.operator.cancelEffect,
      confirmLabel: t.operator.cancel,
      onConfirm: () => mutateAdmin('POST', `/orders/${id}/cancel`, {}),
      successMessage: t.canceled,
    })
  const isOpen = ({ state }: PaymentOrder): boolean => state === 'created' || state === 'pending'
  return (
    <PagedList<PaymentOrder>
      queryKey={['admin', 'orders']}
      path="/admin/orders"
      empty={<EmptyState title={t.operator.noOrders}>{t.operator.noOrdersLead}</EmptyState>}
    >
      {(orders) => (
        <Table
          label={t.orders}
          rows={orders}
          rowId={({ id }) => id}
          columns={[
            { header: t.time, cell: ({ created_at: at }) => <LogTime at={at} /> },
            { header: t.order, primary: true, cell: ({ id }) => <ShortId id={id} /> },
            { header: t.operator.account, cell: ({ account }) => <ShortId id={account} /> },
            {
              header: t.method,
              cell: ({ method, automatic }) => (
                <>
                  {t.methods[method]}
                  {automatic && <small>{t.automatic.title}</small>}
                </>
              ),
            },
            { header: t.amount, numeric: true, cell: (order) => <PaidAmount {...order} /> },
            { header: t.credit, numeric: true, cell: ({ credit }) => <Money amount={credit} /> },
            { header: t.state, cell: (order) => <OrderState order={order} /> },
            {
              header: t.operator.action,
              isMenu: true,
              cell: (order) => (
                <RowMenu
                  name={order.id}
                  actions={[
                    order.state !== 'paid' &&
                      order.method !== 'bank' && {
                        label: t.operator.check,
                        onClick: () => void check(order.id),
                      },
                    order.state !== 'paid' &&
                      order.method === 'bank' && {
                        label: t.operator.confirm,
                        onClick: () => void navigate({ search: { confirm: order.id } }),
                      },
                    order.state === 'paid' && {
                      label: t.operator.refund,
                      onClick: () => void navigate({ search: { refund: order.id } }),
                    },
                    isOpen(order) && {
                      label: t.operator.cancel,
                      onClick: () => cancel(order),
                      isDestructive: true,
                    },
                  ]}
                />
              ),
            },
          ]}
        />
      )}
    </PagedList>
  )
}
