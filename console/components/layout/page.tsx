/** The frame of a page: its title, what can be done here, and its parts. */
import { useEffect, type ReactNode } from 'react'

export interface PageProps {
  readonly title: string
  /** One sentence, where the title is not enough. */
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
      <div className="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p className="quiet">{lead}</p>}
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
      <div className="section-head">
        <div>
          <h2>{title}</h2>
          {lead !== undefined && <p className="quiet">{lead}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

/** Names and values, two columns. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export interface Figure {
  readonly name: string
  readonly value: ReactNode
  readonly note?: ReactNode
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl className="tiles">
      {figures.map(({ name, value, note }) => (
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
