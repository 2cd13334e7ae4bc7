/** What waits for an operator: refunds, and differences with a provider's list. */
import { useState } from 'react'
import type { PaymentDifference, PaymentRefund } from '../../api/contract.ts'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { PagedList } from '../feedback/query-boundary.tsx'
import { Dialog } from '../forms/dialog.tsx'
import { CompleteRefundForm, DecideForm, RefuseForm } from '../forms/payment-forms.tsx'
import { ShortId } from './format-cells.tsx'
import { PaidAmount, RefundState } from './payment-cells.tsx'
import { RowMenu } from './row-menu.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

export function RefundTable() {
  const t = useMessages('payments')
  const [refusing, setRefusing] = useState<string | null>(null)
  const [completing, setCompleting] = useState<string | null>(null)
  const approve = ({ id }: PaymentRefund): void =>
    confirm({
      title: t.operator.approve,
      description: t.operator.approveEffect,
      confirmLabel: t.operator.approve,
      onConfirm: () => mutateAdmin('POST', `/refunds/${id}/approve`, {}),
      successMessage: t.operator.approved,
      isSafe: true,
    })
  return (
    <>
      <PagedList<PaymentRefund>
        queryKey={['admin', 'refunds']}
        path="/admin/refunds"
        limit={20}
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
                    <ShortId id={order} />
                    <small>{reason}</small>
                  </>
                ),
              },
              { header: t.operator.account, cell: ({ account }) => <ShortId id={account} /> },
              { header: t.amount, numeric: true, cell: (refund) => <PaidAmount {...refund} /> },
              {
                header: t.state,
                cell: (refund) => <RefundState refund={refund} />,
              },
              {
                header: t.operator.action,
                isMenu: true,
                cell: (refund) => (
                  <RowMenu
                    name={refund.id}
                    actions={[
                      refund.state === 'requested' &&
                        !refund.credit_note_first && {
                          label: t.operator.approve,
                          onClick: () => approve(refund),
                        },
                      ['debited', 'sent', 'unknown'].includes(refund.state) && {
                        label: t.operator.done,
                        onClick: () => setCompleting(refund.id),
                      },
                      (['requested', 'unknown'].includes(refund.state) ||
                        (refund.state === 'sent' && refund.method === 'bank')) && {
                        label: t.operator.refuse,
                        onClick: () => setRefusing(refund.id),
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
      <Dialog title={t.operator.refuse} opened={refusing !== null} close={() => setRefusing(null)}>
        <RefuseForm
          path={`/refunds/${refusing ?? ''}`}
          message={t.operator.refused}
          close={() => setRefusing(null)}
        />
      </Dialog>
      <Dialog title={t.operator.done} opened={completing !== null} close={() => setCompleting(null)}>
        <CompleteRefundForm refund={completing ?? ''} close={() => setCompleting(null)} />
      </Dialog>
    </>
  )
}

export const differenceStates = ['open', 'repaired', 'resolved'] as const

interface DifferenceTableProps {
  readonly state: (typeof differenceStates)[number]
}

export function DifferenceTable({ state }: DifferenceTableProps) {
  const t = useMessages('payments')
  const isOpen = state === 'open'
  const [deciding, setDeciding] = useState<PaymentDifference | null>(null)
  const close = (): void => setDeciding(null)
  return (
    <>
      <PagedList<PaymentDifference>
        queryKey={['admin', 'payment-differences']}
        path="/admin/payments/differences"
        filter={{ state }}
        limit={20}
        empty={<p className="muted">{t.operations.differences.none[state]}</p>}
      >
        {(differences) => (
          <Table
            label={t.operator.differences}
            rows={differences}
            rowId={({ id }) => id}
            onRowClick={isOpen ? setDeciding : undefined}
            columns={[
              { header: t.time, cell: ({ at }) => <LogTime at={at} /> },
              { header: t.operator.kind, primary: true, cell: ({ kind }) => t.operator.kinds[kind] },
              { header: t.method, cell: ({ method }) => t.methods[method] },
              { header: t.transaction, cell: ({ transaction }) => <ShortId id={transaction} /> },
              { header: t.order, cell: ({ order }) => (order === null ? '–' : <ShortId id={order} />) },
              {
                header: t.operator.there,
                numeric: true,
                cell: ({ amount, currency }) =>
                  amount === null ? '–' : <PaidAmount amount={amount} currency={currency} />,
              },
              {
                header: t.operator.here,
                numeric: true,
                cell: ({ expected, expected_currency: currency }) =>
                  expected === null || currency === null ? (
                    '–'
                  ) : (
                    <PaidAmount amount={expected} currency={currency} />
                  ),
              },
              ...(isOpen
                ? []
                : [
                    {
                      header: t.operations.differences.decision,
                      cell: (difference: PaymentDifference) => <Decision difference={difference} />,
                    },
                  ]),
            ]}
          />
        )}
      </PagedList>
      <Dialog title={t.operator.resolve} opened={deciding !== null} close={close}>
        {deciding !== null && <DecideForm difference={deciding} close={close} />}
      </Dialog>
    </>
  )
}

/** What became of a difference, by whom and why. */
function Decision({ difference }: { readonly difference: PaymentDifference }) {
  const t = useMessages('payments')
  const { state, action, reason, resolved_by: by } = difference
  if (state === 'repaired') return t.operations.differences.repaired
  const actions: Readonly<Record<string, string>> = t.operator.actions
  return (
    <>
      {actions[action ?? ''] ?? action}
      <small>{[reason, by].filter((text) => text !== null).join(' · ')}</small>
    </>
  )
}
