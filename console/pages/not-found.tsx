/** The pages for an unknown URL and for an error while loading or rendering. */
import { Button } from '@mantine/core'
import { Link, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { ChunkError, reload, reloadWhenReachable } from '../chunks.ts'
import { useMessages } from '../locales/messages.ts'
import { ErrorMessage } from '../components/feedback/empty-state.tsx'

export function NotFound() {
  const { notFound: messages } = useMessages('auth')
  return (
    <main className="empty-state full-page">
      <h1>{messages.title}</h1>
      <p className="muted">{messages.lead}</p>
      <Link to="/">{messages.home}</Link>
    </main>
  )
}

/** The server is unreachable, or a part of the console no longer exists: the page reloads once the server responds. */
function UnavailablePage() {
  const { offline } = useMessages('auth')
  const [isReachable, setReachable] = useState<boolean | null>(null)
  useEffect(() => reloadWhenReachable(setReachable), [])
  if (isReachable === null) return <main aria-busy="true" />
  return (
    <main className="empty-state full-page">
      <h1>{isReachable ? offline.pageError : offline.title}</h1>
      {!isReachable && <p className="muted">{offline.lead}</p>}
      <Button disabled={!isReachable} onClick={reload}>
        {offline.retry}
      </Button>
    </main>
  )
}

export interface PageErrorProps {
  readonly error: unknown
  readonly retry: () => void
}

export function PageError({ error, retry }: PageErrorProps) {
  const { offline } = useMessages('auth')
  const router = useRouter()
  const retryAll = (): void => {
    retry()
    void router.invalidate()
  }
  if (error instanceof ChunkError || (error instanceof ApiError && error.status === 0)) {
    return <UnavailablePage />
  }
  return (
    <main className="empty-state full-page">
      <h1>{offline.pageError}</h1>
      <ErrorMessage error={error} />
      <Button onClick={retryAll}>{offline.retry}</Button>
    </main>
  )
}
