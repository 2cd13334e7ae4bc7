/** The customer's invoices: requests and what became of them, and the titles that they name. */
import { Button } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAccount } from '../../api/account-queries.ts'
import type { Invoice, InvoiceTitle } from '../../api/contract.ts'
import { confirm } from '../../components/feedback/confirm-dialog.tsx'
import { EmptyState } from '../../components/feedback/empty-state.tsx'
import { PagedList, QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { Dialog } from '../../components/forms/dialog.tsx'
import {
  InvoiceTitleForm,
  invoiceTitlesQuery,
  RequestInvoiceForm,
} from '../../components/forms/invoice-forms.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { InvoiceTable } from '../../components/tables/invoice-table.tsx'
import { RowMenu } from '../../components/tables/row-menu.tsx'
import { Table } from '../../components/tables/table.tsx'
import { useMessages } from '../../locales/messages.ts'

const route = getRouteApi('/shell/billing/invoices')
const path = '/console/billing/invoices'

export function Invoices() {
  const t = useMessages('invoices')
  const navigate = route.useNavigate()
  const { add } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={<Button onClick={() => void navigate({ search: { add: 'invoice' } })}>{t.request}</Button>}
      csv={{ path }}
    >
      <PagedList<Invoice>
        queryKey={['account', 'invoices']}
        path={path}
        limit={25}
        empty={<EmptyState title={t.noInvoices}>{t.noInvoicesLead}</EmptyState>}
      >
        {(invoices) => <InvoiceTable invoices={invoices} path={path} />}
      </PagedList>
      <Section
        title={t.titles}
        actions={
          <Button variant="default" onClick={() => void navigate({ search: { add: 'title' } })}>
            {t.addTitle}
          </Button>
        }
      >
        <QueryBoundary options={invoiceTitlesQuery}>
          {({ data }) =>
            data.length === 0 ? <p className="muted">{t.noTitles}</p> : <Titles titles={data} />
          }
        </QueryBoundary>
      </Section>
      <Dialog title={t.request} opened={add === 'invoice'} close={close}>
        <RequestInvoiceForm close={close} />
      </Dialog>
      <Dialog title={t.addTitle} opened={add === 'title'} close={close}>
        <InvoiceTitleForm close={close} />
      </Dialog>
    </Page>
  )
}

function Titles({ titles }: { readonly titles: readonly InvoiceTitle[] }) {
  const t = useMessages('invoices')
  const remove = ({ id }: InvoiceTitle): void =>
    confirm({
      title: t.deleteTitle,
      description: t.deleteTitleEffect,
      confirmLabel: t.deleteTitle,
      onConfirm: () => mutateAccount('DELETE', `/billing/invoice-titles/${id}`),
      successMessage: t.titleDeleted,
    })
  return (
    <Table
      label={t.titles}
      rows={titles}
      rowId={({ id }) => id}
      columns={[
        { header: t.name, primary: true, cell: ({ title }) => title },
        { header: t.kind, cell: ({ kind }) => t.kinds[kind] },
        {
          header: t.taxNumber,
          cell: ({ tax_number: number, old_tax_number: isOld }) => (
            <>
              <span className="num">{number ?? '–'}</span>
              {isOld && <small>{t.oldTaxNumber}</small>}
            </>
          ),
        },
        { header: t.email, cell: ({ email }) => email ?? '–' },
        {
          header: t.action,
          isMenu: true,
          cell: (title) => (
            <RowMenu
              name={title.title}
              actions={[{ label: t.deleteTitle, onClick: () => remove(title), isDestructive: true }]}
            />
          ),
        },
      ]}
    />
  )
}
