/** Every setting as this relay runs with it. They are set by the environment, so they are told here and not changed. */
import { TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../../api/client.ts'
import { useWords } from '../../../language.ts'
import { Asked } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Copyable } from '../../../components/tables/format-cells.tsx'
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
  const words = useWords('running').settings
  const navigate = route.useNavigate()
  const { q = '' } = route.useSearch()
  const wanted = q.trim().toLowerCase()
  return (
    <Page title={words.title} lead={words.lead}>
      <div className="filters">
        <TextInput
          label={words.filter}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.currentTarget.value }, replace: true })}
        />
      </div>
      <Asked options={settingsQuery}>
        {({ data }) => {
          const shown = data.filter(({ env, doc }) => `${env} ${doc}`.toLowerCase().includes(wanted))
          return shown.length === 0 ? (
            <Nothing title={words.none} />
          ) : (
            <Table
              label={words.title}
              rows={shown}
              idOf={({ env }) => env}
              columns={[
                {
                  head: words.name,
                  names: true,
                  cell: ({ env, doc }) => (
                    <>
                      <Copyable text={env} />
                      <small lang="en">{doc}</small>
                    </>
                  ),
                },
                {
                  head: words.value,
                  cell: ({ value }) => (value === null ? words.notSet : <code>{value}</code>),
                },
                { head: words.standard, wide: true, cell: ({ standard }) => <code>{standard}</code> },
              ]}
            />
          )
        }}
      </Asked>
    </Page>
  )
}
