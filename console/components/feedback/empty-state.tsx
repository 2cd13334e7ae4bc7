/** What a page shows instead of content: loading, an error, or an empty state. */
import { Button, Loader } from '@mantine/core'
import { useEffect, useState, type ReactNode } from 'react'
import { ApiError } from '../../api/client.ts'
import { useMessages } from '../../locales/messages.ts'
import { useErrorText } from '../forms/use-action.ts'
import { SupportContact } from '../layout/branding.tsx'
import { Icon } from '../layout/icon.tsx'

const loaderDelayMs = 150

/** Shows nothing at first: most responses arrive before anyone could read it. */
export function Loading() {
  const { loading } = useMessages('shell')
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), loaderDelayMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="loading" role="status" aria-busy="true">
      {isSlow && (
        <>
          <Loader size="sm" /> <span>{loading}</span>
        </>
      )}
    </div>
  )
}

export interface ErrorMessageProps {
  readonly error: unknown
  readonly retry?: () => void
  /** Replaces the text of a 404, to name what was not found. */
  readonly notFound?: string | undefined
}

/** An error, with the request id for support and a retry button if retrying can help. */
export function ErrorMessage({ error, retry, notFound }: ErrorMessageProps) {
  const t = useMessages('auth')
  const errorText = useErrorText()
  if (!(error instanceof ApiError)) return <p className="error-message">{t.errors['server_error']}</p>
  return (
    <div className="error-message" role="alert">
      <Icon name="alert" />
      <div>
        {(error.status === 404 && notFound) || errorText(error)}
        {error.requestId !== null && error.status >= 500 && (
          <small>
            {t.requestId} <code>{error.requestId}</code>
          </small>
        )}
        {error.status >= 500 && <SupportContact />}
      </div>
      {retry && error.status !== 404 && (
        <Button variant="default" onClick={retry}>
          {t.offline.retry}
        </Button>
      )}
    </div>
  )
}

/** An empty list: what will appear here, and what to do first. */
export function EmptyState({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty-state">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
