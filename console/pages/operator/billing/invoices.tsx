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
import { InvoiceTable } from '../../../components/tables/invoice-table.tsx'
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
          <InvoiceTable
            invoices={invoices}
            path={path}
            actions={({ id, state }) => [
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
