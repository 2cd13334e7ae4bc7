/** Where there is no page, and where one could not be shown. */
import { Button } from '@mantine/core'
import { Link, useRouter } from '@tanstack/react-router'
import { useWords } from '../language.ts'
import { Refused } from '../components/feedback/empty-state.tsx'

export function Lost() {
  const { lost } = useWords('door')
  return (
    <main className="nothing alone">
      <h1>{lost.title}</h1>
      <p className="quiet">{lost.lead}</p>
      <Link to="/">{lost.home}</Link>
    </main>
  )
}

export interface BrokenProps {
  readonly isOffline: boolean
  readonly error: unknown
  readonly retry: () => void
}

export function Broken({ isOffline, error, retry }: BrokenProps) {
  const { offline } = useWords('door')
  const router = useRouter()
  const again = (): void => {
    retry()
    void router.invalidate()
  }
  return (
    <main className="nothing alone">
      {isOffline ? (
        <>
          <h1>{offline.title}</h1>
          <p className="quiet">{offline.lead}</p>
        </>
      ) : (
        <>
          <h1>{offline.broken}</h1>
          <Refused error={error} />
        </>
      )}
      <Button onClick={again}>{offline.retry}</Button>
    </main>
  )
}
