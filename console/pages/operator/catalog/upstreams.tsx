/** The places that serve models: added and tested before they are live, switched on and off, deleted. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { change, modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { Upstream } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { confirm } from '../../../parts/confirm.tsx'
import { Dialog } from '../../../components/forms/fields.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { Asked } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Copyable, When } from '../../../components/tables/format-cells.tsx'
import { Table, type Column } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'
import { UpstreamForm, UpstreamTest } from '../../../components/forms/upstream-form.tsx'
import { UpstreamState } from '../../../parts/upstream-state.tsx'

const route = getRouteApi('/shell/operator/upstreams')

/** The models that are routed to each upstream, by its id. */
function useRoutedModels(): (upstreamId: string) => string[] {
  const models = useQuery(modelsQuery).data?.data ?? []
  return (upstreamId) =>
    models.filter(({ routes }) => routes.some(({ upstream }) => upstream === upstreamId)).map(({ id }) => id)
}

export function Upstreams() {
  const words = useWords('offer').upstreams
  const navigate = route.useNavigate()
  const { add, edit, test } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {words.add}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={addButton}>
      <Asked options={upstreamsQuery}>
        {({ data }) => {
          const edited = data.find(({ id }) => id === edit)
          const tested = data.find(({ id }) => id === test)
          return (
            <>
              {data.length === 0 ? (
                <Nothing title={words.none}>
                  <p>{words.noneLead}</p>
                  {addButton}
                </Nothing>
              ) : (
                <UpstreamTable upstreams={data} />
              )}
              <Dialog title={words.addTitle} opened={add !== undefined} close={close} size="38rem">
                <UpstreamForm upstream={null} close={close} />
              </Dialog>
              {edited && (
                <Dialog title={words.editTitle(edited.name)} opened close={close} size="38rem">
                  <UpstreamForm upstream={edited} close={close} />
                </Dialog>
              )}
              {tested && (
                <Dialog title={words.testTitle(tested.name)} opened close={close}>
                  <UpstreamTest upstream={tested} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </Asked>
    </Page>
  )
}

function UpstreamTable({ upstreams }: { readonly upstreams: readonly Upstream[] }) {
  const words = useWords('offer').upstreams
  const shell = useWords('shell')
  const routed = useRoutedModels()
  const navigate = route.useNavigate()
  const ask = (upstream: Upstream, verb: 'disable' | 'delete'): void => {
    const models = routed(upstream.id)
    if (verb === 'disable') {
      confirm({
        title: words.disableTitle(upstream.name),
        effect: words.disableEffect(models.join(', ')),
        verb: words.disable,
        carryOut: () => change('PATCH', `/upstreams/${upstream.id}`, { enabled: false }),
        done: words.disabled,
      })
    } else {
      confirm({
        title: words.deleteTitle(upstream.name),
        effect: words.deleteEffect(models.length),
        verb: shell.remove,
        carryOut: () => change('DELETE', `/upstreams/${upstream.id}`),
        done: words.deleted,
      })
    }
  }
  const enable = async (upstream: Upstream): Promise<void> => {
    await change('PATCH', `/upstreams/${upstream.id}`, { enabled: true })
    say(words.enabled)
  }
  const columns: Column<Upstream>[] = [
    {
      head: words.name,
      names: true,
      cell: (upstream) => (
        <>
          <Link to="/operator/upstreams/$id" params={{ id: upstream.id }}>
            {upstream.name}
          </Link>
          <small>{upstream.provider}</small>
        </>
      ),
    },
    {
      head: words.state,
      cell: (upstream) => <UpstreamState upstream={upstream} />,
    },
    {
      head: words.baseUrl,
      wide: true,
      cell: (upstream) => <Copyable text={upstream.base_url}>{upstream.base_url}</Copyable>,
    },
    { head: words.priority, figures: true, cell: ({ priority }) => priority },
    { head: words.weight, figures: true, wide: true, cell: ({ weight }) => weight },
    { head: words.models, figures: true, cell: ({ id }) => routed(id).length },
    { head: words.changed, wide: true, cell: (upstream) => <When at={upstream.updated_at} /> },
    {
      head: words.acts,
      cell: (upstream) => (
        <span className="acts">
          <button
            type="button"
            className="link"
            onClick={() => void navigate({ search: { test: upstream.id } })}
          >
            {words.test}
          </button>
          <button
            type="button"
            className="link"
            onClick={() => void navigate({ search: { edit: upstream.id } })}
          >
            {shell.edit}
          </button>
          <button
            type="button"
            className="link"
            onClick={() => (upstream.enabled ? ask(upstream, 'disable') : void enable(upstream))}
          >
            {upstream.enabled ? words.disable : words.enable}
          </button>
          <button type="button" className="link bad" onClick={() => ask(upstream, 'delete')}>
            {shell.remove}
          </button>
        </span>
      ),
    },
  ]
  return (
    <Table
      label={words.title}
      columns={columns}
      rows={upstreams}
      idOf={({ id }) => id}
      hrefOf={({ id }) => `/operator/upstreams/${id}`}
    />
  )
}
