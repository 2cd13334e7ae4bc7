/** The outcome of a request as a status label, with the HTTP status that the caller received, and how often if several share a record. */
import { useMessages } from '../../locales/messages.ts'
import { formatNumber } from '../format.ts'
import { StatusLabel, type Tone } from './format-cells.tsx'

const tones: Readonly<Record<string, Tone>> = {
  ok: 'success',
  refused: 'warning',
  failed: 'danger',
  truncated: 'danger',
  aborted: 'neutral',
  ended: 'warning',
}

export interface RequestOutcomeProps {
  readonly outcome: string
  readonly status: number
  /** How many requests the record stands for. */
  readonly count: number
}

export function RequestOutcome({ outcome, status, count }: RequestOutcomeProps) {
  const shell = useMessages('shell')
  const t: Readonly<Record<string, string>> = shell.outcome
  return (
    <StatusLabel tone={tones[outcome] ?? 'neutral'}>
      {t[outcome] ?? outcome} {outcome !== 'ok' && <code>{status}</code>}
      {count > 1 && (
        <span className="num" title={shell.sharedRecord(formatNumber(count))}>
          {` × ${formatNumber(count)}`}
        </span>
      )}
    </StatusLabel>
  )
}
