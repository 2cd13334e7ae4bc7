/** The latest requests of an account with their cost and a link to the bill. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { Page, RequestRow } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { refreshMs } from '../../api/account-queries.ts'
import { formatDuration } from '../format.ts'
import { RequestOutcome } from './request-outcome.tsx'
import { Section } from '../layout/page.tsx'
import { ModelName, Money } from './format-cells.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

const latestQuery = queryOptions({
  queryKey: ['account', 'requests', 'latest'],
  queryFn: () => get<Page<RequestRow>>('/console/requests?limit=5'),
  refetchInterval: refreshMs,
  staleTime: 0,
})

/** Hidden while there are none: the getting-started list covers that case. */
export function LatestRequests() {
  const t = useMessages('account')
  const requests = useQuery(latestQuery).data?.data ?? []
  if (requests.length === 0) return null
  return (
    <Section title={t.overview.latest} actions={<Link to="/usage">{t.overview.allRequests}</Link>}>
      <Table
        label={t.overview.latest}
        rows={requests}
        rowId={(request) => request.request_id}
        rowHref={(request) => `/usage/${request.request_id}`}
        columns={[
          {
            header: t.usage.time,
            primary: true,
            cell: (request) => (
              <Link to="/usage/$id" params={{ id: request.request_id }}>
                <LogTime at={request.time} />
              </Link>
            ),
          },
          {
            header: t.usage.outcome,
            cell: ({ outcome, http_status: status, count }) => (
              <RequestOutcome outcome={outcome} status={status} count={count} />
            ),
          },
          { header: t.usage.model, cell: ({ model }) => <ModelName model={model} /> },
          { header: t.usage.key, wideOnly: true, cell: (request) => request.key_name },
          { header: t.usage.cost, numeric: true, cell: ({ cost }) => <Money amount={cost} /> },
          {
            header: t.usage.duration,
            numeric: true,
            cell: (request) => formatDuration(request.duration_ms),
          },
        ]}
      />
    </Section>
  )
}
