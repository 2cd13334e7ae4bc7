/** What a page says instead of its content, or above it: that it loads, failed, or has nothing yet. */
import { Button, Loader } from '@mantine/core'
import { useEffect, useState, type ReactNode } from 'react'
import { ApiError } from '../../api/client.ts'
import { useLanguage, useWords } from '../../language.ts'
import { useErrorText } from '../forms/use-action.ts'
import { Icon } from '../layout/icon.tsx'

const patienceMs = 150

/** Says nothing for the first moment: most answers are here before one could read it. */
export function Loading() {
  const { loading } = useWords('shell')
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), patienceMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="note" role="status" aria-busy="true">
      {isSlow && (
        <>
          <Loader size="sm" /> <span>{loading}</span>
        </>
      )}
    </div>
  )
}

/** What was refused, with the request's id for support and, where it can help, another try. */
export function Refused({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const words = useWords('door')
  const language = useLanguage()
  const textOf = useErrorText()
  if (!(error instanceof ApiError)) return <p className="refused">{words.errors['server_error']}</p>
  const isVague = error.code === 'invalid_request' || error.code === 'conflict'
  return (
    <div className="refused" role="alert">
      <Icon name="alert" />
      <div>
        {textOf(error)}
        {isVague && language !== 'en' && <small lang="en">{error.message}</small>}
        {error.requestId !== null && error.status >= 500 && (
          <small>
            {words.requestId} <code>{error.requestId}</code>
          </small>
        )}
      </div>
      {retry && (
        <Button variant="default" onClick={retry}>
          {words.offline.retry}
        </Button>
      )}
    </div>
  )
}

/** Nothing here yet: what would be here, and what to do first. */
export function Nothing({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="nothing">
      <h3>{title}</h3>
      {children}
    </div>
  )
}
