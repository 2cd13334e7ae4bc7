/** Queries and mutations of the signed-in customer's own account, with their query keys. */
import { queryOptions } from '@tanstack/react-query'
import { call, get } from './client.ts'
import type {
  ApiKey,
  OfferedModel,
  Overview,
  OwnAutomaticRecharge,
  PaymentMethod,
  RequestDetail,
  Wallet,
} from './contract.ts'
import { queryClient } from './session.ts'

/** The refetch interval of live figures, short enough that two pages never contradict each other. */
export const refreshMs = 2_000

/** Sends a change, then refetches everything that depends on it in the background. */
export async function mutateAccount<Data>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Data> {
  const data = await call<Data>(method, `/console${path}`, body)
  void queryClient.invalidateQueries({ queryKey: ['account'] })
  void queryClient.invalidateQueries({ queryKey: ['announcements'] })
  return data
}

export const overviewQuery = queryOptions({
  queryKey: ['account', 'overview'],
  queryFn: () => get<Overview>('/console/overview'),
  refetchInterval: refreshMs,
  staleTime: 0,
})

export interface ApiKeyList {
  readonly data: readonly ApiKey[]
  readonly most: number
  readonly stale_after_days: number
  readonly deleted_after_days: number | null
}

export const apiKeysQuery = queryOptions({
  queryKey: ['account', 'keys'],
  queryFn: () => get<ApiKeyList>('/console/keys'),
})

export const walletQuery = queryOptions({
  queryKey: ['account', 'wallet'],
  queryFn: () => get<Wallet>('/console/billing'),
  refetchInterval: refreshMs,
  staleTime: 0,
})

/** Retried, because the record is written shortly after the response. */
export function requestQuery(id: string) {
  return queryOptions({
    queryKey: ['account', 'request', id],
    queryFn: () => get<RequestDetail>(`/console/requests/${encodeURIComponent(id)}`),
    retry: 3,
    retryDelay: 500,
  })
}

export const paymentMethodsQuery = queryOptions({
  queryKey: ['account', 'payment-methods'],
  queryFn: () => get<{ data: PaymentMethod[] }>('/console/billing/payment-methods'),
})

export const automaticRechargeQuery = queryOptions({
  queryKey: ['account', 'automatic-recharge'],
  queryFn: () => get<OwnAutomaticRecharge>('/console/auto-recharge'),
  refetchInterval: 10_000,
  staleTime: 0,
})

export const orderQueryKey = (id: string) => ['account', 'order', id] as const

export const offeredModelsQuery = queryOptions({
  queryKey: ['account', 'models'],
  queryFn: () => get<{ data: OfferedModel[] }>('/console/models'),
})
