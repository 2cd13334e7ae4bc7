/** The routes of a model in the order in which they are tried, with cost, margin and status. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { healthQuery, mutateAdmin, upstreamsQuery } from '../../api/admin-queries.ts'
import type { Model } from '../../api/contract.ts'
import { sortRoutes } from '../../api/sorted-routes.ts'
import { useMessages } from '../../locales/messages.ts'
import { EmptyState, ErrorMessage } from '../feedback/empty-state.tsx'
import { MarginPair, PricePair } from '../forms/price-fields.tsx'
import { useAction } from '../forms/use-action.ts'
import { CopyButton, StatusLabel, UnknownAmount } from './format-cells.tsx'
import { Table } from './table.tsx'
import { CircuitStatus } from './upstream-status.tsx'

/** In use, or paused after failures. `model`: its name at the upstream. */
function RouteStatus({ upstream, model }: { readonly upstream: string; readonly model: string }) {
  const t = useMessages('catalog').models
  const health = useQuery(healthQuery).data?.data ?? []
  const circuit = health.find((item) => item.upstream === upstream && item.model === model)
  if (circuit === undefined || circuit.state === 'closed') {
    return <StatusLabel tone="success">{t.inUse}</StatusLabel>
  }
  return <CircuitStatus state={circuit.state} reason={circuit.why} />
}

type RouteState = Pick<Model['routes'][number], 'upstream' | 'model' | 'maximum'>

/** Whether the upstream obeys a maximum of output tokens. One that was repaired can be trusted again. */
function MaximumStatus({ upstream, model, maximum }: RouteState) {
  const t = useMessages('catalog').models
  const reset = useAction(() =>
    mutateAdmin('POST', `/upstreams/${encodeURIComponent(upstream)}/reset-maximum`, { model }),
  )
  if (maximum === 'unseen') return <StatusLabel tone="neutral">{t.maximumUnseen}</StatusLabel>
  if (maximum === 'obeyed') return <StatusLabel tone="success">{t.maximumObeyed}</StatusLabel>
  return (
    <>
      <StatusLabel tone="danger">{t.maximumExceeded}</StatusLabel>
      <Button variant="default" size="compact-sm" loading={reset.isRunning} onClick={() => void reset.run()}>
        {t.resetMaximum}
      </Button>
      {reset.error && <ErrorMessage error={reset.error} />}
    </>
  )
}

export function RouteTable({ model }: { readonly model: Model }) {
  const t = useMessages('catalog').models
  const routes = useMessages('catalog').routes
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const costs = useMessages('catalog').costs
  const sortedRoutes = sortRoutes(model, upstreams)
  if (sortedRoutes.length === 0) return <EmptyState title={t.notServed}>{t.noRoutes}</EmptyState>
  return (
    <Table
      label={t.routes}
      rows={sortedRoutes}
      rowId={(item) => `${item.upstream} ${item.model}`}
      columns={[
        { header: routes.upstream, primary: true, cell: ({ known, upstream }) => known?.name ?? upstream },
        { header: routes.model, cell: (item) => <CopyButton text={item.model} /> },
        { header: routes.priority, numeric: true, cell: ({ rank }) => rank },
        { header: routes.weight, numeric: true, cell: ({ weight, known }) => weight ?? known?.weight ?? 1 },
        {
          header: t.yourCost,
          numeric: true,
          cell: ({ cost }) =>
            cost === null ? <UnknownAmount reason={costs.unknown} /> : <PricePair prices={cost} />,
        },
        {
          header: t.margin,
          numeric: true,
          cell: ({ cost }) => <MarginPair prices={model.prices} cost={cost} />,
        },
        {
          header: t.outputMaximum,
          cell: ({ upstream, model: name, maximum }) => (
            <MaximumStatus upstream={upstream} model={name} maximum={maximum} />
          ),
        },
        {
          header: t.state,
          cell: ({ known, model: upstreamModel }) =>
            known?.enabled === true ? (
              <RouteStatus upstream={known.id} model={upstreamModel} />
            ) : (
              <StatusLabel tone="neutral">{routes.off}</StatusLabel>
            ),
        },
      ]}
    />
  )
}
