/** What an account used: over time, by model and key, how fast, and every request; the filter is in the address. */
import { Button, TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { get, queryOf } from '../../api/client.ts'
import type { Point, RequestRow } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { keysQuery, offeredQuery } from '../../api/account-queries.ts'
import { Chart } from '../../components/charts/chart.tsx'
import { Filters, OneModel, OneNamed, OneOf, SpanChoice } from '../../parts/filters.tsx'
import { durationText, numberText, roundMoneyText } from '../../components/format.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { Asked, Paged } from '../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../components/feedback/empty-state.tsx'
import { Outcome } from '../../parts/outcome.tsx'
import { Figures, Page, Section } from '../../components/layout/page.tsx'
import { Money, useCurrency, When } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { spanOf } from '../../parts/spans.ts'
import { UsageBy } from '../../components/tables/usage-breakdown.tsx'

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
    queryKey: ['own', 'series', filter],
    queryFn: () => get<Series>(`/console/usage/series${queryOf(filter)}`),
  })
}

export function Usage() {
  const words = useWords('account').usage
  const { span = '30d', key, model, outcome, request_id: requestId } = route.useSearch()
  const { from, to, step } = spanOf(span)
  const filter = { from, to, key, model }
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button
          component="a"
          variant="default"
          href={`/api/console/requests.csv${queryOf({ ...filter, outcome })}`}
          leftSection={<Icon name="download" />}
        >
          {words.csv}
        </Button>
      }
    >
      <UsageFilters />
      <Asked options={seriesQuery({ ...filter, step })}>{(series) => <Over series={series} />}</Asked>
      <div className="columns">
        <UsageBy group="model" title={words.byModel} filter={filter} />
        <UsageBy group="key" title={words.byKey} filter={filter} />
      </div>
      <Section title={words.records} lead={words.recordsLead}>
        <Paged<RequestRow>
          name={['own', 'requests']}
          path="/console/requests"
          filter={{ ...filter, outcome, request_id: requestId }}
          empty={<Nothing title={words.none}>{words.noneLead}</Nothing>}
        >
          {(requests) => <Records requests={requests} />}
        </Paged>
      </Section>
    </Page>
  )
}

function UsageFilters() {
  const words = useWords('account').usage
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const models = useQuery(offeredQuery).data?.data ?? []
  const keys = useQuery(keysQuery).data?.data ?? []
  return (
    <Filters search={route.useSearch()} go={(search) => void navigate({ search, replace: true })}>
      {({ typed, chosen }) => (
        <>
          <SpanChoice usual="30d" {...chosen('span')} />
          <OneModel label={words.model} of={models} {...chosen('model')} />
          <OneNamed label={words.key} of={keys} {...chosen('key')} />
          <OneOf
            label={words.outcome}
            choices={Object.entries(shell.outcome).map(([value, label]) => ({ value, label }))}
            {...chosen('outcome')}
          />
          <TextInput label={words.requestId} placeholder="req_…" {...typed('request_id')} />
        </>
      )}
    </Filters>
  )
}

function Over({ series: { data, step, total } }: { readonly series: Series }) {
  const words = useWords('account').usage
  const currency = useCurrency()
  const points = (valueOf: (point: Point) => number) =>
    data.map((point) => ({ time: point.time, value: valueOf(point) }))
  return (
    <>
      <Figures
        figures={[
          {
            name: words.requests,
            value: numberText(total.requests),
            note: words.errors(numberText(total.errors)),
          },
          { name: words.input, value: numberText(total.prompt_tokens) },
          { name: words.output, value: numberText(total.completion_tokens) },
          { name: words.cost, value: <Money amount={total.cost} /> },
        ]}
      />
      <div className="charts">
        <Chart
          title={words.cost}
          points={points(({ cost }) => Number(cost))}
          step={step}
          textOf={(value) => roundMoneyText(value, currency)}
        />
        <Chart
          title={words.requests}
          points={points(({ requests }) => requests)}
          step={step}
          textOf={numberText}
        />
        <Chart
          title={words.input}
          points={points((point) => point.prompt_tokens)}
          step={step}
          textOf={numberText}
          tone="second"
        />
        <Chart
          title={words.output}
          points={points((point) => point.completion_tokens)}
          step={step}
          textOf={numberText}
          tone="second"
        />
      </div>
    </>
  )
}

function Records({ requests }: { readonly requests: readonly RequestRow[] }) {
  const words = useWords('account').usage
  return (
    <Table
      label={words.records}
      rows={requests}
      idOf={(request) => request.request_id}
      hrefOf={(request) => `/usage/${request.request_id}`}
      columns={[
        {
          head: words.time,
          names: true,
          cell: (request) => (
            <Link to="/usage/$id" params={{ id: request.request_id }}>
              <When at={request.time} />
            </Link>
          ),
        },
        {
          head: words.outcome,
          cell: ({ outcome, http_status: status }) => <Outcome outcome={outcome} status={status} />,
        },
        { head: words.model, cell: ({ model }) => model },
        { head: words.key, wide: true, cell: (request) => request.key_name },
        { head: words.inputShort, figures: true, cell: (request) => numberText(request.prompt_tokens) },
        {
          head: words.cached,
          figures: true,
          wide: true,
          cell: (request) => numberText(request.cached_tokens),
        },
        { head: words.outputShort, figures: true, cell: (request) => numberText(request.completion_tokens) },
        { head: words.cost, figures: true, cell: ({ cost }) => <Money amount={cost} /> },
        {
          head: words.firstToken,
          figures: true,
          wide: true,
          cell: (request) => (request.first_token_ms === null ? '–' : durationText(request.first_token_ms)),
        },
        { head: words.duration, figures: true, cell: (request) => durationText(request.duration_ms) },
      ]}
    />
  )
}
