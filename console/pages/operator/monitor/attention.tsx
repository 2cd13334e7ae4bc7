/** What needs attention, above the figures of the dashboard; nothing if there is nothing. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Dashboard } from '../../../api/contract.ts'
import { useSession } from '../../../api/session.ts'
import { localized } from '../../../components/layout/announcement-bar.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { RelativeTime, StatusLabel } from '../../../components/tables/format-cells.tsx'
import { useLanguage, useMessages } from '../../../locales/messages.ts'

interface AttentionProps {
  readonly dashboard: Dashboard
}

/** How many models of an upstream are named. */
const maxModels = 5
const localHost = /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/

/** Whether links in e-mails lead somewhere else than to the address in the address bar, because it is not configured. */
function useIsPublicUrlMissing(linkUrl: string): boolean {
  const { platform } = useSession()
  const { hostname, origin } = window.location
  return platform.public_url === null && !localHost.test(hostname) && new URL(linkUrl).origin !== origin
}

export function NeedsAttention({ dashboard }: AttentionProps) {
  const t = useMessages('operations').dashboard
  const isPublicUrlMissing = useIsPublicUrlMissing(dashboard.link_url)
  const { failed_backup: backup, open_limit_requests: limitRequests } = dashboard
  const items: ReactNode[] = [
    ...incidentItems(dashboard),
    ...circuitItems(dashboard),
    ...(backup === null ? [] : [<FailedBackup key="backup" backup={backup} />]),
    ...dashboard.unserved.map(({ model, missing }) => (
      <li key={`unserved ${model}`} className="row">
        <StatusLabel tone="danger">{t.missing[missing]}</StatusLabel>
        <Link to="/operator/models/$id" params={{ id: model }}>
          {model}
        </Link>
      </li>
    )),
    ...dashboard.unknown_costs.map((unknown) => (
      <UnknownCosts key={`costs ${unknown.upstream}`} unknown={unknown} />
    )),
    ...(limitRequests === 0
      ? []
      : [
          <li key="limit requests">
            <Link to="/operator/limit-requests" search={{ status: 'open' }}>
              {t.limitRequests(limitRequests)}
            </Link>
          </li>,
        ]),
    ...(isPublicUrlMissing
      ? [
          <li key="public url">
            <Icon name="alert" /> <span>{t.publicUrl(dashboard.link_url, 'PUBLIC_URL')}</span>
          </li>,
        ]
      : []),
  ]
  if (items.length === 0) return null
  return (
    <ul className="panel checklist" aria-label={t.attention}>
      {items}
    </ul>
  )
}

function incidentItems({ open_incidents: incidents }: Dashboard): ReactNode[] {
  return incidents.map((incident) => <OpenIncident key={incident.id} incident={incident} />)
}

function OpenIncident({ incident }: { readonly incident: Dashboard['open_incidents'][number] }) {
  const t = useMessages('operations').dashboard
  const language = useLanguage()
  const { title, severity, models, opened_at: openedAt } = incident
  return (
    <li className="row">
      <StatusLabel tone={severity === 'minor' ? 'warning' : 'danger'}>{t.incident}</StatusLabel>
      <Link to="/operator/incidents">{localized(title, language)}</Link>
      <span className="muted">
        {models.length === 0 ? t.wholeService : models.join(', ')} · <RelativeTime at={openedAt} />
      </span>
    </li>
  )
}

function circuitItems({ open_circuits: circuits }: Dashboard): ReactNode[] {
  return circuits.map((circuit) => (
    <OpenCircuit key={`${circuit.upstream} ${circuit.model}`} circuit={circuit} />
  ))
}

function OpenCircuit({ circuit }: { readonly circuit: Dashboard['open_circuits'][number] }) {
  const t = useMessages('operations').dashboard
  const { upstream, name, model, state, since } = circuit
  return (
    <li className="row">
      <StatusLabel tone={state === 'open' ? 'danger' : 'warning'}>
        {t.circuit[state === 'open' ? 'open' : 'half-open']}
      </StatusLabel>
      <Link to="/operator/upstreams/$id" params={{ id: upstream }}>
        {name}
      </Link>
      <span className="muted">
        {model} · <RelativeTime at={since} />
      </span>
    </li>
  )
}

function UnknownCosts({ unknown }: { readonly unknown: Dashboard['unknown_costs'][number] }) {
  const t = useMessages('operations').dashboard
  const { upstream, name, models } = unknown
  return (
    <li className="row">
      <StatusLabel tone="warning">{t.unknownCosts}</StatusLabel>
      <Link to="/operator/upstreams/$id" params={{ id: upstream }}>
        {name}
      </Link>
      <span className="muted">{t.enterCosts}</span>
      {models.slice(0, maxModels).map((model) => (
        <Link key={model} to="/operator/models/$id" params={{ id: model }} search={{ edit: 'model' }}>
          {model}
        </Link>
      ))}
      {models.length > maxModels && <span className="muted">{t.moreModels(models.length - maxModels)}</span>}
    </li>
  )
}

function FailedBackup({ backup }: { readonly backup: NonNullable<Dashboard['failed_backup']> }) {
  const t = useMessages('operations').dashboard
  return (
    <li className="row">
      <StatusLabel tone="danger">{t.failedBackup[backup.state]}</StatusLabel>
      <Link to="/operator/backups">{t.latestBackup}</Link>
      <span className="muted">
        <RelativeTime at={backup.made_at} />
      </span>
    </li>
  )
}
