/** The frame of the pages before one is signed in. */
import { useEffect, type ReactNode } from 'react'
import { Appearance } from './appearance.tsx'

export interface EntranceProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly children: ReactNode
  readonly below?: ReactNode
}

export function Entrance({ title, lead, children, below }: EntranceProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
  return (
    <div className="entrance">
      <header className="entrance-head">
        <Brand />
        <Appearance />
      </header>
      <main className="entrance-card">
        <h1>{title}</h1>
        {lead !== undefined && <p className="quiet">{lead}</p>}
        {children}
        {below !== undefined && <div className="entrance-below">{below}</div>}
      </main>
    </div>
  )
}

export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" />
        <path d="M7 9h18M7 14h18" opacity=".55" />
        <path d="M7 21c3-3 6-3 9 0s6 3 9 0" />
      </svg>
      Sluice
    </span>
  )
}
