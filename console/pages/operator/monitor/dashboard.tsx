/** How the business goes: what came in and what it cost, how fast, how well; and what needs a hand. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../../../api/client.ts'
import type { Dashboard as DashboardAnswer } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { Chart } from '../../../components/charts/chart.tsx'
import { Flow } from '../../../components/charts/traffic-flow.tsx'
import { numberText, percentText, roundMoneyText } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { Loaded } from '../../../components/feedback/query-boundary.tsx'
import { Figures, Page, Section } from '../../../components/layout/page.tsx'
import { Money, State, useCurrency } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const dashboardQuery = queryOptions({
  queryKey: ['admin', 'dashboard'],
  queryFn: () => get<DashboardAnswer>('/admin/dashboard'),
  refetchInterval: 2_000,
  staleTime: 0,
})

export function Dashboard() {
  const words = useWords('running').dashboard
  const query = useQuery(dashboardQuery)
  const timezone = query.data?.timezone
  return (
    <Page title={words.title} lead={timezone === undefined ? undefined : words.days(timezone)}>
      <Loaded query={query}>{(dashboard) => <Shown dashboard={dashboard} />}</Loaded>
    </Page>
  )
}

interface ShownProps {
  readonly dashboard: DashboardAnswer
}

function Shown({ dashboard }: ShownProps) {
  const words = useWords('running').dashboard
  const currency = useCurrency()
  const { today, month, success } = dashboard
  const money = (value: number): string => roundMoneyText(value, currency)
  return (
    <>
      <FirstSteps dashboard={dashboard} />
      <Attention dashboard={dashboard} />
      <Figures
        figures={[
          {
            name: words.revenueToday,
            value: <Money amount={today.revenue} round />,
            note: (
              <>
                {words.month} <Money amount={month.revenue} round />
              </>
            ),
          },
          {
            name: words.marginToday,
            value: <Money amount={today.margin} round />,
            note: (
              <>
                {words.month} <Money amount={month.margin} round />
              </>
            ),
          },
          {
            name: words.requestsToday,
            value: numberText(today.requests),
            note: words.perSecond(numberText(dashboard.requests_per_second)),
          },
          {
            name: words.answered,
            value: success === null ? '–' : percentText(success),
            note: words.answeredNote,
          },
          {
            name: words.balances,
            value: <Money amount={dashboard.accounts.balances} round />,
            note: words.accounts(dashboard.accounts.all, dashboard.accounts.suspended),
          },
        ]}
      />
      <div className="charts">
        <Chart
          title={words.revenue24}
          points={dashboard.hours.map(({ time, revenue }) => ({ time, value: Number(revenue) }))}
          step="hour"
          textOf={money}
        />
        <Chart
          title={words.revenue30}
          points={dashboard.days.map(({ time, revenue }) => ({ time, value: Number(revenue) }))}
          step="day"
          textOf={money}
        />
        <Chart
          title={words.requests24}
          points={dashboard.hours.map(({ time, requests }) => ({ time, value: requests }))}
          step="hour"
          textOf={numberText}
          tone="second"
        />
        <Chart
          title={words.errors24}
          points={dashboard.hours.map(({ time, errors }) => ({ time, value: errors }))}
          step="hour"
          textOf={numberText}
          tone="bad"
        />
      </div>
      <Flow />
      <Models dashboard={dashboard} />
    </>
  )
}

function Models({ dashboard }: ShownProps) {
  const words = useWords('running').dashboard
  return (
    <Section title={words.models}>
      {dashboard.models.length === 0 ? (
        <p className="quiet">{words.noModels}</p>
      ) : (
        <Table
          label={words.models}
          rows={dashboard.models}
          idOf={({ model }) => model}
          hrefOf={({ model }) =>
            model === '' ? '/operator/failures' : `/operator/models/${encodeURIComponent(model)}`
          }
          columns={[
            {
              head: words.model,
              names: true,
              cell: ({ model }) =>
                // Refused before its model was known, or naming none that there is.
                model === '' ? (
                  <Link to="/operator/failures">{words.noSuchModel}</Link>
                ) : (
                  <Link to="/operator/models/$id" params={{ id: model }}>
                    {model}
                  </Link>
                ),
            },
            { head: words.requests, figures: true, cell: ({ requests }) => numberText(requests) },
            { head: words.errors, figures: true, cell: ({ errors }) => numberText(errors) },
            { head: words.revenue, figures: true, cell: (sums) => <Money amount={sums.revenue} round /> },
            {
              head: words.cost,
              figures: true,
              cell: (sums) => <Money amount={sums.upstream_cost} round />,
            },
            { head: words.margin, figures: true, cell: (sums) => <Money amount={sums.margin} round /> },
          ]}
        />
      )}
    </Section>
  )
}

function FirstSteps({ dashboard: { steps } }: ShownProps) {
  const words = useWords('running').dashboard
  if (Object.values(steps).every(Boolean)) return null
  const list = [
    { isDone: steps.has_upstream, to: '/operator/upstreams', text: words.stepUpstream },
    { isDone: steps.has_model, to: '/operator/models', text: words.stepModel },
    { isDone: steps.has_account, to: '/operator/accounts', text: words.stepAccount },
    { isDone: steps.has_request, to: '/operator/requests', text: words.stepRequest },
  ] as const
  return (
    <Section title={words.steps}>
      <ol className="panel steps">
        {list.map(({ isDone, to, text }) => (
          <li key={to} className={isDone ? 'quiet' : ''}>
            <Icon name={isDone ? 'check' : 'dot'} />
            {isDone ? <s>{text}</s> : <Link to={to}>{text}</Link>}
          </li>
        ))}
      </ol>
    </Section>
  )
}

function Attention({ dashboard: { unserved, open_limit_requests: asked } }: ShownProps) {
  const words = useWords('running').dashboard
  if (unserved.length === 0 && asked === 0) return null
  return (
    <ul className="panel steps" aria-label={words.attention}>
      {unserved.map(({ model, missing }) => (
        <li key={model}>
          <State tone="bad">{words.missing[missing]}</State>
          <Link to="/operator/models/$id" params={{ id: model }}>
            {model}
          </Link>
        </li>
      ))}
      {asked > 0 && (
        <li>
          <Link to="/operator/limit-requests" search={{ status: 'open' }}>
            {words.asked(asked)}
          </Link>
        </li>
      )}
    </ul>
  )
}
