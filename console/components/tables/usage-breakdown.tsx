/** Usage by model or key, most expensive first; a row links to the page filtered by it. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { offeredModelsQuery, refreshMs } from '../../api/account-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatNumber } from '../format.ts'
import { PagedList } from '../feedback/query-boundary.tsx'
import { Section } from '../layout/page.tsx'
import { ModelName, Money } from './format-cells.tsx'
import { ModelOperations } from './operation-name.tsx'
import { Table } from './table.tsx'

interface UsageGroup {
  readonly id: string
  readonly name: string
  readonly requests: number
  readonly errors: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
}

export interface UsageBreakdownProps {
  readonly group: 'model' | 'key'
  readonly title: string
  readonly filter: Readonly<Record<string, string | undefined>>
}

export function UsageBreakdown({ group, title, filter }: UsageBreakdownProps) {
  const t = useMessages('account').usage
  const models = useQuery(offeredModelsQuery).data?.data ?? []
  const operationsOf = (id: string) => models.find((model) => model.id === id)?.operations ?? []
  const list = { path: '/console/usage/by', filter: { ...filter, group } }
  return (
    <Section title={title} csv={list}>
      <PagedList<UsageGroup>
        queryKey={['account', 'by', group]}
        {...list}
        limit={10}
        refreshMs={refreshMs}
        empty={<p className="muted panel">{t.none}</p>}
      >
        {(groups) => (
          <Table
            label={title}
            rows={groups}
            rowId={({ id }) => id}
            columns={[
              {
                header: group === 'model' ? t.model : t.key,
                primary: true,
                cell: ({ id, name }) =>
                  id === '' ? (
                    <ModelName model={id} />
                  ) : (
                    <>
                      <Link to="/usage" search={(before) => ({ ...before, [group]: id })}>
                        {name}
                      </Link>
                      {group === 'model' && <ModelOperations operations={operationsOf(id)} />}
                    </>
                  ),
              },
              {
                header: t.requests,
                definition: 'requests',
                numeric: true,
                cell: ({ requests }) => formatNumber(requests),
              },
              {
                header: t.tokens,
                numeric: true,
                cell: (sums) => formatNumber(sums.prompt_tokens + sums.completion_tokens),
              },
              {
                header: t.cost,
                definition: 'cost',
                numeric: true,
                cell: ({ cost }) => <Money amount={cost} />,
              },
            ]}
          />
        )}
      </PagedList>
    </Section>
  )
}
