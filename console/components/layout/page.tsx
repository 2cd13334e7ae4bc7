/** The frame of a page: title, actions and sections. */
import { useEffect, type ReactNode } from 'react'

export interface PageProps {
  readonly title: string
  /** One sentence, if the title is not enough. */
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
  return (
    <div className="page">
      <div className="page-header">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p className="muted">{lead}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

export interface SectionProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-header">
        <div>
          <h2>{title}</h2>
          {lead !== undefined && <p className="muted">{lead}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

/** Names and values in columns. */
export function DescriptionList({ items }: { readonly items: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="description-list">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export interface Stat {
  readonly name: string
  readonly value: ReactNode
  readonly note?: ReactNode
}

export function StatTiles({ stats }: { readonly stats: readonly Stat[] }) {
  return (
    <dl className="tiles">
      {stats.map(({ name, value, note }) => (
        <div key={name} className="tile">
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong>
            {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
