/** All requests with filters; each links to its attempts and bill. */
import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import { modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { RequestRecord } from '../../../api/contract.ts'
import { isoTime } from '../../../search-params.ts'
import { useMessages } from '../../../locales/messages.ts'
import { Filters, ModelFilter, SelectFilter } from '../../../components/forms/filters.tsx'
import { formatDuration, formatNumber } from '../../../components/format.ts'
import { PagedList, QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { RequestOutcome } from '../../../components/tables/request-outcome.tsx'
import { RequestedModel } from '../../../components/tables/request-units.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Money } from '../../../components/tables/format-cells.tsx'
import { LogTime } from '../../../components/tables/time-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { ownerQuery, UnclearOwner, type OwnerFilter } from './request-owner.tsx'

const route = getRouteApi('/shell/operator/requests')
const outcomes = ['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'] as const

const path = '/admin/requests'

function filterOf(search: Readonly<Record<string, string | undefined>>, owner: OwnerFilter) {
  return { ...search, ...owner, from: isoTime(search['from']), to: isoTime(search['to']) }
}

export function Requests() {
  const t = useMessages('customers').requests
  const search = route.useSearch()
  const owner = useQuery(ownerQuery({ account: search.account, key: search.key }))
  const found = owner.data === undefined || 'unclear' in owner.data ? undefined : owner.data
  return (
    <Page title={t.title} lead={t.lead} csv={found && { path, filter: filterOf(search, found) }}>
      <RequestFilters />
      <QueryResult query={owner}>
        {(data) => ('unclear' in data ? <UnclearOwner {...data} /> : <RequestList owner={data} />)}
      </QueryResult>
    </Page>
  )
}

function RequestList({ owner }: { readonly owner: OwnerFilter }) {
  const t = useMessages('customers').requests
  const search = route.useSearch()
  const isFiltered = Object.keys(search).length > 0
  return (
    <PagedList<RequestRecord>
      queryKey={['admin', 'requests']}
      path={path}
      filter={filterOf(search, owner)}
      refreshMs={refreshMs}
      empty={
        <EmptyState title={isFiltered ? t.notFound : t.none}>
          {isFiltered ? t.notFoundLead : t.noneLead}
        </EmptyState>
      }
    >
      {(requests) => <RequestTable requests={requests} />}
    </PagedList>
  )
}

function RequestFilters() {
  const t = useMessages('customers').requests
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const models = useQuery(modelsQuery).data?.data ?? []
  return (
    <Filters search={route.useSearch()} apply={(search) => void navigate({ search })}>
      {({ input, select }) => (
        <>
          <TextInput label={t.requestId} placeholder="req_…" {...input('request_id')} />
          <SelectFilter
            label={t.outcome}
            options={outcomes.map((value) => ({ value, label: shell.outcome[value] }))}
            {...select('outcome')}
          />
          <SelectFilter
            label={shell.operation}
            options={Object.entries(shell.operationNames).map(([value, label]) => ({ value, label }))}
            {...select('operation')}
          />
          <ModelFilter label={t.model} models={models} {...select('model')} />
          <TextInput label={t.account} placeholder={t.accountHint} {...input('account')} />
          <TextInput label={t.key} placeholder={t.keyHint} {...input('key')} />
          <TextInput label={t.from} type="datetime-local" {...input('from')} />
          <TextInput label={t.to} type="datetime-local" {...input('to')} />
        </>
      )}
    </Filters>
  )
}

function RequestTable({ requests }: { readonly requests: readonly RequestRecord[] }) {
  const t = useMessages('customers').requests
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const upstreamName = (id: string | null): string =>
    upstreams.find((item) => item.id === id)?.name ?? id ?? '–'
  return (
    <Table
      label={t.title}
      rows={requests}
      rowId={(request) => request.request_id}
      rowHref={(request) => `/operator/requests/${request.request_id}`}
      columns={[
        {
          header: t.time,
          primary: true,
          cell: (request) => (
            <Link to="/operator/requests/$id" params={{ id: request.request_id }}>
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
        {
          header: t.account,
          cell: ({ account, account_email: email }) => (
            <Link to="/operator/accounts/$id" params={{ id: account }}>
              {email}
            </Link>
          ),
        },
        { header: t.key, wideOnly: true, cell: (request) => request.key_name },
        { header: t.upstream, wideOnly: true, cell: ({ upstream }) => upstreamName(upstream) },
        { header: t.input, numeric: true, cell: (request) => formatNumber(request.prompt_tokens) },
        { header: t.output, numeric: true, cell: (request) => formatNumber(request.completion_tokens) },
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
