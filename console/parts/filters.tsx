/** What narrows a list. It is kept in the address, so that a view can be shared. */
import { Button } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useWords } from '../language.ts'
import { submitting } from '../components/forms/use-action.ts'
import { Choice } from '../components/forms/fields.tsx'
import { spans } from './spans.ts'

interface Identified {
  readonly id: string
}

interface Named extends Identified {
  readonly name: string
}

type Search<Name extends string> = { readonly [Each in Name]?: string | undefined }

export interface Bound {
  readonly name: string
  readonly value: string
  readonly onChange: (event: { currentTarget: { value: string } }) => void
}

export interface Binding<Name extends string> {
  /** Holds what is typed until Enter or the button. */
  readonly typed: (name: Name) => Bound
  /** Goes at once, with what was typed before. */
  readonly chosen: (name: Name) => Bound
}

export interface FiltersProps<Name extends string> {
  /** What the address says now. */
  readonly search: Search<Name>
  readonly go: (search: { [Each in Name]?: string }) => void
  /** Without fields to type in there is nothing to press. */
  readonly onlyChoices?: boolean
  readonly children: (bind: Binding<Name>) => ReactNode
}

export interface SpanChoiceProps extends Bound {
  /** Where the address says nothing. */
  readonly usual: (typeof spans)[number]
}

export function SpanChoice({ usual, value, ...bound }: SpanChoiceProps) {
  const words = useWords('account').usage
  const choices = spans.map((span) => ({ value: span, label: words.spans[span] }))
  return <Choice label={words.span} choices={choices} value={value || usual} {...bound} />
}

export interface OneOfProps extends Bound {
  readonly label: string
  readonly choices: readonly { readonly value: string; readonly label: string }[]
}

/** One of several, or all of them. */
export function OneOf(props: OneOfProps) {
  return <Choice any={useWords('shell').all} {...props} />
}

/** Models are called by their ids. */
export function OneModel({
  of,
  ...props
}: Omit<OneOfProps, 'choices'> & { readonly of: readonly Identified[] }) {
  return <OneOf choices={of.map(({ id }) => ({ value: id, label: id }))} {...props} />
}

/** Things that people have given a name. */
export function OneNamed({ of, ...props }: Omit<OneOfProps, 'choices'> & { readonly of: readonly Named[] }) {
  return <OneOf choices={of.map(({ id, name }) => ({ value: id, label: name }))} {...props} />
}

function tidied<Name extends string>(search: Search<Name>): { [Each in Name]?: string } {
  const given = Object.entries<string | undefined>(search).flatMap(([name, value = '']) =>
    value.trim() === '' ? [] : [[name, value.trim()]],
  )
  return Object.fromEntries(given) as { [Each in Name]?: string }
}

export function Filters<Name extends string>(props: FiltersProps<Name>) {
  const { search, go, onlyChoices = false, children } = props
  const words = useWords('shell')
  const address = JSON.stringify(search)
  const [draft, setDraft] = useState({ of: address, search })
  // The address changes by other hands, too: a link, the way back.
  if (draft.of !== address) setDraft({ of: address, search })
  const bound = (name: Name, change: (next: Search<Name>) => void): Bound => ({
    name,
    value: draft.search[name] ?? '',
    onChange: ({ currentTarget: { value } }) => change({ ...draft.search, [name]: value }),
  })
  return (
    <form className="filters" autoComplete="off" onSubmit={submitting(async () => go(tidied(draft.search)))}>
      {children({
        typed: (name) => bound(name, (next) => setDraft({ of: address, search: next })),
        chosen: (name) => bound(name, (next) => go(tidied(next))),
      })}
      {!onlyChoices && (
        <Button type="submit" variant="default">
          {words.find}
        </Button>
      )}
      {!onlyChoices && Object.keys(tidied(search)).length > 0 && (
        <Button variant="subtle" onClick={() => go({})}>
          {words.clear}
        </Button>
      )}
    </form>
  )
}
