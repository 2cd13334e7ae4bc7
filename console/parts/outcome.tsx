/** How a request ended, as a word, an icon and a colour, with the status that the caller got. */
import { useWords } from '../language.ts'
import { State, type Tone } from '../components/tables/format-cells.tsx'

const tones: Readonly<Record<string, Tone>> = {
  ok: 'good',
  refused: 'warn',
  failed: 'bad',
  truncated: 'bad',
  aborted: 'quiet',
  ended: 'warn',
}

export interface OutcomeProps {
  readonly outcome: string
  readonly status: number
}

export function Outcome({ outcome, status }: OutcomeProps) {
  const words: Readonly<Record<string, string>> = useWords('shell').outcome
  return (
    <State tone={tones[outcome] ?? 'quiet'}>
      {words[outcome] ?? outcome} {outcome !== 'ok' && <code>{status}</code>}
    </State>
  )
}
