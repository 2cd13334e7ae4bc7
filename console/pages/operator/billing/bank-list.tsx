/** A bank's list, pasted: its transfers with the orders that they seem to pay, each confirmed by a click. */
import { Button, Textarea } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/client.ts'
import type { BankRows } from '../../../api/contract.ts'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { ConfirmTransferForm } from '../../../components/forms/payment-forms.tsx'
import { submitHandler, useAction } from '../../../components/forms/use-action.ts'
import { formatMoney } from '../../../components/format.ts'
import { Page, Section } from '../../../components/layout/page.tsx'
import { CopyableText, ShortId, StatusLabel, type Tone } from '../../../components/tables/format-cells.tsx'
import { OrderState, PaidAmount } from '../../../components/tables/payment-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { useMessages } from '../../../locales/messages.ts'

interface PastedList {
  readonly at: number
  readonly csv: string
}

/** Matched again after each confirmation, as everything that an operator sees. */
const bankRowsQuery = ({ at, csv }: PastedList) =>
  queryOptions({
    queryKey: ['admin', 'bank-rows', at],
    queryFn: () => call<BankRows>('POST', '/admin/payments/bank-rows', { csv }),
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

export function BankList() {
  const t = useMessages('payments').operations.bank
  const [csv, setCsv] = useState('')
  const [pasted, setPasted] = useState<PastedList | null>(null)
  const match = useAction(async () => setPasted({ at: Date.now(), csv }))
  return (
    <Page title={t.title} lead={t.lead}>
      <form className="panel stack" onSubmit={submitHandler(match.run)}>
        <Textarea
          label={t.csv}
          description={t.csvHint}
          rows={8}
          required
          value={csv}
          onChange={(event) => setCsv(event.currentTarget.value)}
        />
        <div className="row">
          <Button type="submit" disabled={csv.trim() === ''}>
            {t.match}
          </Button>
        </div>
      </form>
      {pasted !== null && (
        <Section title={t.rows}>
          <QueryBoundary options={bankRowsQuery(pasted)}>
            {(list) => <TransferTable list={list} />}
          </QueryBoundary>
        </Section>
      )}
    </Page>
  )
}

type BankRow = BankRows['rows'][number]

const tones: Readonly<Record<BankRow['status'], Tone>> = {
  matched: 'success',
  different_amount: 'warning',
  awaits_second: 'info',
  entered: 'neutral',
  other_reference: 'warning',
  unmatched: 'neutral',
}

function TransferTable({ list }: { readonly list: BankRows }) {
  const all = useMessages('payments')
  const t = all.operations.bank
  const { currency, rows, unread_lines: unread } = list
  const [confirming, setConfirming] = useState<BankRow | null>(null)
  const close = (): void => setConfirming(null)
  return (
    <>
      {unread.length > 0 && <p className="callout warning">{t.unread(unread.join(', '))}</p>}
      {rows.length === 0 ? (
        <p className="muted">{t.none}</p>
      ) : (
        <Table
          label={t.rows}
          rows={rows}
          rowId={({ line }) => String(line)}
          columns={[
            { header: t.line, numeric: true, wideOnly: true, cell: ({ line }) => line },
            { header: all.operator.date, cell: ({ date }) => <span className="nowrap">{date ?? '–'}</span> },
            { header: all.operator.payer, primary: true, cell: ({ payer }) => payer ?? '–' },
            { header: all.amount, numeric: true, cell: (row) => <PaidAmount {...row} currency={currency} /> },
            {
              header: all.operator.bankTransaction,
              wideOnly: true,
              cell: ({ transaction }) => <CopyableText text={transaction} />,
            },
            { header: all.order, cell: (row) => <MatchedOrder row={row} currency={currency} /> },
            {
              header: all.state,
              cell: ({ status }) => <StatusLabel tone={tones[status]}>{t.statuses[status]}</StatusLabel>,
            },
            {
              header: all.operator.action,
              hasHiddenHeader: true,
              cell: (row) =>
                row.order !== null &&
                row.status !== 'entered' && (
                  <Button variant="default" size="compact-sm" onClick={() => setConfirming(row)}>
                    {t.confirm}
                  </Button>
                ),
            },
          ]}
        />
      )}
      <Dialog title={all.operator.confirm} opened={confirming !== null} close={close}>
        {confirming !== null && (
          <ConfirmTransferForm
            order={confirming.order ?? ''}
            transfer={{
              received: confirming.amount,
              transaction: confirming.transaction ?? '',
              date: confirming.date ?? '',
              payer: confirming.payer ?? '',
            }}
            close={close}
          />
        )}
      </Dialog>
    </>
  )
}

/** The order, why it was found, and what was ordered if that is another amount. */
function MatchedOrder({ row, currency }: { readonly row: BankRow; readonly currency: string }) {
  const t = useMessages('payments').operations.bank
  const { order, order_state: state, matched_by: by, status, expected } = row
  if (order === null) return '–'
  return (
    <>
      <ShortId id={order} /> {state !== null && <OrderState order={{ state }} />}
      {by !== null && <small>{t.matchedBy[by]}</small>}
      {status === 'different_amount' && expected !== null && (
        <small>{t.expected(formatMoney(expected, currency))}</small>
      )}
    </>
  )
}
