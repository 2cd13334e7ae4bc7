/** Picks models from the existing ones. Names that no longer exist, and prefixes such as `gpt-*`, stay picked. */
import { MultiSelect } from '@mantine/core'
import { useState } from 'react'
import { useMessages } from '../../locales/messages.ts'

export interface ModelsFieldProps {
  readonly label: string
  readonly description: string
  /** The ids of the models to pick from. */
  readonly models: readonly string[]
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
  /** Offers a typed prefix that ends in `*`. */
  readonly allowPrefixes?: boolean
  readonly className?: string
  readonly error: string | undefined
}

export function ModelsField({ models, value, allowPrefixes = false, ...props }: ModelsFieldProps) {
  const t = useMessages('shell')
  const [search, setSearch] = useState('')
  const typed = search.trim()
  const prefixes = allowPrefixes && /^[^\s*]+\*$/.test(typed) ? [typed] : []
  const options = [...new Set([...models, ...value, ...prefixes])]
  const pickTyped = (): void => {
    if (options.includes(typed) && !value.includes(typed)) props.onChange([...value, typed])
  }
  return (
    <MultiSelect
      {...props}
      data={options}
      value={[...value]}
      searchable
      hidePickedOptions
      selectFirstOptionOnChange
      limit={100}
      nothingFoundMessage={t.nothingFound}
      searchValue={search}
      onSearchChange={setSearch}
      onBlur={pickTyped}
      onKeyDown={(event) => {
        // Enter picks; it would submit the form while nothing is highlighted.
        if (event.key === 'Enter' && typed !== '') event.preventDefault()
      }}
    />
  )
}
