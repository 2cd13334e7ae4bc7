/** Failed requests grouped by cause, upstream and model, with count, time, owner and a sample. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import { modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import { get, queryString } from '../../../api/client.ts'
import type { FailureGroup, Failures as FailuresData } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { Filters, ModelFilter, NamedFilter, TimeRangeFilter } from '../../../components/forms/filters.tsx'
import { formatNumber, formatPercent } from '../../../components/format.ts'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { StatTiles, Page } from '../../../components/layout/page.tsx'
import { ModelName, StatusLabel, RelativeTime, type Tone } from '../../../components/tables/format-cells.tsx'
import { useFailureCause } from '../../../components/tables/failure-cause.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/failures')
const tones: Readonly<Record<FailureGroup['owner'], Tone>> = {
  relay: 'danger',
  upstream: 'danger',
  caller: 'warning',
}

function failuresQuery(filter: Readonly<Record<string, string | undefined>>) {
  return queryOptions({
    queryKey: ['admin', 'failures', filter],
    queryFn: () => get<FailuresData>(`/admin/failures${queryString(filter)}`),
    refetchInterval: refreshMs,
  })
}

export function Failures() {
  const t = useMessages('operations').failures
  const { span = '24h', model, upstream } = route.useSearch()
  const filter = { span, model, upstream }
  return (
    <Page title={t.title} lead={t.lead} csv={{ path: '/admin/failures', filter }}>
      <FailureFilters />
      <QueryBoundary options={failuresQuery(filter)}>
        {(failures) => (
          <>
            <StatTiles
              stats={[
                { name: t.received, definition: 'received', value: formatNumber(failures.requests) },
                { name: t.failed, definition: 'failed', value: formatNumber(failures.failures) },
                {
                  name: t.share,
                  definition: 'failureRate',
                  value: failures.requests === 0 ? '–' : formatPercent(failures.failures / failures.requests),
                },
              ]}
            />
            {failures.data.length === 0 ? (
              <EmptyState title={t.none}>{t.noneLead}</EmptyState>
            ) : (
              <FailureTable groups={failures.data} />
            )}
          </>
        )}
      </QueryBoundary>
    </Page>
  )
}

function FailureFilters() {
  const t = useMessages('operations').failures
  const navigate = route.useNavigate()
  const models = useQuery(modelsQuery).data?.data ?? []
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  return (
    <Filters search={route.useSearch()} apply={(search) => void navigate({ search })} selectsOnly>
      {({ select }) => (
        <>
          <TimeRangeFilter defaultRange="24h" {...select('span')} />
          <ModelFilter label={t.model} models={models} {...select('model')} />
          <NamedFilter label={t.upstream} items={upstreams} {...select('upstream')} />
        </>
      )}
    </Filters>
  )
}

function FailureTable({ groups }: { readonly groups: readonly FailureGroup[] }) {
  const t = useMessages('operations').failures
  const causeText = useFailureCause()
  return (
    <Table
      label={t.title}
      rows={groups}
      rowId={(group) => `${group.cause} ${group.upstream ?? ''} ${group.model} ${group.http_status}`}
      columns={[
        {
          header: t.cause,
          primary: true,
          cell: ({ cause, stage, http_status: status }) => (
            <>
              {causeText(cause)}
              <small>
                {t.stages[stage]} · {status}
              </small>
            </>
          ),
        },
        { header: t.upstream, cell: (group) => group.upstream_name ?? group.upstream ?? '–' },
        { header: t.model, cell: ({ model }) => <ModelName model={model} /> },
        { header: t.count, definition: 'failed', numeric: true, cell: ({ count }) => formatNumber(count) },
        {
          header: t.ofModel,
          definition: 'failureShare',
          numeric: true,
          cell: ({ share }) => formatPercent(share),
        },
        { header: t.first, wideOnly: true, cell: (group) => <RelativeTime at={group.first_at} /> },
        { header: t.last, cell: (group) => <RelativeTime at={group.last_at} /> },
        {
          header: t.owner,
          cell: ({ owner }) => <StatusLabel tone={tones[owner]}>{t.owners[owner]}</StatusLabel>,
        },
        {
          header: t.sample,
          cell: (group) => (
            <Link to="/operator/requests/$id" params={{ id: group.sample_request_id }}>
              {t.sample}
            </Link>
          ),
        },
      ]}
    />
  )
}
