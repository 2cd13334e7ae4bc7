/** What is sold: models with their prices and routes, and what is missing before one can be served. */
import { Button, Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { Model } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { Dialog } from '../../../components/forms/fields.tsx'
import { numberText } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { Asked } from '../../../components/feedback/query-boundary.tsx'
import { ModelForm } from '../../../components/forms/model-form.tsx'
import { BulkPrices } from '../../../components/forms/bulk-price-form.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { PricePair } from '../../../components/forms/price-fields.tsx'
import { SeedForm } from '../../../components/forms/reference-models-form.tsx'
import { State, When } from '../../../components/tables/format-cells.tsx'
import { Table, type Column } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/models')

/** Models that no request can be served by: no upstream is routed to them that is in use. */
function useServed(): (model: Model) => boolean {
  const upstreams = useQuery(upstreamsQuery).data?.data
  return (model) =>
    upstreams === undefined ||
    model.routes.some((each) => upstreams.some(({ id, enabled }) => enabled && id === each.upstream))
}

export function Models() {
  const words = useWords('offer').models
  const navigate = route.useNavigate()
  const { q = '', add, seed } = route.useSearch()
  const close = (): void => void navigate({ search: { q } })
  const open = (model: Model): void => void navigate({ to: '/operator/models/$id', params: { id: model.id } })
  const actions = (
    <>
      <Button variant="default" onClick={() => void navigate({ search: { seed: 'yes' } })}>
        {words.seed}
      </Button>
      <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
        {words.add}
      </Button>
    </>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={actions}>
      <Asked options={modelsQuery}>
        {({ data }) =>
          data.length === 0 ? (
            <Nothing title={words.none}>
              <p>{words.noneLead}</p>
              <div className="row">{actions}</div>
            </Nothing>
          ) : (
            <>
              <div className="filters">
                <TextInput
                  label={words.filter}
                  value={q}
                  onChange={(event) =>
                    void navigate({ search: { q: event.currentTarget.value }, replace: true })
                  }
                />
              </div>
              <ModelTable models={data.filter(({ id }) => id.includes(q.trim()))} />
            </>
          )
        }
      </Asked>
      <Dialog title={words.add} opened={add !== undefined} close={close} size="40rem">
        <ModelForm model={null} close={close} saved={open} />
      </Dialog>
      <Dialog title={words.seed} opened={seed !== undefined} close={close} size="46rem">
        <SeedForm close={close} />
      </Dialog>
    </Page>
  )
}

function ModelTable({ models }: { readonly models: readonly Model[] }) {
  const words = useWords('offer').models
  const isServed = useServed()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [isChanging, setChanging] = useState(false)
  const choose = (id: string, isChosen: boolean): void =>
    setChosen((before) => (isChosen ? before.union(new Set([id])) : before.difference(new Set([id]))))
  const columns: Column<Model>[] = [
    {
      head: words.id,
      names: true,
      cell: ({ id, owned_by: owner }) => (
        <span className="picked">
          <Checkbox
            aria-label={words.choose(id)}
            checked={chosen.has(id)}
            onChange={(event) => choose(id, event.currentTarget.checked)}
          />
          <span>
            <Link to="/operator/models/$id" params={{ id }}>
              {id}
            </Link>
            <small>{owner}</small>
          </span>
        </span>
      ),
    },
    {
      head: words.state,
      cell: (model) => {
        if (!isServed(model)) return <State tone="bad">{words.notServed}</State>
        return model.listed ? (
          <State tone="good">{words.listed}</State>
        ) : (
          <State tone="quiet">{words.unlisted}</State>
        )
      },
    },
    { head: words.price, figures: true, cell: ({ prices }) => <PricePair prices={prices} /> },
    {
      head: words.context,
      figures: true,
      wide: true,
      cell: ({ context_tokens: tokens }) => numberText(tokens),
    },
    { head: words.routes, figures: true, cell: ({ routes }) => routes.length },
    { head: words.changed, wide: true, cell: (model) => <When at={model.updated_at} /> },
  ]
  return (
    <>
      {chosen.size > 0 && (
        <div className="row">
          <Button variant="default" onClick={() => setChanging(true)}>
            {words.bulk(chosen.size)}
          </Button>
          <button type="button" className="link" onClick={() => setChosen(new Set())}>
            {words.chooseNone}
          </button>
        </div>
      )}
      <Table
        label={words.title}
        columns={columns}
        rows={models}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `/operator/models/${encodeURIComponent(id)}`}
      />
      <Dialog title={words.bulkTitle} opened={isChanging} close={() => setChanging(false)} size="40rem">
        <BulkPrices
          models={models.filter(({ id }) => chosen.has(id))}
          close={() => {
            setChanging(false)
            setChosen(new Set())
          }}
        />
      </Dialog>
    </>
  )
}
