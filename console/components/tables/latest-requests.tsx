/** The last few requests of an account with what each cost, one click from its bill. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { Page, RequestRow } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { freshMs } from '../../api/account-queries.ts'
import { durationText } from '../format.ts'
import { Outcome } from '../../parts/outcome.tsx'
import { Section } from '../layout/page.tsx'
import { Money, When } from './format-cells.tsx'
import { Table } from './table.tsx'

const latestQuery = queryOptions({
  queryKey: ['own', 'requests', 'latest'],
  queryFn: () => get<Page<RequestRow>>('/console/requests?limit=5'),
  refetchInterval: freshMs,
  staleTime: 0,
})

/** Nothing while there is none: the first steps say what to do. */
export function LatestRequests() {
  const words = useWords('account')
  const requests = useQuery(latestQuery).data?.data ?? []
  if (requests.length === 0) return null
  return (
    <Section title={words.overview.latest} actions={<Link to="/usage">{words.overview.allRequests}</Link>}>
      <Table
        label={words.overview.latest}
        rows={requests}
        idOf={(request) => request.request_id}
        hrefOf={(request) => `/usage/${request.request_id}`}
        columns={[
          {
            head: words.usage.time,
            names: true,
            cell: (request) => (
              <Link to="/usage/$id" params={{ id: request.request_id }}>
                <When at={request.time} />
              </Link>
            ),
          },
          {
            head: words.usage.outcome,
            cell: ({ outcome, http_status: status }) => <Outcome outcome={outcome} status={status} />,
          },
          { head: words.usage.model, cell: ({ model }) => model },
          { head: words.usage.key, wide: true, cell: (request) => request.key_name },
          { head: words.usage.cost, figures: true, cell: ({ cost }) => <Money amount={cost} /> },
          {
            head: words.usage.duration,
            figures: true,
            cell: (request) => durationText(request.duration_ms),
          },
        ]}
      />
    </Section>
  )
}
