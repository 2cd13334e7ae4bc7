/** How an upstream is: switched off, resting after failures, or in use; why it rests is told in the server's words. */
import { useQuery } from '@tanstack/react-query'
import { healthQuery } from '../api/admin-queries.ts'
import type { Upstream, UpstreamHealth } from '../contract.ts'
import { useWords } from '../language.ts'
import { State } from '../components/tables/format-cells.tsx'

export function UpstreamState({ upstream }: { readonly upstream: Upstream }) {
  const words = useWords('offer').upstreams
  const health = useQuery(healthQuery).data?.data ?? []
  if (!upstream.enabled) return <State tone="quiet">{words.off}</State>
  const worst = health.find((each) => each.upstream === upstream.id && each.state !== 'closed')
  if (worst === undefined) return <State tone="good">{words.on}</State>
  return <CircuitState state={worst.state} why={worst.why} of={worst.model} />
}

export interface CircuitStateProps {
  readonly state: UpstreamHealth['state']
  readonly why: string
  /** The model whose state it is, where it stands for the whole upstream. */
  readonly of?: string
}

export function CircuitState({ state, why, of }: CircuitStateProps) {
  const words = useWords('offer').upstreams
  if (state === 'closed') return <State tone="good">{words.on}</State>
  return (
    <span className="lines">
      <State tone={state === 'open' ? 'bad' : 'warn'}>{words.rests[state]}</State>
      <small title={why} lang="en">
        {of ?? why}
      </small>
    </span>
  )
}
