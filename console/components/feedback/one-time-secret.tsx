/** A secret that is shown only once. */
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { CopyButton } from '../tables/format-cells.tsx'

export interface OneTimeSecretProps {
  readonly secret: string
  readonly close: () => void
  readonly children?: ReactNode
}

export function OneTimeSecret({ secret, close, children }: OneTimeSecretProps) {
  const t = useMessages('shell')
  return (
    <div className="stack">
      <p className="callout warning">{t.secretOnce}</p>
      <div className="secret">
        <CopyButton text={secret} />
      </div>
      {children}
      <div className="row end">
        <Button onClick={close}>{t.secretSaved}</Button>
      </div>
    </div>
  )
}
