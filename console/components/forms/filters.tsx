/** Filters of a list. They are kept in the URL, so that a view can be shared. */
import { Button } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useMessages } from '../../locales/messages.ts'
import { submitHandler } from './use-action.ts'
import { SelectField } from './fields.tsx'

/** The time ranges that pages offer; the server knows where each begins. */
export const timeRanges = ['24h', '7d', '30d', '90d'] as const

interface ItemWithId {
  readonly id: string
}

interface NamedItem extends ItemWithId {
  readonly name: string
}

type Search<Name extends string> = { readonly [Each in Name]?: string | undefined }

export interface FieldBinding {
  readonly name: string
  readonly value: string
  readonly onChange: (event: { currentTarget: { value: string } }) => void
}

export interface FilterBindings<Name extends string> {
  /** Applied on Enter or with the button. */
  readonly input: (name: Name) => FieldBinding
  /** Applied at once, together with what was typed before. */
  readonly select: (name: Name) => FieldBinding
}

export interface FiltersProps<Name extends string> {
  /** The current search parameters of the URL. */
  readonly search: Search<Name>
  readonly apply: (search: { [Each in Name]?: string }) => void
  /** Without text fields no button is needed. */
  readonly selectsOnly?: boolean
  readonly children: (bind: FilterBindings<Name>) => ReactNode
}

export interface TimeRangeFilterProps extends FieldBinding {
  /** Used if the URL names none. */
  readonly defaultRange: (typeof timeRanges)[number]
}

export function TimeRangeFilter({ defaultRange, value, ...binding }: TimeRangeFilterProps) {
  const t = useMessages('account').usage
  const options = timeRanges.map((range) => ({ value: range, label: t.ranges[range] }))
  return <SelectField label={t.range} options={options} value={value || defaultRange} {...binding} />
}

export interface SelectFilterProps extends FieldBinding {
  readonly label: string
  readonly options: readonly { readonly value: string; readonly label: string }[]
}

/** One option, or all. */
export function SelectFilter(props: SelectFilterProps) {
  return <SelectField anyLabel={useMessages('shell').all} {...props} />
}

/** Models are shown by id. */
export function ModelFilter({
  models,
  ...props
}: Omit<SelectFilterProps, 'options'> & { readonly models: readonly ItemWithId[] }) {
  return <SelectFilter options={models.map(({ id }) => ({ value: id, label: id }))} {...props} />
}

/** Items with a display name. */
export function NamedFilter({
  items,
  ...props
}: Omit<SelectFilterProps, 'options'> & { readonly items: readonly NamedItem[] }) {
  return <SelectFilter options={items.map(({ id, name }) => ({ value: id, label: name }))} {...props} />
}

function withoutEmpty<Name extends string>(search: Search<Name>): { [Each in Name]?: string } {
  const entries = Object.entries<string | undefined>(search).flatMap(([name, value = '']) =>
    value.trim() === '' ? [] : [[name, value.trim()]],
  )
  return Object.fromEntries(entries) as { [Each in Name]?: string }
}

export function Filters<Name extends string>(props: FiltersProps<Name>) {
  const { search, apply, selectsOnly = false, children } = props
  const t = useMessages('shell')
  const searchKey = JSON.stringify(search)
  const [draft, setDraft] = useState({ of: searchKey, search })
  // The URL also changes by links and by the back button.
  if (draft.of !== searchKey) setDraft({ of: searchKey, search })
  const bind = (name: Name, change: (next: Search<Name>) => void): FieldBinding => ({
    name,
    value: draft.search[name] ?? '',
    onChange: ({ currentTarget: { value } }) => change({ ...draft.search, [name]: value }),
  })
  return (
    <form
      className="filters"
      autoComplete="off"
      onSubmit={submitHandler(async () => apply(withoutEmpty(draft.search)))}
    >
      {children({
        input: (name) => bind(name, (next) => setDraft({ of: searchKey, search: next })),
        select: (name) => bind(name, (next) => apply(withoutEmpty(next))),
      })}
      {!selectsOnly && (
        <Button type="submit" variant="default">
          {t.find}
        </Button>
      )}
      {!selectsOnly && Object.keys(withoutEmpty(search)).length > 0 && (
        <Button variant="subtle" onClick={() => apply({})}>
          {t.clear}
        </Button>
      )}
    </form>
  )
}
