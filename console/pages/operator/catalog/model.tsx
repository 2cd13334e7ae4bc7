/** One model: price and margin, routes, price history and usage. */
import { Button } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Model, Page as ListPage, PriceVersion, RoutePlan } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { AffectedRequests } from '../../../components/feedback/change-effects.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { formatNumber } from '../../../components/format.ts'
import { QueryBoundary, QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { ModelTiles, modelUsageQuery } from './model-tiles.tsx'
import { ModelForm } from '../../../components/forms/model-form.tsx'
import { DescriptionList, Page, Section } from '../../../components/layout/page.tsx'
import { priceDraftFrom, PricePair, pricesFromDraft } from '../../../components/forms/price-fields.tsx'
import { PriceForm } from '../../../components/forms/price-form.tsx'
import { CopyButton, Money, StatusLabel, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { RouteTable } from '../../../components/tables/route-table.tsx'
import { Table, type Column } from '../../../components/tables/table.tsx'
import { hasUnitPrices, UnitPrices } from '../../../components/tables/unit-prices.tsx'
import { ServerText } from '../../../components/tables/server-text.tsx'

const route = getRouteApi('/shell/operator/models/$id')

function modelQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'model', id],
    queryFn: () => get<Model>(`/admin/models/${encodeURIComponent(id)}`),
  })
}

export function ModelPage() {
  const { id } = route.useParams()
  return (
    <QueryBoundary options={modelQuery(id)} title={id}>
      {(model) => <ModelContent model={model} />}
    </QueryBoundary>
  )
}

function ModelContent({ model }: { readonly model: Model }) {
  const t = useMessages('catalog').models
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const remove = (): void =>
    confirm({
      title: t.deleteTitle(model.id),
      description: <AffectedRequests kind="model" id={model.id} text={t.deleteEffect} />,
      confirmLabel: shell.remove,
      onConfirm: async () => {
        await mutateAdmin('DELETE', `/models/${encodeURIComponent(model.id)}`)
        await navigate({ to: '/operator/models' })
      },
      successMessage: t.deleted,
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
      <ModelTiles model={model} />
      <DescriptionList
        items={[
          [t.idForCallers, <CopyButton key="id" text={model.id} />],
          [t.context, formatNumber(model.context_tokens)],
          [
            t.maxOutput,
            model.max_output_tokens === null ? shell.unlimited : formatNumber(model.max_output_tokens),
          ],
          [t.operations, model.operations.map((each) => shell.modelOperations[each]).join(', ')],
          [t.ownedBy, model.owned_by],
          [t.state, model.listed ? t.listed : t.unlisted],
          [t.changed, <RelativeTime key="at" at={model.updated_at} />],
        ]}
      />
      <Section
        title={t.price}
        lead={t.perThousand}
        actions={
          <Button onClick={() => void navigate({ search: { edit: 'price' } })}>{t.changePrice}</Button>
        }
      >
        <PriceHistory model={model} />
      </Section>
      <Section title={t.routes} lead={t.routesLead}>
        <RouteTable model={model} />
        <RoutingPreview model={model} />
      </Section>
      <Dialog title={t.editTitle(model.id)} opened={edit === 'model'} close={close} size="48rem">
        <ModelForm model={model} close={close} saved={close} />
      </Dialog>
      <Dialog title={t.changePriceTitle(model.id)} opened={edit === 'price'} close={close} size="40rem">
        <PriceForm model={model} close={close} usage={modelUsageQuery(model.id)} />
      </Dialog>
    </Page>
  )
}

function PriceHistory({ model }: { readonly model: Model }) {
  const t = useMessages('catalog').models
  const prices = useMessages('prices').form
  const history = useQuery({
    queryKey: ['admin', 'prices', model.id],
    queryFn: () => get<ListPage<PriceVersion>>(`/admin/models/${encodeURIComponent(model.id)}/prices`),
  })
  const setPrices = (prices: Model['prices']) => () =>
    mutateAdmin('PATCH', `/models/${encodeURIComponent(model.id)}`, {
      prices: pricesFromDraft(priceDraftFrom(prices)),
    })
  const restore = (version: PriceVersion): void => {
    confirm({
      title: t.restoreTitle(version.version),
      description: (
        <>
          <PricePair prices={model.prices} /> → <PricePair prices={version.prices} />. {t.restoreEffect}
        </>
      ),
      confirmLabel: t.restore,
      isSafe: true,
      onConfirm: setPrices(version.prices),
      successMessage: t.priceChanged,
      undo: setPrices(model.prices),
    })
  }
  const unitPrices: Column<PriceVersion> = {
    header: prices.others,
    numeric: true,
    cell: (item) => <UnitPrices prices={item.prices} />,
  }
  return (
    <QueryResult query={history}>
      {({ data }) => (
        <Table
          label={t.history}
          rows={data}
          rowId={({ version }) => String(version)}
          columns={[
            { header: t.version, numeric: true, cell: ({ version }) => version },
            { header: t.since, primary: true, cell: (item) => <RelativeTime at={item.effective_at} /> },
            {
              header: `${prices.input} / ${prices.output}`,
              numeric: true,
              cell: (item) => <PricePair prices={item.prices} />,
            },
            {
              header: prices.cached_input,
              numeric: true,
              wideOnly: true,
              cell: ({ prices: { cached_input: price } }) =>
                typeof price === 'string' ? <Money amount={price} /> : prices.inherited.cached_input,
            },
            {
              header: prices.per_request,
              numeric: true,
              wideOnly: true,
              cell: ({ prices: { per_request: price } }) =>
                typeof price === 'string' && Number(price) > 0 ? <Money amount={price} /> : '–',
            },
            ...(data.some((item) => hasUnitPrices(item.prices)) ? [unitPrices] : []),
            {
              header: t.state,
              cell: (item) =>
                item.version === model.price_version ? (
                  <StatusLabel tone="success">{t.current}</StatusLabel>
                ) : (
                  <button type="button" className="link" onClick={() => restore(item)}>
                    {t.restore}
                  </button>
                ),
            },
          ]}
        />
      )}
    </QueryResult>
  )
}

/** Where a request would be routed now. Nothing is called. */
function RoutingPreview({ model }: { readonly model: Model }) {
  const t = useMessages('catalog').models
  const plan = useQuery({
    queryKey: ['admin', 'plan', model.id],
    queryFn: () => get<RoutePlan>(`/admin/models/${encodeURIComponent(model.id)}/route`),
    refetchInterval: 5_000,
  })
  return (
    <QueryResult query={plan}>
      {({ callable, why, steps }) => {
        const first = steps.find(({ order }) => order === 1)
        return callable && first ? (
          <p>
            <StatusLabel tone="success">{t.nextUpstream(first.name)}</StatusLabel>{' '}
            <span className="muted">{t.maxAttempts(steps.filter(({ order }) => order !== null).length)}</span>
          </p>
        ) : (
          <p>
            <StatusLabel tone="danger">{t.noUpstreamAvailable}</StatusLabel> <ServerText text={why} />
          </p>
        )
      }}
    </QueryResult>
  )
}
