/** One upstream: address, credentials and the health of its models. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { healthQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { Upstream, UpstreamHealth } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { Credentials } from '../../../components/tables/credentials.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { formatDuration, formatNumber, formatPercent } from '../../../components/format.ts'
import { QueryBoundary, QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { DescriptionList, Page, Section } from '../../../components/layout/page.tsx'
import { CostPair } from '../../../components/forms/cost-fields.tsx'
import { CopyButton, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { ProviderTitle } from '../../../components/tables/provider-title.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { UpstreamForm, UpstreamTest } from '../../../components/forms/upstream-form.tsx'
import { CircuitStatus, UpstreamStatus } from '../../../components/tables/upstream-status.tsx'
import { NotFound } from '../../not-found.tsx'

const route = getRouteApi('/shell/operator/upstreams/$id')

export function UpstreamPage() {
  const { id } = route.useParams()
  const t = useMessages('catalog').upstreams
  return (
    <QueryBoundary options={upstreamsQuery} title={t.title}>
      {({ data }) => {
        const upstream = data.find((item) => item.id === id)
        return upstream === undefined ? <NotFound /> : <UpstreamContent upstream={upstream} />
      }}
    </QueryBoundary>
  )
}

function UpstreamContent({ upstream }: { readonly upstream: Upstream }) {
  const upstreams = useMessages('catalog').upstreams
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { edit, test } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const editUpstream = (): void => void navigate({ search: { edit: 'yes' } })
  return (
    <Page
      title={upstream.name}
      actions={
        <>
          <Button variant="default" onClick={() => void navigate({ search: { test: 'yes' } })}>
            {upstreams.test}
          </Button>
          <Button variant="default" onClick={editUpstream}>
            {shell.edit}
          </Button>
        </>
      }
    >
      <UpstreamFacts upstream={upstream} />
      <Credentials upstream={upstream} editUpstream={editUpstream} />
      <UpstreamModelSection upstream={upstream} />
      <Dialog
        title={upstreams.editTitle(upstream.name)}
        opened={edit !== undefined}
        close={close}
        size="38rem"
      >
        <UpstreamForm upstream={upstream} close={close} />
      </Dialog>
      <Dialog title={upstreams.testTitle(upstream.name)} opened={test !== undefined} close={close}>
        <UpstreamTest upstream={upstream} close={close} />
      </Dialog>
    </Page>
  )
}

function UpstreamFacts({ upstream }: { readonly upstream: Upstream }) {
  const t = useMessages('traffic').upstream
  return (
    <DescriptionList
      items={[
        [t.state, <UpstreamStatus key="state" upstream={upstream} />],
        [t.provider, <ProviderTitle key="provider" provider={upstream.provider} />],
        [t.address, <CopyButton key="address" text={upstream.base_url} />],
        [t.proxy, upstream.proxy ?? t.none],
        [t.priority, formatNumber(upstream.priority)],
        [t.weight, formatNumber(upstream.weight)],
        [t.costs, upstream.prices ? <CostPair key="costs" costs={upstream.prices} /> : t.unknown],
        [t.changed, <RelativeTime key="at" at={upstream.updated_at} />],
        [t.id, <CopyButton key="id" text={upstream.id} />],
      ]}
    />
  )
}

function UpstreamModelSection({ upstream }: { readonly upstream: Upstream }) {
  const t = useMessages('traffic').upstream
  const query = useQuery(healthQuery)
  return (
    <Section title={t.models} lead={t.modelsLead}>
      <QueryResult query={query}>
        {({ data }) => {
          const here = data.filter((item) => item.upstream === upstream.id)
          return here.length === 0 ? <p className="muted">{t.noModels}</p> : <ModelTable models={here} />
        }}
      </QueryResult>
    </Section>
  )
}

function ModelTable({ models }: { readonly models: readonly UpstreamHealth[] }) {
  const t = useMessages('traffic').upstream
  return (
    <Table
      label={t.models}
      rows={models}
      rowId={({ model }) => model}
      columns={[
        { header: t.model, primary: true, cell: ({ model }) => model },
        {
          header: t.publicNames,
          cell: ({ models: names }) => (
            <span className="stacked-lines">
              {names.map((name) => (
                <Link key={name} to="/operator/models/$id" params={{ id: name }}>
                  {name}
                </Link>
              ))}
            </span>
          ),
        },
        { header: t.state, cell: ({ state, why }) => <CircuitStatus state={state} reason={why} /> },
        { header: t.since, wideOnly: true, cell: ({ since }) => <RelativeTime at={since} /> },
        {
          header: t.requests,
          definition: 'attempts',
          numeric: true,
          cell: ({ requests }) => formatNumber(requests),
        },
        {
          header: t.errors,
          definition: 'attemptErrors',
          numeric: true,
          cell: ({ requests, error_rate: rate }) => (requests === 0 ? '–' : formatPercent(rate)),
        },
        {
          header: t.latency,
          numeric: true,
          cell: ({ latency_ms: ms }) => (ms === null ? '–' : formatDuration(ms)),
        },
      ]}
    />
  )
}
