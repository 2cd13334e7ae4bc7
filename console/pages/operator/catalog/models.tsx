/** The models on offer with prices and routes, and whether each can be served. */
import { Button, Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { modelsQuery, upstreamsQuery } from '../../../api/admin-queries.ts'
import type { Model } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { formatNumber } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { ModelForm } from '../../../components/forms/model-form.tsx'
import { BulkPriceForm } from '../../../components/forms/bulk-price-form.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { PricePair } from '../../../components/forms/price-fields.tsx'
import { ReferenceModelsForm } from '../../../components/forms/reference-models-form.tsx'
import { StatusLabel, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { ModelOperations } from '../../../components/tables/operation-name.tsx'
import { Table, type Column } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/models')

/** Tells whether a model has a route to an enabled upstream. */
function useIsServed(): (model: Model) => boolean {
  const upstreams = useQuery(upstreamsQuery).data?.data
  return (model) =>
    upstreams === undefined ||
    model.routes.some((item) => upstreams.some(({ id, enabled }) => enabled && id === item.upstream))
}

export function Models() {
  const t = useMessages('catalog').models
  const navigate = route.useNavigate()
  const { q = '', add, seed } = route.useSearch()
  const close = (): void => void navigate({ search: { q } })
  const open = (model: Model): void => void navigate({ to: '/operator/models/$id', params: { id: model.id } })
  const actions = (
    <>
      <Button variant="default" onClick={() => void navigate({ search: { seed: 'yes' } })}>
        {t.importReference}
      </Button>
      <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
        {t.add}
      </Button>
    </>
  )
  return (
    <Page title={t.title} lead={t.lead} csv={{ path: '/admin/models', filter: { q } }} actions={actions}>
      <QueryBoundary options={modelsQuery}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title={t.none}>
              <p>{t.noneLead}</p>
              <div className="row">{actions}</div>
            </EmptyState>
          ) : (
            <>
              <div className="filters">
                <TextInput
                  label={t.filter}
                  value={q}
                  onChange={(event) =>
                    void navigate({ search: { q: event.currentTarget.value }, replace: true })
                  }
                />
              </div>
              <ModelTable
                models={data.filter(({ id }) => id.toLowerCase().includes(q.trim().toLowerCase()))}
              />
            </>
          )
        }
      </QueryBoundary>
      <Dialog title={t.add} opened={add !== undefined} close={close} size="48rem">
        <ModelForm model={null} close={close} saved={open} />
      </Dialog>
      <Dialog title={t.importReference} opened={seed !== undefined} close={close} size="46rem">
        <ReferenceModelsForm close={close} />
      </Dialog>
    </Page>
  )
}

function ModelTable({ models }: { readonly models: readonly Model[] }) {
  const t = useMessages('catalog').models
  const isServed = useIsServed()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isBulkEditing, setBulkEditing] = useState(false)
  const select = (id: string, isSelected: boolean): void =>
    setSelected((before) => (isSelected ? before.union(new Set([id])) : before.difference(new Set([id]))))
  const columns: Column<Model>[] = [
    {
      header: t.id,
      primary: true,
      cell: ({ id, owned_by: owner, operations }) => (
        <span className="select-cell">
          <Checkbox
            aria-label={t.select(id)}
            checked={selected.has(id)}
            onChange={(event) => select(id, event.currentTarget.checked)}
          />
          <span>
            <Link to="/operator/models/$id" params={{ id }}>
              {id}
            </Link>
            <small>{owner}</small>
            <ModelOperations operations={operations} />
          </span>
        </span>
      ),
    },
    {
      header: t.state,
      cell: (model) => {
        if (!isServed(model)) return <StatusLabel tone="danger">{t.notServed}</StatusLabel>
        return model.listed ? (
          <StatusLabel tone="success">{t.listed}</StatusLabel>
        ) : (
          <StatusLabel tone="neutral">{t.unlisted}</StatusLabel>
        )
      },
    },
    { header: t.price, numeric: true, cell: ({ prices }) => <PricePair prices={prices} /> },
    {
      header: t.context,
      numeric: true,
      wideOnly: true,
      cell: ({ context_tokens: tokens }) => formatNumber(tokens),
    },
    { header: t.routes, numeric: true, cell: ({ routes }) => routes.length },
    { header: t.changed, wideOnly: true, cell: (model) => <RelativeTime at={model.updated_at} /> },
  ]
  return (
    <>
      {selected.size > 0 && (
        <div className="row">
          <Button variant="default" onClick={() => setBulkEditing(true)}>
            {t.bulk(selected.size)}
          </Button>
          <button type="button" className="link" onClick={() => setSelected(new Set())}>
            {t.clearSelection}
          </button>
        </div>
      )}
      <Table
        label={t.title}
        columns={columns}
        rows={models}
        rowId={({ id }) => id}
        rowHref={({ id }) => `/operator/models/${encodeURIComponent(id)}`}
      />
      <Dialog title={t.bulkTitle} opened={isBulkEditing} close={() => setBulkEditing(false)} size="40rem">
        <BulkPriceForm
          models={models.filter(({ id }) => selected.has(id))}
          close={() => {
            setBulkEditing(false)
            setSelected(new Set())
          }}
        />
      </Dialog>
    </>
  )
}
