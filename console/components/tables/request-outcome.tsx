/** The outcome of a request as a status label, with the HTTP status that the caller received. */
import { useMessages } from '../../locales/messages.ts'
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
}

export function RequestOutcome({ outcome, status }: RequestOutcomeProps) {
  const t: Readonly<Record<string, string>> = useMessages('shell').outcome
  return (
    <StatusLabel tone={tones[outcome] ?? 'neutral'}>
      {t[outcome] ?? outcome} {outcome !== 'ok' && <code>{status}</code>}
    </StatusLabel>
  )
}
