/** The operator's questions to the automation contract, each with the name under which its answer is kept. */
import { queryOptions } from '@tanstack/react-query'
import { call, get } from './api.ts'
import type { Model, Page, Provider, Tier, Upstream } from './contract.ts'
import { queries } from './session.ts'

/** After a change everything the operator sees is asked for anew. */
export async function changed(): Promise<void> {
  await queries.invalidateQueries({ queryKey: ['admin'] })
}

/** Makes a change and has everything that stands on it asked for anew. */
export async function change<Answer>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Answer> {
  const answer = await call<Answer>(method, `/admin${path}`, body)
  await changed()
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

export const modelsQuery = queryOptions({
  queryKey: ['admin', 'models'],
  queryFn: () => get<Page<Model>>('/admin/models'),
})

export const tiersQuery = queryOptions({
  queryKey: ['admin', 'tiers'],
  queryFn: () => get<Page<Tier>>('/admin/tiers'),
})
