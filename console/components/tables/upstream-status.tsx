/** The status of an upstream: disabled, paused after failures, or active. */
import { useQuery } from '@tanstack/react-query'
import { healthQuery } from '../../api/admin-queries.ts'
import type { Upstream, UpstreamHealth } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { StatusLabel } from './format-cells.tsx'
import { ServerText, useServerText } from './server-text.tsx'

export function UpstreamStatus({ upstream }: { readonly upstream: Upstream }) {
  const t = useMessages('catalog').upstreams
  const serverText = useServerText()
  const health = useQuery(healthQuery).data?.data ?? []
  if (!upstream.enabled) return <StatusLabel tone="neutral">{t.off}</StatusLabel>
  const routes = health.filter((item) => item.upstream === upstream.id)
  const failing = routes.filter(({ state }) => state !== 'closed')
  const [worst] = failing
  if (worst === undefined) return <StatusLabel tone="success">{t.on}</StatusLabel>
  if (routes.length === 1) {
    return <CircuitStatus state={worst.state} reason={worst.why} model={worst.model} />
  }
  return (
    <span className="stacked-lines">
      <StatusLabel tone={failing.length === routes.length ? 'danger' : 'warning'}>
        {t.failingRoutes(failing.length, routes.length)}
      </StatusLabel>
      {failing.map(({ model, why }) => (
        <small key={model} title={serverText(why)}>
          {model}
        </small>
      ))}
    </span>
  )
}

export interface CircuitStatusProps {
  readonly state: UpstreamHealth['state']
  readonly reason: string
  /** The model that the state belongs to, if the label stands for the whole upstream. */
  readonly model?: string
}

export function CircuitStatus({ state, reason, model }: CircuitStatusProps) {
  const t = useMessages('catalog').upstreams
  const serverText = useServerText()
  if (state === 'closed') return <StatusLabel tone="success">{t.on}</StatusLabel>
  return (
    <span className="stacked-lines">
      <StatusLabel tone={state === 'open' ? 'danger' : 'warning'}>{t.circuit[state]}</StatusLabel>
      <small title={serverText(reason)}>{model ?? <ServerText text={reason} />}</small>
    </span>
  )
}
