/** The frame of the pages before sign-in. */
import { useEffect, type ReactNode } from 'react'
import { AppearanceSwitch } from './appearance.tsx'

export interface AuthLayoutProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly children: ReactNode
  readonly footer?: ReactNode
}

export function AuthLayout({ title, lead, children, footer }: AuthLayoutProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
  return (
    <div className="auth-layout">
      <header className="auth-header">
        <Brand />
        <AppearanceSwitch />
      </header>
      <main className="auth-card">
        <h1>{title}</h1>
        {lead !== undefined && <p className="muted">{lead}</p>}
        {children}
        {footer !== undefined && <div className="auth-footer">{footer}</div>}
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
