/** The API keys of all accounts, searchable by name, secret prefix or account. */
import { TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import type { AdminApiKey } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { ApiKeyTable } from '../../../components/tables/api-key-table.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { Filters, SelectFilter } from '../../../components/forms/filters.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'

const route = getRouteApi('/shell/operator/keys')
const statuses = ['active', 'disabled', 'expired'] as const
const orders = ['newest', 'oldest', 'last_used', 'longest_unused', 'name'] as const

export function AllApiKeys() {
  const t = useMessages('customers').keys
  const ownKeys = useMessages('account').keys
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { edit, ...search } = route.useSearch()
  const { q, status, sort } = search
  const list = { path: '/admin/keys', filter: { q, status, sort } }
  const isFiltered = q !== undefined || status !== undefined
  return (
    <Page title={t.title} lead={t.lead} csv={list}>
      <Filters search={search} apply={(next) => void navigate({ search: next })}>
        {({ input, select }) => (
          <>
            <TextInput label={t.find} placeholder="sk-slu-…" type="search" {...input('q')} />
            <SelectFilter
              label={ownKeys.status}
              options={statuses.map((value) => ({ value, label: shell.status[value] }))}
              {...select('status')}
            />
            <SelectField
              label={t.order}
              options={orders.map((value) => ({ value, label: t.orders[value] }))}
              {...select('sort')}
            />
          </>
        )}
      </Filters>
      <PagedList<AdminApiKey>
        queryKey={['admin', 'keys']}
        {...list}
        refreshMs={refreshMs}
        empty={
          <EmptyState title={isFiltered ? t.notFound : t.none}>
            {isFiltered ? t.notFoundLead : t.noneLead}
          </EmptyState>
        }
      >
        {(keys) => (
          <ApiKeyTable
            keys={keys}
            editedId={edit}
            edit={(id) => void navigate({ search: { ...search, edit: id } })}
            close={() => void navigate({ search })}
            showAccount
          />
        )}
      </PagedList>
    </Page>
  )
}
