/** Orders of all accounts, with what an operator can do about each. */
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { PaymentOrder } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { EmptyState } from '../feedback/empty-state.tsx'
import { PagedList } from '../feedback/query-boundary.tsx'
import { actWithToast } from '../feedback/toast.tsx'
import { Money, ShortId } from './format-cells.tsx'
import { OrderState, PaidAmount } from './payment-cells.tsx'
import { RowMenu } from './row-menu.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

interface OrderTableProps {
  readonly filter: Readonly<Record<string, string | undefined>>
  readonly confirmTransfer: (order: string) => void
  readonly refund: (order: string) => void
}

export function OrderTable({ filter, confirmTransfer, refund }: OrderTableProps) {
  const t = useMessages('payments')
  const { notFound, notFoundLead } = t.operations
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
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
      filter={filter}
      empty={
        <EmptyState title={isFiltered ? notFound : t.operator.noOrders}>
          {isFiltered ? notFoundLead : t.operator.noOrdersLead}
        </EmptyState>
      }
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
                        onClick: () => confirmTransfer(order.id),
                      },
                    order.state === 'paid' && {
                      label: t.operator.refund,
                      onClick: () => refund(order.id),
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
