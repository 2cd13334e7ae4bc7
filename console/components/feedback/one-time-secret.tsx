/** A secret that is shown this once. */
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useWords } from '../../language.ts'
import { Copyable } from '../tables/format-cells.tsx'

export interface SecretProps {
  readonly secret: string
  readonly close: () => void
  readonly children?: ReactNode
}

export function Secret({ secret, close, children }: SecretProps) {
  const words = useWords('shell')
  return (
    <div className="stack">
      <p className="hint warn">{words.secretOnce}</p>
      <div className="secret">
        <Copyable text={secret} />
      </div>
      {children}
      <div className="row end">
        <Button onClick={close}>{words.secretKept}</Button>
      </div>
    </div>
  )
}
