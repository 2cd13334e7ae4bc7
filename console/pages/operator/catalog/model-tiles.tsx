/** The figures of one model: price, requests, success rate, revenue, cost and margin. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { refreshMs } from '../../../api/account-queries.ts'
import { get, queryString } from '../../../api/client.ts'
import type { Availability, Model, Page as ListPage, UsageRow } from '../../../api/contract.ts'
import { QueryResult } from '../../../components/feedback/query-boundary.tsx'
import { PricePair } from '../../../components/forms/price-fields.tsx'
import { formatNumber, formatSuccessRate } from '../../../components/format.ts'
import { StatTiles } from '../../../components/layout/page.tsx'
import { KnownMoney, Money } from '../../../components/tables/format-cells.tsx'
import { useMessages } from '../../../locales/messages.ts'

/** The sums of the last 30 days; an empty list if there were no requests. */
export function modelUsageQuery(id: string) {
  const query = queryString({ group: 'model', model: id, span: '30d' })
  return queryOptions({
    queryKey: ['admin', 'usage', 'model', id],
    queryFn: () => get<ListPage<UsageRow>>(`/admin/usage${query}`),
    refetchInterval: refreshMs,
  })
}

function modelAvailabilityQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'availability', id],
    queryFn: () => get<Availability>(`/admin/availability${queryString({ model: id })}`),
    refetchInterval: refreshMs,
  })
}

export function ModelTiles({ model }: { readonly model: Model }) {
  const t = useMessages('catalog').models
  const usage = useQuery(modelUsageQuery(model.id))
  const last24Hours = useQuery(modelAvailabilityQuery(model.id)).data?.data[0]?.last_24_hours
  const success = last24Hours?.success_percent ?? null
  return (
    <QueryResult query={usage}>
      {({ data }) => {
        const sums = data[0]
        const requests = sums?.requests ?? 0
        const known = (amount: string | null = '0') => (
          <KnownMoney amount={amount} withoutCost={sums?.requests_without_cost ?? 0} />
        )
        return (
          <StatTiles
            stats={[
              { name: t.price, value: <PricePair prices={model.prices} />, note: t.perThousandShort },
              {
                name: t.requests30,
                definition: 'requests30',
                value: formatNumber(requests),
                note: t.failed(formatNumber(sums?.errors ?? 0)),
              },
              {
                name: t.success24,
                definition: 'success24',
                value: formatSuccessRate(success === null ? null : success / 100),
              },
              {
                name: t.revenue30,
                definition: 'revenue30',
                value: <Money amount={sums?.cost ?? '0'} />,
              },
              { name: t.cost30, value: known(sums?.upstream_cost) },
              { name: t.margin30, value: known(sums?.margin) },
            ]}
          />
        )
      }}
    </QueryResult>
  )
}
