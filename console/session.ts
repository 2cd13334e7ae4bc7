/** Who is signed in. Every page asks here; what signing in or out answers is put here at once. */
import { QueryClient, queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { ApiError, call, get, whenSignedOut } from './api.ts'
import type { Platform, Session } from './contract.ts'

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) =>
        count < 2 && error instanceof ApiError && (error.status === 0 || error.status === 503),
      refetchOnWindowFocus: true,
    },
  },
})

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => get<Session>('/console/session'),
  staleTime: 60_000,
})

/** The session as it is known, asked for when it is not. */
export function knownSession(): Promise<Session> {
  return queries.query({ ...sessionQuery, staleTime: 'static' })
}

whenSignedOut(() => void queries.invalidateQueries({ queryKey: ['session'] }))

/** Nothing of the person before stays on the screen or in memory. */
export function enter(session: Session): void {
  queries.clear()
  queries.setQueryData(sessionQuery.queryKey, session)
}

export async function signOut(): Promise<void> {
  await call('POST', '/console/sign-out', {})
  queries.clear()
}

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data
}

/** Money's currency, where the session is known; `CNY` while it is not. */
export function usePlatform(): Platform | undefined {
  return useQuery({ ...sessionQuery, enabled: false }).data?.platform
}
