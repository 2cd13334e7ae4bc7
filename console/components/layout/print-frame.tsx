/** What a printed page has and the screen does not: who the operator is, and whom to ask. */
import type { ReactNode } from 'react'
import { Brand, SupportContact } from './branding.tsx'

export function PrintFrame({ children }: { readonly children: ReactNode }) {
  return (
    <div className="print-frame">
      <header className="print-only">
        <Brand />
      </header>
      {children}
      <footer className="print-only">
        <SupportContact />
      </footer>
    </div>
  )
}
