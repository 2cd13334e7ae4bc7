/** The dashboard: revenue, margin, requests, success rate, and what needs attention. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import { get } from '../../../api/client.ts'
import type { Dashboard as DashboardData } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { Chart } from '../../../components/charts/chart.tsx'
import { TrafficFlow } from '../../../components/charts/traffic-flow.tsx'
import {
  formatNumber,
  formatRoundedMoney,
  formatSuccessRate,
  formatTimeZone,
} from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { StatTiles, Page, Section } from '../../../components/layout/page.tsx'
import { KnownMoney, ModelName, Money, useCurrency } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { NeedsAttention } from './attention.tsx'

const dashboardQuery = queryOptions({
  queryKey: ['admin', 'dashboard'],
  queryFn: () => get<DashboardData>('/admin/dashboard'),
  refetchInterval: refreshMs,
  staleTime: 0,
})

export function Dashboard() {
  const t = useMessages('operations').dashboard
  const query = useQuery(dashboardQuery)
  const timezone = query.data?.timezone
  return (
    <Page
      title={t.title}
      lead={timezone === undefined ? undefined : t.timezone(formatTimeZone(timezone))}
      csv={{
        path: '/admin/usage',
        filter: { group: 'day', span: '30d', timezone },
        label: t.exportUsage(30),
      }}
    >
      <QueryResult query={query}>{(dashboard) => <DashboardContent dashboard={dashboard} />}</QueryResult>
    </Page>
  )
}

interface DashboardContentProps {
  readonly dashboard: DashboardData
}

function DashboardContent({ dashboard }: DashboardContentProps) {
  const t = useMessages('operations').dashboard
  const currency = useCurrency()
  const { today, month } = dashboard
  const money = (value: number): string => formatRoundedMoney(value, currency)
  return (
    <>
      <GettingStarted dashboard={dashboard} />
      <NeedsAttention dashboard={dashboard} />
      <StatTiles
        stats={[
          {
            name: t.revenueToday,
            definition: 'revenueToday',
            value: <Money amount={today.revenue} />,
            note: (
              <>
                {t.month} <Money amount={month.revenue} />
              </>
            ),
          },
          {
            name: t.marginToday,
            value: <KnownMoney amount={today.margin} withoutCost={today.requests_without_cost} />,
            note: (
              <>
                {t.month} <KnownMoney amount={month.margin} withoutCost={month.requests_without_cost} />
              </>
            ),
          },
          {
            name: t.requestsToday,
            definition: 'operatorRequestsToday',
            value: formatNumber(today.requests),
            note: t.perSecond(formatNumber(dashboard.requests_per_second)),
          },
          {
            name: t.successRate,
            definition: 'success24',
            value: formatSuccessRate(dashboard.success_24_hours),
            note: t.successLastHour(formatSuccessRate(dashboard.success)),
          },
          {
            name: t.balances,
            definition: 'balances',
            value: <Money amount={dashboard.accounts.balances} />,
            note: t.accounts(dashboard.accounts.all, dashboard.accounts.suspended),
          },
        ]}
      />
      <div className="charts">
        <Chart
          title={t.revenue24}
          definition="revenue24"
          points={dashboard.hours.map(({ time, revenue }) => ({ time, value: Number(revenue) }))}
          step="hour"
          format={money}
        />
        <Chart
          title={t.revenue30}
          definition="revenue30"
          points={dashboard.days.map(({ time, revenue }) => ({ time, value: Number(revenue) }))}
          step={{ dayIn: dashboard.timezone }}
          format={money}
        />
        <Chart
          title={t.requests24}
          definition="requests24"
          points={dashboard.hours.map(({ time, requests }) => ({ time, value: requests }))}
          step="hour"
          format={formatNumber}
          tone="secondary"
        />
        <Chart
          title={t.errors24}
          definition="failed24"
          points={dashboard.hours.map(({ time, errors }) => ({ time, value: errors }))}
          step="hour"
          format={formatNumber}
          tone="danger"
        />
      </div>
      <TrafficFlow />
      <ModelTable dashboard={dashboard} />
    </>
  )
}

function ModelTable({ dashboard }: DashboardContentProps) {
  const t = useMessages('operations').dashboard
  return (
    <Section title={t.models}>
      {dashboard.models.length === 0 ? (
        <p className="muted">{t.noModels}</p>
      ) : (
        <Table
          label={t.models}
          rows={dashboard.models}
          rowId={({ model }) => model}
          rowHref={({ model }) =>
            model === '' ? '/operator/failures' : `/operator/models/${encodeURIComponent(model)}`
          }
          columns={[
            {
              header: t.model,
              primary: true,
              cell: ({ model }) =>
                // Rejected before the model was known, or the model does not exist.
                model === '' ? (
                  <Link to="/operator/failures">
                    <ModelName model={model} />
                  </Link>
                ) : (
                  <Link to="/operator/models/$id" params={{ id: model }}>
                    {model}
                  </Link>
                ),
            },
            {
              header: t.requests,
              definition: 'requestsMonth',
              numeric: true,
              cell: ({ requests }) => formatNumber(requests),
            },
            {
              header: t.errors,
              definition: 'failed',
              numeric: true,
              cell: ({ errors }) => formatNumber(errors),
            },
            {
              header: t.revenue,
              definition: 'revenueMonth',
              numeric: true,
              cell: (sums) => <Money amount={sums.revenue} />,
            },
            {
              header: t.cost,
              numeric: true,
              cell: (sums) => (
                <KnownMoney amount={sums.upstream_cost} withoutCost={sums.requests_without_cost} />
              ),
            },
            {
              header: t.margin,
              numeric: true,
              cell: (sums) => <KnownMoney amount={sums.margin} withoutCost={sums.requests_without_cost} />,
            },
          ]}
        />
      )}
    </Section>
  )
}

function GettingStarted({ dashboard: { steps } }: DashboardContentProps) {
  const t = useMessages('operations').dashboard
  if (Object.values(steps).every(Boolean)) return null
  const list = [
    { isDone: steps.has_upstream, to: '/operator/upstreams', text: t.stepUpstream },
    { isDone: steps.has_model, to: '/operator/models', text: t.stepModel },
    { isDone: steps.has_account, to: '/operator/accounts', text: t.stepAccount },
    { isDone: steps.has_request, to: '/operator/requests', text: t.stepRequest },
  ] as const
  return (
    <Section title={t.steps}>
      <ol className="panel checklist">
        {list.map(({ isDone, to, text }) => (
          <li key={to} className={isDone ? 'muted' : ''}>
            <Icon name={isDone ? 'check' : 'dot'} />
            {isDone ? <s>{text}</s> : <Link to={to}>{text}</Link>}
          </li>
        ))}
      </ol>
    </Section>
  )
}
