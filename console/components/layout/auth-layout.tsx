/** The frame of the pages before sign-in. */
import type { ReactNode } from 'react'
import { AppearanceSwitch } from './appearance.tsx'
import { Brand, BrandingLinks, SupportContact, useDocumentTitle } from './branding.tsx'

export interface AuthLayoutProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly children: ReactNode
  readonly footer?: ReactNode
}

export function AuthLayout({ title, lead, children, footer }: AuthLayoutProps) {
  useDocumentTitle(title)
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
      <footer className="auth-links">
        <BrandingLinks />
        <SupportContact />
      </footer>
    </div>
  )
}
