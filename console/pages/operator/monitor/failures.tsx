/** Why requests fail: cause × upstream × model, how often, since when, whose turn it is, and one sample of each. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import { get, queryOf } from '../../../api/client.ts'
import type { FailureGroup, Failures as FailuresAnswer } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { Filters, OneModel, OneNamed, SpanChoice } from '../../../parts/filters.tsx'
import { numberText, percentText } from '../../../components/format.ts'
import { Asked } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Figures, Page } from '../../../components/layout/page.tsx'
import { State, When, type Tone } from '../../../components/tables/format-cells.tsx'
import { spanOf } from '../../../parts/spans.ts'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/failures')
const tones: Readonly<Record<FailureGroup['who'], Tone>> = {
  operator: 'bad',
  provider: 'bad',
  caller: 'warn',
  nobody: 'quiet',
}

function failuresQuery(filter: Readonly<Record<string, string | undefined>>) {
  return queryOptions({
    queryKey: ['admin', 'failures', filter],
    queryFn: () => get<FailuresAnswer>(`/admin/failures${queryOf(filter)}`),
    refetchInterval: 10_000,
  })
}

export function Failures() {
  const words = useWords('running').failures
  const { span = '24h', model, upstream } = route.useSearch()
  const { from } = spanOf(span)
  return (
    <Page title={words.title} lead={words.lead}>
      <FailureFilters />
      <Asked options={failuresQuery({ from, model, upstream })}>
        {(answer) => (
          <>
            <Figures
              figures={[
                { name: words.received, value: numberText(answer.requests) },
                { name: words.failed, value: numberText(answer.failures) },
                {
                  name: words.share,
                  value: answer.requests === 0 ? '–' : percentText(answer.failures / answer.requests),
                },
              ]}
            />
            {answer.data.length === 0 ? (
              <Nothing title={words.none}>{words.noneLead}</Nothing>
            ) : (
              <FailureTable groups={answer.data} />
            )}
          </>
        )}
      </Asked>
    </Page>
  )
}

function FailureFilters() {
  const words = useWords('running').failures
  const navigate = route.useNavigate()
  const models = useQuery(modelsQuery).data?.data ?? []
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  return (
    <Filters search={route.useSearch()} go={(search) => void navigate({ search })} onlyChoices>
      {({ chosen }) => (
        <>
          <SpanChoice usual="24h" {...chosen('span')} />
          <OneModel label={words.model} of={models} {...chosen('model')} />
          <OneNamed label={words.upstream} of={upstreams} {...chosen('upstream')} />
        </>
      )}
    </Filters>
  )
}

function FailureTable({ groups }: { readonly groups: readonly FailureGroup[] }) {
  const words = useWords('running').failures
  const causes: Readonly<Record<string, string>> = { ...useWords('door').errors, ...words.faults }
  return (
    <Table
      label={words.title}
      rows={groups}
      idOf={(group) => `${group.cause} ${group.upstream ?? ''} ${group.model} ${group.http_status}`}
      columns={[
        {
          head: words.cause,
          names: true,
          cell: ({ cause, stage, http_status: status }) => (
            <>
              {causes[cause] ?? <span lang="en">{cause}</span>}
              <small>
                {words.stages[stage]} · {status}
              </small>
            </>
          ),
        },
        { head: words.upstream, cell: (group) => group.upstream_name ?? group.upstream ?? '–' },
        { head: words.model, cell: ({ model }) => (model === '' ? '–' : model) },
        { head: words.count, figures: true, cell: ({ count }) => numberText(count) },
        { head: words.ofTraffic, figures: true, cell: ({ share }) => percentText(share) },
        { head: words.first, wide: true, cell: (group) => <When at={group.first_at} /> },
        { head: words.last, cell: (group) => <When at={group.last_at} /> },
        { head: words.who, cell: ({ who }) => <State tone={tones[who]}>{words.whose[who]}</State> },
        {
          head: words.sample,
          cell: (group) => (
            <Link to="/operator/requests/$id" params={{ id: group.sample_request_id }}>
              {words.sample}
            </Link>
          ),
        },
      ]}
    />
  )
}
