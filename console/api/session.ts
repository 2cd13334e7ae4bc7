/** Who is signed in. Every page asks here; what signing in or out answers is put here at once. */
import { QueryClient, queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { ApiError, call, get, whenSignedOut } from './client.ts'
import type { Platform, Session } from '../contract.ts'

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

/** Kept when another person's pages are shown: who is there now, and what is told to everybody. */
const lasting: readonly unknown[] = ['session', 'announcements']

/** Nothing of the person before stays on the screen or in memory. What stands around the pages sees the change. */
export function enter(session: Session): void {
  queries.removeQueries({ predicate: ({ queryKey }) => !lasting.includes(queryKey[0]) })
  queries.setQueryData(sessionQuery.queryKey, session)
}

/** The console starts over, so that nothing of the person stays in its memory. */
export async function signOut(): Promise<void> {
  await call('POST', '/console/sign-out', {})
  window.location.assign('/console/sign-in')
}

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data
}

/** Money's currency, where the session is known; `CNY` while it is not. */
export function usePlatform(): Platform | undefined {
  return useQuery({ ...sessionQuery, enabled: false }).data?.platform
}
