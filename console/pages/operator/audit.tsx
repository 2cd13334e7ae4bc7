/** Who did what to which object. Nothing is ever changed or removed here. */
import { TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { AuditRecord } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { Filters } from '../../parts/filters.tsx'
import { Paged } from '../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../components/feedback/empty-state.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Copyable, When } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/audit')

export function Audit() {
  const words = useWords('running').audit
  const { object } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page title={words.title} lead={words.lead}>
      <Filters search={{ object }} go={(search) => void navigate({ search })}>
        {({ typed }) => (
          <TextInput label={words.object} description={words.objectHint} {...typed('object')} />
        )}
      </Filters>
      <Paged<AuditRecord>
        name={['admin', 'audit']}
        path="/admin/audit"
        filter={{ object }}
        empty={<Nothing title={words.none}>{words.noneLead}</Nothing>}
      >
        {(records) => (
          <Table
            label={words.title}
            rows={records}
            idOf={({ id }) => id}
            columns={[
              { head: words.time, cell: ({ time }) => <When at={time} /> },
              { head: words.actor, cell: ({ actor }) => actor },
              { head: words.action, names: true, cell: ({ action }) => <code>{action}</code> },
              { head: words.object, cell: (record) => <Copyable text={record.object} /> },
              {
                head: words.detail,
                cell: ({ detail }) => (
                  <code className="detail" title={detailText(detail)}>
                    {detailText(detail)}
                  </code>
                ),
              },
            ]}
          />
        )}
      </Paged>
    </Page>
  )
}

/** `name: value, …` of what changed; nested values as JSON. */
function detailText(detail: Readonly<Record<string, unknown>>): string {
  const told = Object.entries(detail).filter(([, value]) => value !== undefined)
  return told
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
