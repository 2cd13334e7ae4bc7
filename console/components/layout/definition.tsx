/** The name of a number with its definition: a tooltip on hover and focus, and its description for screen readers. */
import { Tooltip } from '@mantine/core'
import { useId } from 'react'
import { useMessages, type Messages } from '../../locales/messages.ts'

export type DefinitionName = keyof Messages<'definitions'>

export interface DefinedNameProps {
  readonly name: string
  readonly definition: DefinitionName
}

export function DefinedName({ name, definition }: DefinedNameProps) {
  const text = useMessages('definitions')[definition]
  const id = useId()
  return (
    <>
      <Tooltip
        classNames={{ tooltip: 'tooltip' }}
        label={text}
        multiline
        w="20rem"
        events={{ hover: true, focus: true, touch: true }}
      >
        <button type="button" className="definition" aria-describedby={id}>
          {name}
        </button>
      </Tooltip>
      <span id={id} hidden>
        {text}
      </span>
    </>
  )
}
