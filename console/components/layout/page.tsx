/** The frame of a page: title, actions and sections. */
import type { ReactNode } from 'react'
import { useDocumentTitle } from './branding.tsx'
import { CsvLink, type CsvSource } from './csv-link.tsx'
import { DefinedName, type DefinitionName } from './definition.tsx'

export interface PageProps {
  readonly title: string
  /** One sentence, if the title is not enough. */
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** The list of the page that can be exported. */
  readonly csv?: CsvSource | undefined
  readonly children: ReactNode
}

export function Page({ title, lead, actions, csv, children }: PageProps) {
  useDocumentTitle(title)
  return (
    <div className="page">
      <div className="page-header">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p className="muted">{lead}</p>}
        </div>
        <HeaderActions actions={actions} csv={csv} />
      </div>
      {children}
    </div>
  )
}

function HeaderActions({ actions, csv }: Pick<PageProps, 'actions' | 'csv'>) {
  if (actions === undefined && csv === undefined) return null
  return (
    <div className="row">
      {csv && <CsvLink {...csv} />}
      {actions}
    </div>
  )
}

export function Section({ title, lead, actions, csv, children }: PageProps) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-header">
        <div>
          <h2>{title}</h2>
          {lead !== undefined && <p className="muted">{lead}</p>}
        </div>
        <HeaderActions actions={actions} csv={csv} />
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
  readonly definition?: DefinitionName
  readonly value: ReactNode
  readonly note?: ReactNode
}

export function StatTiles({ stats }: { readonly stats: readonly Stat[] }) {
  return (
    <dl className="tiles">
      {stats.map(({ name, definition, value, note }) => (
        <div key={name} className="tile">
          <dt>{definition === undefined ? name : <DefinedName name={name} definition={definition} />}</dt>
          <dd>
            <strong>{value}</strong>
            {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
