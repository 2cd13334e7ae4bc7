/** Adds models from the reference list with their prices, optionally routed to one upstream. */
import { Checkbox, NativeSelect } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { mutateAdmin, modelsQuery, upstreamsQuery } from '../../api/admin-queries.ts'
import { get } from '../../api/client.ts'
import type { Page, ReferenceModel } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction } from './use-action.ts'
import { Form } from './fields.tsx'
import { formatNumber } from '../format.ts'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { PricePair } from './price-fields.tsx'
import { Table } from '../tables/table.tsx'
import { showToast } from '../feedback/toast.tsx'

const referenceModelsQuery = queryOptions({
  queryKey: ['admin', 'reference-models'],
  queryFn: () => get<Page<ReferenceModel>>('/admin/reference-models'),
  staleTime: Infinity,
})

export function ReferenceModelsForm({ close }: { readonly close: () => void }) {
  const existing = useQuery(modelsQuery).data?.data ?? []
  return (
    <QueryBoundary options={referenceModelsQuery}>
      {({ data }) => (
        <ReferenceModelSelection
          models={data.filter(({ id }) => !existing.some((model) => model.id === id))}
          close={close}
        />
      )}
    </QueryBoundary>
  )
}

interface ReferenceModelSelectionProps {
  readonly models: readonly ReferenceModel[]
  readonly close: () => void
}

function ReferenceModelSelection({ models, close }: ReferenceModelSelectionProps) {
  const t = useMessages('catalog').models
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => new Set(models.map(({ id }) => id)))
  const [upstream, setUpstream] = useState('')
  const addModels = useAction(async () => {
    for (const { price_source: _, ...model } of models.filter(({ id }) => selected.has(id))) {
      const routes = upstream === '' ? [] : [{ upstream, model: model.id }]
      await mutateAdmin('POST', '/models', { ...model, listed: upstream !== '', routes })
    }
    showToast(t.imported(selected.size))
    close()
  })
  const select = (id: string, isSelected: boolean): void =>
    setSelected((before) => (isSelected ? before.union(new Set([id])) : before.difference(new Set([id]))))
  if (models.length === 0) return <p>{t.allImported}</p>
  return (
    <Form
      action={addModels}
      submitLabel={t.importVerb(selected.size)}
      cancel={close}
      isIncomplete={selected.size === 0}
    >
      <p className="muted">{t.importLead}</p>
      <NativeSelect
        label={t.importUpstream}
        description={t.importUpstreamHint}
        data={[
          { value: '', label: t.noUpstream },
          ...upstreams.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={upstream}
        onChange={(event) => setUpstream(event.currentTarget.value)}
      />
      <Table
        label={t.importReference}
        rows={models}
        rowId={({ id }) => id}
        columns={[
          {
            header: t.id,
            primary: true,
            cell: ({ id }) => (
              <Checkbox
                label={id}
                checked={selected.has(id)}
                onChange={(event) => select(id, event.currentTarget.checked)}
              />
            ),
          },
          { header: t.price, numeric: true, cell: ({ prices }) => <PricePair prices={prices} /> },
          {
            header: t.priceSource,
            cell: ({ price_source: source }) => (source === 'list' ? t.fromList : t.fromReference),
          },
          { header: t.context, numeric: true, cell: (model) => formatNumber(model.context_tokens) },
        ]}
      />
    </Form>
  )
}
