/** First token and duration of a finished request as the relay measured them: the same as on the request's page. */
import { useQuery } from '@tanstack/react-query'
import { requestQuery } from '../../api/account-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatDuration } from '../format.ts'

export function RequestTimes({ id }: { readonly id: string }) {
  const t = useMessages('portal').playground
  const request = useQuery(requestQuery(id)).data
  if (request === undefined) return null
  const { first_token_ms: firstTokenMs, duration_ms: durationMs } = request
  return <span>{t.times(formatDuration(firstTokenMs ?? durationMs), formatDuration(durationMs))}</span>
}
