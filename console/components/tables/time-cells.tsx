/** Renders times that people compare or note down: the lines of logs, and the days on which things expire. */
import { useState } from 'react'
import { useLanguage } from '../../locales/messages.ts'
import { formatDate, formatDateTime, formatLogTime, formatRelativeTime } from '../format.ts'

/** The exact time of a line in a log, with the relative time on hover. */
export function LogTime({ at }: { readonly at: string }) {
  const language = useLanguage()
  const [now, setNow] = useState(Date.now)
  const ms = Date.parse(at)
  // The line may be newer than the last hover.
  const relative = formatRelativeTime(ms, Math.max(now, ms), language)
  return (
    <time
      dateTime={at}
      title={`${relative}, ${formatDateTime(ms, language)}`}
      className="nowrap"
      onPointerEnter={() => setNow(Date.now())}
    >
      {formatLogTime(ms, now, language)}
    </time>
  )
}

/** The day on which something expires, with the exact time on hover. */
export function ExpiryDate({ at }: { readonly at: string | null }) {
  const language = useLanguage()
  if (at === null) return <span className="muted">–</span>
  const ms = Date.parse(at)
  return (
    <time dateTime={at} title={formatDateTime(ms, language)} className="nowrap">
      {formatDate(ms)}
    </time>
  )
}
