/** A secret, or a list of codes, that is shown only once. Only the button closes the dialog around it. */
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { useClosingByButtonOnly } from '../forms/dialog.tsx'
import { CopyButton } from '../tables/format-cells.tsx'

export interface OneTimeSecretProps {
  readonly secret: string | readonly string[]
  /** Says more than that it is shown only once. */
  readonly notice?: string
  readonly close: () => void
  readonly children?: ReactNode
}

export function OneTimeSecret({ secret, notice, close, children }: OneTimeSecretProps) {
  const t = useMessages('shell')
  useClosingByButtonOnly()
  return (
    <div className="stack">
      <p className="callout warning">{notice ?? t.secretOnce}</p>
      {typeof secret === 'string' ? (
        <div className="secret">
          <CopyButton text={secret} />
        </div>
      ) : (
        <div className="secret codes">
          {secret.map((code) => (
            <div key={code}>{code}</div>
          ))}
        </div>
      )}
      {children}
      <div className="row end">
        {typeof secret !== 'string' && <CopyButton text={secret.join('\n')}>{t.copyAll}</CopyButton>}
        <Button onClick={close}>{t.secretSaved}</Button>
      </div>
    </div>
  )
}
