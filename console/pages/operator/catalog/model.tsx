/** One model: what it costs and brings in, where its requests go, its prices so far, and how it does. */
import { Button } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { change, upstreamsQuery } from '../../../api/admin-queries.ts'
import { get, queryOf } from '../../../api/client.ts'
import type { Model, Page as ListPage, PriceVersion, RoutePlan, UsageRow } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { confirm } from '../../../parts/confirm.tsx'
import { Dialog } from '../../../components/forms/fields.tsx'
import { numberText } from '../../../components/format.ts'
import { Asked, Loaded } from '../../../components/feedback/query-boundary.tsx'
import { ModelForm } from '../../../components/forms/model-form.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Facts, Figures, Page, Section } from '../../../components/layout/page.tsx'
import { priceDraftOf, PricePair, pricesOf } from '../../../components/forms/price-fields.tsx'
import { PriceForm } from '../../../components/forms/price-form.tsx'
import { Copyable, Money, State, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/models/$id')
const usageDays = 30

function modelQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'model', id],
    queryFn: () => get<Model>(`/admin/models/${encodeURIComponent(id)}`),
  })
}

/** Sums of the last thirty days; an empty list when nobody asked. */
export function modelUsageQuery(id: string) {
  const from = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - usageDays * 86_400_000).toISOString()
  return queryOptions({
    queryKey: ['admin', 'usage', 'model', id],
    queryFn: () => get<ListPage<UsageRow>>(`/admin/usage${queryOf({ group: 'model', model: id, from })}`),
  })
}

export function ModelPage() {
  const { id } = route.useParams()
  return (
    <Asked options={modelQuery(id)} title={id}>
      {(model) => <Shown model={model} />}
    </Asked>
  )
}

function Shown({ model }: { readonly model: Model }) {
  const words = useWords('offer').models
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const { edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const remove = (): void =>
    confirm({
      title: words.deleteTitle(model.id),
      effect: words.deleteEffect,
      verb: shell.remove,
      carryOut: async () => {
        await change('DELETE', `/models/${encodeURIComponent(model.id)}`)
        await navigate({ to: '/operator/models' })
      },
      done: words.deleted,
    })
  const actions = (
    <>
      <Button variant="default" onClick={() => void navigate({ search: { edit: 'model' } })}>
        {shell.edit}
      </Button>
      <Button variant="default" color="red" onClick={remove}>
        {shell.remove}
      </Button>
    </>
  )
  return (
    <Page title={model.id} actions={actions}>
      <ModelFigures model={model} />
      <Facts
        facts={[
          [words.idForCallers, <Copyable key="id" text={model.id} />],
          [words.context, numberText(model.context_tokens)],
          [
            words.maxOutput,
            model.max_output_tokens === null ? shell.none : numberText(model.max_output_tokens),
          ],
          [words.ownedBy, model.owned_by],
          [words.state, model.listed ? words.listed : words.unlisted],
          [words.changed, <When key="at" at={model.updated_at} />],
        ]}
      />
      <Section
        title={words.price}
        lead={words.perThousand}
        actions={
          <Button onClick={() => void navigate({ search: { edit: 'price' } })}>{words.changePrice}</Button>
        }
      >
        <History model={model} />
      </Section>
      <Section title={words.routes} lead={words.routesLead}>
        <Routes model={model} />
        <Plan model={model} />
      </Section>
      <Dialog title={words.editTitle(model.id)} opened={edit === 'model'} close={close} size="40rem">
        <ModelForm model={model} close={close} saved={close} />
      </Dialog>
      <Dialog title={words.changePriceTitle(model.id)} opened={edit === 'price'} close={close} size="40rem">
        <PriceForm model={model} close={close} usage={modelUsageQuery(model.id)} />
      </Dialog>
    </Page>
  )
}

function ModelFigures({ model }: { readonly model: Model }) {
  const words = useWords('offer').models
  const usage = useQuery(modelUsageQuery(model.id))
  return (
    <Loaded query={usage}>
      {({ data }) => {
        const sums = data[0]
        const requests = sums?.requests ?? 0
        const good = requests - (sums?.errors ?? 0)
        return (
          <Figures
            figures={[
              { name: words.price, value: <PricePair prices={model.prices} />, note: words.perThousandShort },
              {
                name: words.requests30,
                value: numberText(requests),
                note: requests === 0 ? '' : words.answered(good),
              },
              { name: words.revenue30, value: <Money amount={sums?.cost ?? '0'} round /> },
              { name: words.cost30, value: <Money amount={sums?.upstream_cost ?? '0'} round /> },
              { name: words.margin30, value: <Money amount={sums?.margin ?? '0'} round /> },
            ]}
          />
        )
      }}
    </Loaded>
  )
}

function History({ model }: { readonly model: Model }) {
  const words = useWords('offer').models
  const prices = useWords('offer').prices
  const history = useQuery({
    queryKey: ['admin', 'prices', model.id],
    queryFn: () => get<ListPage<PriceVersion>>(`/admin/models/${encodeURIComponent(model.id)}/prices`),
  })
  const putBack = (version: PriceVersion): void => {
    const body = pricesOf(priceDraftOf(version.prices))
    confirm({
      title: words.putBackTitle(version.version),
      effect: (
        <>
          <PricePair prices={model.prices} /> → <PricePair prices={version.prices} />. {words.putBackEffect}
        </>
      ),
      verb: words.putBack,
      isHarmless: true,
      carryOut: () => change('PATCH', `/models/${encodeURIComponent(model.id)}`, { prices: body }),
      done: words.priceChanged,
    })
  }
  return (
    <Loaded query={history}>
      {({ data }) => (
        <Table
          label={words.history}
          rows={data}
          idOf={({ version }) => String(version)}
          columns={[
            { head: words.version, figures: true, cell: ({ version }) => version },
            { head: words.since, names: true, cell: (each) => <When at={each.effective_at} /> },
            {
              head: `${prices.input} / ${prices.output}`,
              figures: true,
              cell: (each) => <PricePair prices={each.prices} />,
            },
            {
              head: prices.cached_input,
              figures: true,
              wide: true,
              cell: ({ prices: { cached_input: price } }) =>
                typeof price === 'string' ? <Money amount={price} /> : prices.asParent,
            },
            {
              head: prices.per_request,
              figures: true,
              wide: true,
              cell: ({ prices: { per_request: price } }) =>
                typeof price === 'string' && Number(price) > 0 ? <Money amount={price} /> : '–',
            },
            {
              head: words.state,
              cell: (each) =>
                each.version === model.price_version ? (
                  <State tone="good">{words.current}</State>
                ) : (
                  <button type="button" className="link" onClick={() => putBack(each)}>
                    {words.putBack}
                  </button>
                ),
            },
          ]}
        />
      )}
    </Loaded>
  )
}

/** Where a request would go this moment, and why; nothing is called. */
function Plan({ model }: { readonly model: Model }) {
  const words = useWords('offer').models
  const plan = useQuery({
    queryKey: ['admin', 'plan', model.id],
    queryFn: () => get<RoutePlan>(`/admin/models/${encodeURIComponent(model.id)}/route`),
    refetchInterval: 5_000,
  })
  return (
    <Loaded query={plan}>
      {({ callable, why, steps }) => {
        const first = steps.find(({ order }) => order === 1)
        return callable && first ? (
          <p>
            <State tone="good">{words.goesTo(first.name)}</State>{' '}
            <span className="quiet">{words.asked(steps.filter(({ order }) => order !== null).length)}</span>
          </p>
        ) : (
          <p>
            <State tone="bad">{words.goesNowhere}</State> <span lang="en">{why}</span>
          </p>
        )
      }}
    </Loaded>
  )
}

function Routes({ model }: { readonly model: Model }) {
  const words = useWords('offer').models
  const routes = useWords('offer').routes
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const shown = model.routes
    .map((each) => {
      const upstream = upstreams.find(({ id }) => id === each.upstream)
      return { ...each, known: upstream, rank: each.priority ?? upstream?.priority ?? 0 }
    })
    .toSorted((one, other) => one.rank - other.rank)
  if (shown.length === 0) return <Nothing title={words.notServed}>{words.noRoutes}</Nothing>
  return (
    <Table
      label={words.routes}
      rows={shown}
      idOf={(each) => `${each.upstream} ${each.model}`}
      columns={[
        { head: routes.upstream, names: true, cell: ({ known, upstream }) => known?.name ?? upstream },
        { head: routes.model, cell: (each) => <Copyable text={each.model} /> },
        { head: routes.priority, figures: true, cell: ({ rank }) => rank },
        { head: routes.weight, figures: true, cell: ({ weight, known }) => weight ?? known?.weight ?? 1 },
        {
          head: words.itsCost,
          figures: true,
          cell: ({ known }) => (known?.prices ? <PricePair prices={known.prices} /> : '–'),
        },
        {
          head: words.state,
          cell: ({ known }) =>
            known?.enabled === true ? (
              <State tone="good">{words.inUse}</State>
            ) : (
              <State tone="quiet">{routes.off}</State>
            ),
        },
      ]}
    />
  )
}
