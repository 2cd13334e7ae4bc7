/** One upstream: where it is, its credentials, how its models are, and the requests that end there. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { healthQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { Upstream, UpstreamHealth } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { Credentials } from '../../../components/tables/credentials.tsx'
import { Dialog } from '../../../components/forms/fields.tsx'
import { durationText, numberText, percentText } from '../../../components/format.ts'
import { Asked, Loaded } from '../../../components/feedback/query-boundary.tsx'
import { Facts, Page, Section } from '../../../components/layout/page.tsx'
import { PricePair } from '../../../components/forms/price-fields.tsx'
import { Copyable, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { UpstreamForm, UpstreamTest } from '../../../components/forms/upstream-form.tsx'
import { CircuitState, UpstreamState } from '../../../parts/upstream-state.tsx'
import { Lost } from '../../not-found.tsx'

const route = getRouteApi('/shell/operator/upstreams/$id')

export function UpstreamPage() {
  const { id } = route.useParams()
  const words = useWords('offer').upstreams
  return (
    <Asked options={upstreamsQuery} title={words.title}>
      {({ data }) => {
        const upstream = data.find((each) => each.id === id)
        return upstream === undefined ? <Lost /> : <Shown upstream={upstream} />
      }}
    </Asked>
  )
}

function Shown({ upstream }: { readonly upstream: Upstream }) {
  const list = useWords('offer').upstreams
  const shell = useWords('shell')
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
            {list.test}
          </Button>
          <Button variant="default" onClick={editUpstream}>
            {shell.edit}
          </Button>
        </>
      }
    >
      <UpstreamFacts upstream={upstream} />
      <Credentials upstream={upstream} editUpstream={editUpstream} />
      <Models upstream={upstream} />
      <Dialog title={list.editTitle(upstream.name)} opened={edit !== undefined} close={close} size="38rem">
        <UpstreamForm upstream={upstream} close={close} />
      </Dialog>
      <Dialog title={list.testTitle(upstream.name)} opened={test !== undefined} close={close}>
        <UpstreamTest upstream={upstream} close={close} />
      </Dialog>
    </Page>
  )
}

function UpstreamFacts({ upstream }: { readonly upstream: Upstream }) {
  const words = useWords('traffic').upstream
  return (
    <Facts
      facts={[
        [words.state, <UpstreamState key="state" upstream={upstream} />],
        [words.provider, upstream.provider],
        [words.address, <Copyable key="address" text={upstream.base_url} />],
        [words.proxy, upstream.proxy ?? words.none],
        [words.priority, numberText(upstream.priority)],
        [words.weight, numberText(upstream.weight)],
        [words.costs, upstream.prices ? <PricePair key="costs" prices={upstream.prices} /> : words.unknown],
        [words.changed, <When key="at" at={upstream.updated_at} />],
        [words.id, <Copyable key="id" text={upstream.id} />],
      ]}
    />
  )
}

function Models({ upstream }: { readonly upstream: Upstream }) {
  const words = useWords('traffic').upstream
  const query = useQuery(healthQuery)
  return (
    <Section title={words.models} lead={words.modelsLead}>
      <Loaded query={query}>
        {({ data }) => {
          const here = data.filter((each) => each.upstream === upstream.id)
          return here.length === 0 ? <p className="quiet">{words.noModels}</p> : <ModelTable models={here} />
        }}
      </Loaded>
    </Section>
  )
}

function ModelTable({ models }: { readonly models: readonly UpstreamHealth[] }) {
  const words = useWords('traffic').upstream
  return (
    <Table
      label={words.models}
      rows={models}
      idOf={({ model }) => model}
      columns={[
        { head: words.model, names: true, cell: ({ model }) => model },
        {
          head: words.callers,
          cell: ({ models: names }) => (
            <span className="lines">
              {names.map((name) => (
                <Link key={name} to="/operator/models/$id" params={{ id: name }}>
                  {name}
                </Link>
              ))}
            </span>
          ),
        },
        { head: words.state, cell: ({ state, why }) => <CircuitState state={state} why={why} /> },
        { head: words.since, wide: true, cell: ({ since }) => <When at={since} /> },
        { head: words.requests, figures: true, cell: ({ requests }) => numberText(requests) },
        {
          head: words.errors,
          figures: true,
          cell: ({ requests, error_rate: rate }) => (requests === 0 ? '–' : percentText(rate)),
        },
        {
          head: words.latency,
          figures: true,
          cell: ({ latency_ms: ms }) => (ms === null ? '–' : durationText(ms)),
        },
      ]}
    />
  )
}
