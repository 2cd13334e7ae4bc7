/** The signed-in session, shared by all pages and updated at once on sign-in and sign-out. */
import { QueryClient, queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { ApiError, call, get, setSignedOutListener } from './client.ts'
import type { Platform, Session } from './contract.ts'

export const queryClient = new QueryClient({
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

/** The cached session; fetched if there is none. */
export function loadSession(): Promise<Session> {
  return queryClient.query({ ...sessionQuery, staleTime: 'static' })
}

setSignedOutListener(() => void queryClient.invalidateQueries({ queryKey: ['session'] }))

/** Query keys that survive a change of user. */
const persistentKeys: readonly unknown[] = ['session', 'announcements']

/** Replaces the session and drops all cached data of the previous user. The shell re-renders with the new session. */
export function startSession(session: Session): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => !persistentKeys.includes(queryKey[0]) })
  queryClient.setQueryData(sessionQuery.queryKey, session)
  // They come with the user's own counts.
  void queryClient.invalidateQueries({ queryKey: ['announcements'] })
}

/** Reloads the console, so that no data of the user stays in memory. */
export async function signOut(): Promise<void> {
  await call('POST', '/console/sign-out', {})
  window.location.assign('/console/sign-in')
}

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data
}

/** The base URLs for API clients, the primary one first: the configured ones, otherwise the one in the address bar. */
export function useBaseUrls(): readonly [string, ...string[]] {
  const [first = `${window.location.origin}/v1`, ...others] = useSession().platform.base_urls
  return [first, ...others]
}

/** A one-time link as its reader can open it: without a configured URL, at the address in the address bar. */
export function useConsoleLink(link: string): string {
  const { platform } = useSession()
  if (platform.public_url !== null) return link
  const { pathname, hash } = new URL(link)
  return `${window.location.origin}${pathname}${hash}`
}

/** The deployment's settings; undefined until the session is loaded. */
export function usePlatform(): Platform | undefined {
  return useQuery({ ...sessionQuery, enabled: false }).data?.platform
}
