/** The reference models with their prices: looked at first, then offered with one upstream behind them. */
import { Checkbox, NativeSelect } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { change, modelsQuery, upstreamsQuery } from '../../api/admin-queries.ts'
import { get } from '../../api/client.ts'
import type { Page, ReferenceModel } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction } from './use-action.ts'
import { Form } from './fields.tsx'
import { numberText } from '../format.ts'
import { Asked } from '../feedback/query-boundary.tsx'
import { PricePair } from './price-fields.tsx'
import { Table } from '../tables/table.tsx'
import { say } from '../feedback/toast.tsx'

const referenceQuery = queryOptions({
  queryKey: ['admin', 'reference-models'],
  queryFn: () => get<Page<ReferenceModel>>('/admin/reference-models'),
  staleTime: Infinity,
})

export function SeedForm({ close }: { readonly close: () => void }) {
  const existing = useQuery(modelsQuery).data?.data ?? []
  return (
    <Asked options={referenceQuery}>
      {({ data }) => (
        <SeedChoice
          models={data.filter(({ id }) => !existing.some((model) => model.id === id))}
          close={close}
        />
      )}
    </Asked>
  )
}

interface SeedChoiceProps {
  readonly models: readonly ReferenceModel[]
  readonly close: () => void
}

function SeedChoice({ models, close }: SeedChoiceProps) {
  const words = useWords('offer').models
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(models.map(({ id }) => id)))
  const [upstream, setUpstream] = useState('')
  const seed = useAction(async () => {
    for (const { price_source: _, ...model } of models.filter(({ id }) => chosen.has(id))) {
      const routes = upstream === '' ? [] : [{ upstream, model: model.id }]
      await change('POST', '/models', { ...model, listed: upstream !== '', routes })
    }
    say(words.seeded(chosen.size))
    close()
  })
  const choose = (id: string, isChosen: boolean): void =>
    setChosen((before) => (isChosen ? before.union(new Set([id])) : before.difference(new Set([id]))))
  if (models.length === 0) return <p>{words.allSeeded}</p>
  return (
    <Form action={seed} verb={words.seedVerb(chosen.size)} cancel={close} isIncomplete={chosen.size === 0}>
      <p className="quiet">{words.seedLead}</p>
      <NativeSelect
        label={words.seedUpstream}
        description={words.seedUpstreamHint}
        data={[
          { value: '', label: words.noUpstream },
          ...upstreams.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={upstream}
        onChange={(event) => setUpstream(event.currentTarget.value)}
      />
      <Table
        label={words.seed}
        rows={models}
        idOf={({ id }) => id}
        columns={[
          {
            head: words.id,
            names: true,
            cell: ({ id }) => (
              <Checkbox
                label={id}
                checked={chosen.has(id)}
                onChange={(event) => choose(id, event.currentTarget.checked)}
              />
            ),
          },
          { head: words.price, figures: true, cell: ({ prices }) => <PricePair prices={prices} /> },
          {
            head: words.priceSource,
            cell: ({ price_source: source }) => (source === 'list' ? words.fromList : words.fromReference),
          },
          { head: words.context, figures: true, cell: (model) => numberText(model.context_tokens) },
        ]}
      />
    </Form>
  )
}
