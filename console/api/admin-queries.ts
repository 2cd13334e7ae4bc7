/** Queries and mutations of the admin API, with their query keys. */
import { queryOptions } from '@tanstack/react-query'
import { refreshMs } from './account-queries.ts'
import { call, get } from './client.ts'
import type {
  AdminPaymentMethod,
  Credential,
  Flow,
  Model,
  Page,
  PaymentRate,
  Provider,
  Tier,
  Upstream,
  UpstreamHealth,
} from './contract.ts'
import { queryClient } from './session.ts'

/** Refetches everything an operator sees. */
export function invalidateAdmin(): void {
  void queryClient.invalidateQueries({ queryKey: ['admin'] })
  void queryClient.invalidateQueries({ queryKey: ['announcements'] })
}

/** Sends a change, then refetches everything that depends on it in the background. */
export async function mutateAdmin<Data>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Data> {
  const data = await call<Data>(method, `/admin${path}`, body)
  invalidateAdmin()
  return data
}

export const providersQuery = queryOptions({
  queryKey: ['admin', 'providers'],
  queryFn: () => get<Page<Provider>>('/admin/providers'),
  staleTime: Infinity,
})

export const upstreamsQuery = queryOptions({
  queryKey: ['admin', 'upstreams'],
  queryFn: () => get<Page<Upstream>>('/admin/upstreams'),
})

export function credentialsQuery(upstreamId: string) {
  return queryOptions({
    queryKey: ['admin', 'credentials', upstreamId],
    queryFn: () => get<Page<Credential>>(`/admin/upstreams/${upstreamId}/credentials`),
  })
}

/** The paths of the requests of the last 24 hours. */
export const flowQuery = queryOptions({
  queryKey: ['admin', 'flow'],
  queryFn: () => get<Flow>('/admin/flow'),
  refetchInterval: refreshMs,
})

/** Refetched often enough to show a circuit opening and closing. */
export const healthQuery = queryOptions({
  queryKey: ['admin', 'health'],
  queryFn: () => get<Page<UpstreamHealth>>('/admin/upstreams/health'),
  refetchInterval: 5_000,
})

export const modelsQuery = queryOptions({
  queryKey: ['admin', 'models'],
  queryFn: () => get<Page<Model>>('/admin/models'),
})

export const tiersQuery = queryOptions({
  queryKey: ['admin', 'tiers'],
  queryFn: () => get<Page<Tier>>('/admin/tiers'),
})

export const paymentMethodsQuery = queryOptions({
  queryKey: ['admin', 'payment-methods'],
  queryFn: () => get<Page<AdminPaymentMethod>>('/admin/payment-methods'),
})

/** Newest first. */
export const paymentRatesQuery = queryOptions({
  queryKey: ['admin', 'payment-rates'],
  queryFn: () => get<Page<PaymentRate>>('/admin/payment-rates'),
})
