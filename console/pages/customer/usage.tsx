/** The account's usage: over time, by model and key, and every request. Filters are kept in the URL. */
import { TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { get, queryString } from '../../api/client.ts'
import type { Point, RequestRow } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { apiKeysQuery, offeredModelsQuery, refreshMs } from '../../api/account-queries.ts'
import { Chart, useAccountDays } from '../../components/charts/chart.tsx'
import {
  Filters,
  ModelFilter,
  NamedFilter,
  SelectFilter,
  TimeRangeFilter,
} from '../../components/forms/filters.tsx'
import { formatDuration, formatNumber, formatRoundedMoney } from '../../components/format.ts'
import { QueryBoundary, PagedList } from '../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../components/feedback/empty-state.tsx'
import { RequestOutcome } from '../../components/tables/request-outcome.tsx'
import { RequestedModel } from '../../components/tables/request-units.tsx'
import { StatTiles, Page, Section } from '../../components/layout/page.tsx'
import { Money, useCurrency } from '../../components/tables/format-cells.tsx'
import { LogTime } from '../../components/tables/time-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { UsageBreakdown } from '../../components/tables/usage-breakdown.tsx'

const route = getRouteApi('/shell/usage')

interface Sums {
  readonly requests: number
  readonly errors: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
}

interface Series {
  readonly step: 'hour' | 'day'
  readonly data: readonly Point[]
  readonly total: Sums
}

function seriesQuery(filter: Readonly<Record<string, string | undefined>>) {
  return queryOptions({
    queryKey: ['account', 'series', filter],
    queryFn: () => get<Series>(`/console/usage/series${queryString(filter)}`),
    refetchInterval: refreshMs,
  })
}

export function Usage() {
  const t = useMessages('account').usage
  const { span = '30d', key, model, outcome, operation, request_id: requestId } = route.useSearch()
  const filter = { span, key, model }
  const step = span === '24h' ? 'hour' : 'day'
  const log = { outcome, operation, request_id: requestId }
  const records = { path: '/console/requests', filter: { ...filter, ...log } }
  return (
    <Page
      title={t.title}
      lead={t.lead}
      csv={{ path: '/console/usage/series', filter: { ...filter, step }, label: t.exportTotals }}
    >
      <UsageFilters />
      <QueryBoundary options={seriesQuery({ ...filter, step })}>
        {(series) => <UsageSummary series={series} />}
      </QueryBoundary>
      <div className="columns">
        <UsageBreakdown group="model" title={t.byModel} filter={filter} />
        <UsageBreakdown group="key" title={t.byKey} filter={filter} />
      </div>
      <Section title={t.records} lead={t.recordsLead} csv={records}>
        <LogFilters />
        <PagedList<RequestRow>
          queryKey={['account', 'requests']}
          {...records}
          refreshMs={refreshMs}
          empty={<EmptyState title={t.none}>{t.noneLead}</EmptyState>}
        >
          {(requests) => <RequestTable requests={requests} />}
        </PagedList>
      </Section>
    </Page>
  )
}

/** Of the whole page: figures, charts, tables and log. */
function UsageFilters() {
  const t = useMessages('account').usage
  const navigate = route.useNavigate()
  const { span, model, key, ...log } = route.useSearch()
  const models = useQuery(offeredModelsQuery).data?.data ?? []
  const keys = useQuery(apiKeysQuery).data?.data ?? []
  return (
    <Filters
      search={{ span, model, key }}
      apply={(next) => void navigate({ search: { ...log, ...next }, replace: true })}
      selectsOnly
    >
      {({ select }) => (
        <>
          <TimeRangeFilter defaultRange="30d" {...select('span')} />
          <ModelFilter label={t.model} models={models} {...select('model')} />
          <NamedFilter label={t.key} items={keys} {...select('key')} />
        </>
      )}
    </Filters>
  )
}

/** Of the log only: sums by outcome and operation are not kept. */
function LogFilters() {
  const t = useMessages('account').usage
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { outcome, operation, request_id, ...page } = route.useSearch()
  return (
    <Filters
      search={{ outcome, operation, request_id }}
      apply={(next) => void navigate({ search: { ...page, ...next }, replace: true })}
    >
      {({ input, select }) => (
        <>
          <SelectFilter
            label={t.outcome}
            options={Object.entries(shell.outcome).map(([value, label]) => ({ value, label }))}
            {...select('outcome')}
          />
          <SelectFilter
            label={shell.operation}
            options={Object.entries(shell.operationNames).map(([value, label]) => ({ value, label }))}
            {...select('operation')}
          />
          <TextInput label={t.requestId} placeholder="req_…" {...input('request_id')} />
        </>
      )}
    </Filters>
  )
}

function UsageSummary({ series: { data, step: stepName, total } }: { readonly series: Series }) {
  const t = useMessages('account').usage
  const currency = useCurrency()
  const days = useAccountDays()
  const step = stepName === 'day' ? days : 'hour'
  const points = (valueOf: (point: Point) => number) =>
    data.map((point) => ({ time: point.time, value: valueOf(point) }))
  return (
    <>
      <StatTiles
        stats={[
          {
            name: t.requests,
            definition: 'requests',
            value: formatNumber(total.requests),
            note: t.errors(formatNumber(total.errors)),
          },
          { name: t.input, value: formatNumber(total.prompt_tokens) },
          { name: t.output, value: formatNumber(total.completion_tokens) },
          { name: t.cost, definition: 'cost', value: <Money amount={total.cost} /> },
        ]}
      />
      <div className="charts">
        <Chart
          title={t.cost}
          definition="cost"
          points={points(({ cost }) => Number(cost))}
          step={step}
          format={(value) => formatRoundedMoney(value, currency)}
        />
        <Chart
          title={t.requests}
          definition="requests"
          points={points(({ requests }) => requests)}
          step={step}
          format={formatNumber}
        />
        <Chart
          title={t.input}
          points={points((point) => point.prompt_tokens)}
          step={step}
          format={formatNumber}
          tone="secondary"
        />
        <Chart
          title={t.output}
          points={points((point) => point.completion_tokens)}
          step={step}
          format={formatNumber}
          tone="secondary"
        />
      </div>
    </>
  )
}

function RequestTable({ requests }: { readonly requests: readonly RequestRow[] }) {
  const t = useMessages('account').usage
  return (
    <Table
      label={t.records}
      rows={requests}
      rowId={(request) => request.request_id}
      rowHref={(request) => `/usage/${request.request_id}`}
      columns={[
        {
          header: t.time,
          primary: true,
          cell: (request) => (
            <Link to="/usage/$id" params={{ id: request.request_id }}>
              <LogTime at={request.time} />
            </Link>
          ),
        },
        {
          header: t.outcome,
          cell: ({ outcome, http_status: status, count }) => (
            <RequestOutcome outcome={outcome} status={status} count={count} />
          ),
        },
        { header: t.model, cell: RequestedModel },
        { header: t.key, wideOnly: true, cell: (request) => request.key_name },
        { header: t.inputShort, numeric: true, cell: (request) => formatNumber(request.prompt_tokens) },
        {
          header: t.cached,
          numeric: true,
          wideOnly: true,
          cell: (request) => formatNumber(request.cached_tokens),
        },
        {
          header: t.outputShort,
          numeric: true,
          cell: (request) => formatNumber(request.completion_tokens),
        },
        { header: t.cost, numeric: true, cell: ({ cost }) => <Money amount={cost} /> },
        {
          header: t.firstToken,
          numeric: true,
          wideOnly: true,
          cell: (request) => (request.first_token_ms === null ? '–' : formatDuration(request.first_token_ms)),
        },
        { header: t.duration, numeric: true, cell: (request) => formatDuration(request.duration_ms) },
      ]}
    />
  )
}
