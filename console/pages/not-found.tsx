/** The pages for an unknown URL and for an error while rendering. */
import { Button } from '@mantine/core'
import { Link, useRouter } from '@tanstack/react-router'
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

export interface PageErrorProps {
  readonly isOffline: boolean
  readonly error: unknown
  readonly retry: () => void
}

export function PageError({ isOffline, error, retry }: PageErrorProps) {
  const { offline } = useMessages('auth')
  const router = useRouter()
  const retryAll = (): void => {
    retry()
    void router.invalidate()
  }
  return (
    <main className="empty-state full-page">
      {isOffline ? (
        <>
          <h1>{offline.title}</h1>
          <p className="muted">{offline.lead}</p>
        </>
      ) : (
        <>
          <h1>{offline.pageError}</h1>
          <ErrorMessage error={error} />
        </>
      )}
      <Button onClick={retryAll}>{offline.retry}</Button>
    </main>
  )
}
