/** All settings with their current values. They come from the environment, so this page is read-only. */
import { TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../../api/client.ts'
import { useMessages } from '../../../locales/messages.ts'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { CopyButton } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/settings')

interface Setting {
  readonly env: string
  readonly group: string
  readonly doc: string
  readonly allowed: string
  readonly standard: string
  readonly value: string | null
  readonly secret: boolean
}

const settingsQuery = queryOptions({
  queryKey: ['admin', 'settings'],
  queryFn: () => get<{ data: Setting[] }>('/admin/settings'),
})

export function Settings() {
  const t = useMessages('operations').settings
  const navigate = route.useNavigate()
  const { q = '' } = route.useSearch()
  const query = q.trim().toLowerCase()
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="filters">
        <TextInput
          label={t.filter}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.currentTarget.value }, replace: true })}
        />
      </div>
      <QueryBoundary options={settingsQuery}>
        {({ data }) => {
          const matching = data.filter(({ env, doc }) => `${env} ${doc}`.toLowerCase().includes(query))
          return matching.length === 0 ? (
            <EmptyState title={t.none} />
          ) : (
            <Table
              label={t.title}
              rows={matching}
              rowId={({ env }) => env}
              columns={[
                {
                  header: t.name,
                  primary: true,
                  cell: ({ env, doc }) => (
                    <>
                      <CopyButton text={env} />
                      <small lang="en">{doc}</small>
                    </>
                  ),
                },
                {
                  header: t.value,
                  cell: ({ value }) => (value === null ? t.notSet : <code>{value}</code>),
                },
                { header: t.defaultValue, wideOnly: true, cell: ({ standard }) => <code>{standard}</code> },
              ]}
            />
          )
        }}
      </QueryBoundary>
    </Page>
  )
}
