/** The customer's own payments and refunds, on the page of billing. */
import { Link, useNavigate } from '@tanstack/react-router'
import type { OwnOrder, PaymentRefund } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { EmptyState } from '../feedback/empty-state.tsx'
import { PagedList } from '../feedback/query-boundary.tsx'
import { Dialog } from '../forms/dialog.tsx'
import { RefundPaymentForm } from '../forms/refund-payment-form.tsx'
import { Money } from './format-cells.tsx'
import { OrderState, PaidAmount, RefundState } from './payment-cells.tsx'
import { RowMenu } from './row-menu.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

interface PaymentListProps {
  /** The order whose refund is being requested. */
  readonly refunding: string | undefined
  readonly setRefunding: (order: string | undefined) => void
}

export function PaymentList({ refunding, setRefunding }: PaymentListProps) {
  const t = useMessages('payments')
  const invoices = useMessages('invoices')
  const navigate = useNavigate()
  const close = (): void => setRefunding(undefined)
  return (
    <>
      <PagedList<OwnOrder>
        queryKey={['account', 'orders']}
        path="/console/billing/orders"
        limit={10}
        empty={<EmptyState title={t.noOrders}>{t.noOrdersLead}</EmptyState>}
      >
        {(orders) => (
          <Table
            label={t.orders}
            rows={orders}
            rowId={({ id }) => id}
            columns={[
              { header: t.time, cell: ({ created_at: at }) => <LogTime at={at} /> },
              {
                header: t.method,
                primary: true,
                cell: ({ id, method, automatic }) => (
                  <>
                    <Link to="/billing/orders/$id" params={{ id }}>
                      {t.methods[method]}
                    </Link>
                    {automatic && <small>{t.automatic.title}</small>}
                  </>
                ),
              },
              { header: t.amount, numeric: true, cell: (order) => <PaidAmount {...order} /> },
              { header: t.credited, numeric: true, cell: ({ credit }) => <Money amount={credit} /> },
              { header: t.state, cell: (order) => <OrderState order={order} /> },
              {
                header: t.requestRefund,
                isMenu: true,
                cell: ({ id, state }) => (
                  <RowMenu
                    name={id}
                    actions={[
                      {
                        label: t.order,
                        onClick: () => void navigate({ to: '/billing/orders/$id', params: { id } }),
                      },
                      state === 'paid' && {
                        label: invoices.receipt.title,
                        onClick: () => void navigate({ to: '/billing/orders/$id/receipt', params: { id } }),
                      },
                      state === 'paid' && { label: t.requestRefund, onClick: () => setRefunding(id) },
                    ]}
                  />
                ),
              },
            ]}
          />
        )}
      </PagedList>
      <Dialog title={t.refundTitle} opened={refunding !== undefined} close={close}>
        <RefundPaymentForm order={refunding ?? ''} close={close} />
      </Dialog>
    </>
  )
}

export function RefundList() {
  const t = useMessages('payments')
  return (
    <PagedList<PaymentRefund>
      queryKey={['account', 'refunds']}
      path="/console/billing/refunds"
      limit={10}
      empty={<p className="muted">{t.noRefunds}</p>}
    >
      {(refunds) => (
        <Table
          label={t.refunds}
          rows={refunds}
          rowId={({ id }) => id}
          columns={[
            { header: t.time, cell: ({ created_at: at }) => <LogTime at={at} /> },
            {
              header: t.order,
              primary: true,
              cell: ({ order, reason }) => (
                <>
                  <Link to="/billing/orders/$id" params={{ id: order }}>
                    {order}
                  </Link>
                  <small>{reason}</small>
                </>
              ),
            },
            { header: t.amount, numeric: true, cell: (refund) => <PaidAmount {...refund} /> },
            {
              header: t.state,
              cell: (refund) => <RefundState refund={refund} />,
            },
          ]}
        />
      )}
    </PagedList>
  )
}
