/** Every request that came, by whatever it is looked for; each leads to its attempts and its bill. */
import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { RequestRecord } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { Filters, OneModel, OneOf } from '../../../parts/filters.tsx'
import { durationText, numberText } from '../../../components/format.ts'
import { Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Outcome } from '../../../parts/outcome.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Money, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/requests')
const outcomes = ['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'] as const

export function Requests() {
  const words = useWords('clients').requests
  const search = route.useSearch()
  const { from, to, ...rest } = search
  const isFiltered = Object.keys(search).length > 0
  const filter = {
    ...rest,
    from: from === undefined ? undefined : new Date(from).toISOString(),
    to: to === undefined ? undefined : new Date(to).toISOString(),
  }
  return (
    <Page title={words.title} lead={words.lead}>
      <RequestFilters />
      <Paged<RequestRecord>
        name={['admin', 'requests']}
        path="/admin/requests"
        filter={filter}
        empty={
          <Nothing title={isFiltered ? words.notFound : words.none}>
            {isFiltered ? words.notFoundLead : words.noneLead}
          </Nothing>
        }
      >
        {(requests) => <RequestTable requests={requests} />}
      </Paged>
    </Page>
  )
}

function RequestFilters() {
  const words = useWords('clients').requests
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const models = useQuery(modelsQuery).data?.data ?? []
  return (
    <Filters search={route.useSearch()} go={(search) => void navigate({ search })}>
      {({ typed, chosen }) => (
        <>
          <TextInput label={words.requestId} placeholder="req_…" {...typed('request_id')} />
          <OneOf
            label={words.outcome}
            choices={outcomes.map((value) => ({ value, label: shell.outcome[value] }))}
            {...chosen('outcome')}
          />
          <OneModel label={words.model} of={models} {...chosen('model')} />
          <TextInput label={words.account} placeholder="acc_…" {...typed('account')} />
          <TextInput label={words.key} placeholder="key_…" {...typed('key')} />
          <TextInput label={words.from} type="datetime-local" {...typed('from')} />
          <TextInput label={words.to} type="datetime-local" {...typed('to')} />
        </>
      )}
    </Filters>
  )
}

function RequestTable({ requests }: { readonly requests: readonly RequestRecord[] }) {
  const words = useWords('clients').requests
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const nameOf = (id: string | null): string => upstreams.find((each) => each.id === id)?.name ?? id ?? '–'
  return (
    <Table
      label={words.title}
      rows={requests}
      idOf={(request) => request.request_id}
      hrefOf={(request) => `/operator/requests/${request.request_id}`}
      columns={[
        {
          head: words.time,
          names: true,
          cell: (request) => (
            <Link to="/operator/requests/$id" params={{ id: request.request_id }}>
              <When at={request.time} />
            </Link>
          ),
        },
        {
          head: words.outcome,
          cell: ({ outcome, http_status: status }) => <Outcome outcome={outcome} status={status} />,
        },
        { head: words.model, cell: ({ model }) => model },
        { head: words.upstream, wide: true, cell: ({ upstream }) => nameOf(upstream) },
        { head: words.input, figures: true, cell: (request) => numberText(request.prompt_tokens) },
        { head: words.output, figures: true, cell: (request) => numberText(request.completion_tokens) },
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
