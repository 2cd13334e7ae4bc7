/** The append-only audit log: who did what to which object. */
import { TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { AuditRecord } from '../../../api/contract.ts'
import { isoTime } from '../../../search-params.ts'
import { useMessages } from '../../../locales/messages.ts'
import { Filters } from '../../../components/forms/filters.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { CopyButton } from '../../../components/tables/format-cells.tsx'
import { LogTime } from '../../../components/tables/time-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/audit')

export function AuditLog() {
  const t = useMessages('operations').audit
  const { actions } = useMessages('audit')
  const search = route.useSearch()
  const { from, to, ...rest } = search
  const isFiltered = Object.keys(search).length > 0
  const list = { path: '/admin/audit', filter: { ...rest, from: isoTime(from), to: isoTime(to) } }
  const navigate = route.useNavigate()
  return (
    <Page title={t.title} lead={t.lead} csv={list}>
      <Filters search={search} apply={(next) => void navigate({ search: next })}>
        {({ input }) => (
          <>
            <TextInput label={t.object} description={t.objectHint} {...input('object')} />
            <TextInput label={t.actor} placeholder="operator:ann@example.com" {...input('actor')} />
            <TextInput label={t.from} type="datetime-local" {...input('from')} />
            <TextInput label={t.to} type="datetime-local" {...input('to')} />
          </>
        )}
      </Filters>
      <PagedList<AuditRecord>
        queryKey={['admin', 'audit']}
        {...list}
        empty={
          <EmptyState title={isFiltered ? t.notFound : t.none}>
            {isFiltered ? t.notFoundLead : t.noneLead}
          </EmptyState>
        }
      >
        {(records) => (
          <Table
            label={t.title}
            rows={records}
            rowId={({ id }) => id}
            columns={[
              { header: t.time, cell: ({ time }) => <LogTime at={time} /> },
              { header: t.actor, cell: ({ actor }) => actor },
              {
                header: t.action,
                primary: true,
                cell: ({ action }) =>
                  actions[action] ? <span title={action}>{actions[action]}</span> : <code>{action}</code>,
              },
              { header: t.object, cell: (record) => <CopyButton text={record.object} /> },
              {
                header: t.detail,
                cell: ({ detail }) => (
                  <code className="clamped" title={formatDetail(detail)}>
                    {formatDetail(detail)}
                  </code>
                ),
              },
            ]}
          />
        )}
      </PagedList>
    </Page>
  )
}

function formatValue(value: unknown): string {
  if (value === null) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isChange(value: unknown): value is { readonly before: unknown; readonly after: unknown } {
  return typeof value === 'object' && value !== null && 'before' in value && 'after' in value
}

/** `name: value, …` for each field, `name: before → after` for a changed one; nested values as JSON. */
function formatDetail(detail: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(detail).filter(([, value]) => value !== undefined)
  return entries
    .map(([name, value]) => {
      if (!isChange(value)) return `${name}: ${formatValue(value)}`
      return `${name}: ${formatValue(value.before)} → ${formatValue(value.after)}`
    })
    .join(', ')
}
