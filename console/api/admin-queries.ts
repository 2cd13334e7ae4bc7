/** The operator's questions to the automation contract, each with the name under which its answer is kept. */
import { queryOptions } from '@tanstack/react-query'
import { call, get } from './client.ts'
import type { Model, Page, Provider, Tier, Upstream, UpstreamHealth } from '../contract.ts'
import { queries } from './session.ts'

/** After a change everything the operator sees is asked for anew. */
export function changed(): void {
  void queries.invalidateQueries({ queryKey: ['admin'] })
}

/** Makes a change and has everything that stands on it asked for anew; nobody waits for that. */
export async function change<Answer>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Answer> {
  const answer = await call<Answer>(method, `/admin${path}`, body)
  changed()
  return answer
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

/** Fresh enough to see an upstream rest and come back. */
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
