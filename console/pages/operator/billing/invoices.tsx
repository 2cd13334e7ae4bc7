/** The invoices that customers ask for: issued, refused and reversed here. */
import { getRouteApi } from '@tanstack/react-router'
import type { Invoice } from '../../../api/contract.ts'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import {
  IssueInvoiceForm,
  RefuseInvoiceForm,
  ReverseInvoiceForm,
} from '../../../components/forms/issue-invoice-forms.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { ShortId } from '../../../components/tables/format-cells.tsx'
import { InvoiceBuyer, InvoiceNumber, InvoiceState } from '../../../components/tables/invoice-cells.tsx'
import { PaidAmount } from '../../../components/tables/payment-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { LogTime } from '../../../components/tables/time-cells.tsx'
import { useMessages } from '../../../locales/messages.ts'

const route = getRouteApi('/shell/operator/invoices')
const path = '/admin/invoices'

export function OperatorInvoices() {
  const t = useMessages('invoices')
  const navigate = route.useNavigate()
  const { issue, refuse: refused, reverse } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page title={t.title} lead={t.operator.lead} csv={{ path }}>
      <PagedList<Invoice>
        queryKey={['admin', 'invoices']}
        path={path}
        empty={<EmptyState title={t.operator.noInvoices}>{t.operator.noInvoicesLead}</EmptyState>}
      >
        {(invoices) => (
          <Table
            label={t.title}
            rows={invoices}
            rowId={({ id }) => id}
            columns={[
              { header: t.time, cell: ({ created_at: at }) => <LogTime at={at} /> },
              { header: t.buyer, primary: true, cell: (invoice) => <BuyerDetails invoice={invoice} /> },
              { header: t.operator.account, cell: ({ account }) => <ShortId id={account} /> },
              { header: t.amount, numeric: true, cell: (invoice) => <PaidAmount {...invoice} /> },
              { header: t.number, cell: (invoice) => <InvoiceNumber invoice={invoice} path={path} /> },
              { header: t.state, cell: (invoice) => <InvoiceState invoice={invoice} /> },
              {
                header: t.action,
                isMenu: true,
                cell: ({ id, state }) => (
                  <RowMenu
                    name={id}
                    actions={[
                      state === 'asked' && {
                        label: t.operator.issue,
                        onClick: () => void navigate({ search: { issue: id } }),
                      },
                      state === 'asked' && {
                        label: t.operator.refuse,
                        onClick: () => void navigate({ search: { refuse: id } }),
                        isDestructive: true,
                      },
                      state === 'issued' && {
                        label: t.operator.reverse,
                        onClick: () => void navigate({ search: { reverse: id } }),
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
      <Dialog title={t.operator.issue} opened={issue !== undefined} close={close}>
        <IssueInvoiceForm invoice={issue ?? ''} close={close} />
      </Dialog>
      <Dialog title={t.operator.refuse} opened={refused !== undefined} close={close}>
        <RefuseInvoiceForm invoice={refused ?? ''} close={close} />
      </Dialog>
      <Dialog title={t.operator.reverse} opened={reverse !== undefined} close={close}>
        <ReverseInvoiceForm invoice={reverse ?? ''} close={close} />
      </Dialog>
    </Page>
  )
}

/** Everything that the operator's software asks for. */
function BuyerDetails({ invoice }: { readonly invoice: Invoice }) {
  const { address, phone, bank, bank_account: bankAccount, email, remark } = invoice.buyer
  const details = [address, phone, bank, bankAccount, email, remark].filter((each) => each !== null)
  return (
    <>
      <InvoiceBuyer invoice={invoice} />
      {details.length > 0 && <small>{details.join(' · ')}</small>}
    </>
  )
}
