/** What a customer's pages ask about their own account, each with the name under which its answer is kept. */
import { queryOptions } from '@tanstack/react-query'
import { call, get } from './client.ts'
import type { OfferedModel, Overview, OwnKey, Wallet } from '../contract.ts'
import { queries } from './session.ts'

/** Figures on screen are never older than this, so two pages do not contradict each other. */
export const freshMs = 2_000

/** Makes a change and has everything that stands on it asked for anew; nobody waits for that. */
export async function changeOwn<Answer>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Answer> {
  const answer = await call<Answer>(method, `/console${path}`, body)
  void queries.invalidateQueries({ queryKey: ['own'] })
  return answer
}

export const overviewQuery = queryOptions({
  queryKey: ['own', 'overview'],
  queryFn: () => get<Overview>('/console/overview'),
  refetchInterval: freshMs,
  staleTime: 0,
})

export interface KeyList {
  readonly data: readonly OwnKey[]
  readonly most: number
  readonly stale_after_days: number
  readonly deleted_after_days: number | null
}

export const keysQuery = queryOptions({
  queryKey: ['own', 'keys'],
  queryFn: () => get<KeyList>('/console/keys'),
})

export const walletQuery = queryOptions({
  queryKey: ['own', 'wallet'],
  queryFn: () => get<Wallet>('/console/billing'),
  refetchInterval: freshMs,
  staleTime: 0,
})

export const offeredQuery = queryOptions({
  queryKey: ['own', 'models'],
  queryFn: () => get<{ data: OfferedModel[] }>('/console/models'),
})
