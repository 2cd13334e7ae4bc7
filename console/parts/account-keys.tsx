/** The keys of an account, as an operator sees them: made, switched off, deleted; the secret is shown once. */
import { Button, TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { change } from '../admin.ts'
import { get } from '../api.ts'
import type { Key, NewKey, Page } from '../contract.ts'
import { useWords } from '../language.ts'
import { useAction, useFieldError } from './action.ts'
import { confirm } from './confirm.tsx'
import { AmountField, Dialog, Form, useDraft } from './fields.tsx'
import { Icon } from './icon.tsx'
import { Asked } from './loaded.tsx'
import { Money, State, When } from './shown.tsx'
import { Secret } from './secret.tsx'
import { Table } from './table.tsx'

function keysQuery(accountId: string) {
  return queryOptions({
    queryKey: ['admin', 'keys', accountId],
    queryFn: () => get<Page<Key>>(`/admin/accounts/${accountId}/keys`),
  })
}

export function AccountKeys({ accountId }: { readonly accountId: string }) {
  const words = useWords('clients').keys
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <Asked options={keysQuery(accountId)}>
        {({ data }) => (data.length === 0 ? <p className="quiet">{words.none}</p> : <KeyTable keys={data} />)}
      </Asked>
      <Button
        variant="default"
        className="at-start"
        leftSection={<Icon name="plus" />}
        onClick={() => setAdding(true)}
      >
        {words.add}
      </Button>
      <Dialog title={words.add} opened={isAdding} close={() => setAdding(false)}>
        <KeyForm accountId={accountId} close={() => setAdding(false)} />
      </Dialog>
    </>
  )
}

function KeyTable({ keys }: { readonly keys: readonly Key[] }) {
  const words = useWords('clients').keys
  const shell = useWords('shell')
  const toggle = (key: Key): void => {
    const isActive = key.status === 'active'
    confirm({
      title: isActive ? words.disableTitle(key.name) : words.enableTitle(key.name),
      effect: isActive ? words.disableEffect : words.enableEffect,
      verb: isActive ? words.disable : words.enable,
      isHarmless: !isActive,
      carryOut: () => change('PATCH', `/keys/${key.id}`, { status: isActive ? 'disabled' : 'active' }),
      done: shell.saved,
    })
  }
  const remove = (key: Key): void =>
    confirm({
      title: words.deleteTitle(key.name),
      effect: words.deleteEffect,
      verb: shell.remove,
      carryOut: () => change('DELETE', `/keys/${key.id}`),
      done: words.deleted,
    })
  return (
    <Table
      label={words.title}
      rows={keys}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.key,
          names: true,
          cell: ({ name, prefix, last_four: end }) => (
            <>
              {name}
              <small>
                <code>
                  {prefix}…{end}
                </code>
              </small>
            </>
          ),
        },
        {
          head: words.status,
          cell: ({ status }) => (
            <State tone={status === 'active' ? 'good' : 'quiet'}>{shell.status[status]}</State>
          ),
        },
        {
          head: words.caps,
          figures: true,
          cell: ({ caps }) => (caps.daily === null ? shell.none : <Money amount={caps.daily} />),
        },
        { head: words.expires, wide: true, cell: (key) => <When at={key.expires_at} /> },
        { head: words.lastUsed, cell: (key) => <When at={key.last_used_at} /> },
        {
          head: words.acts,
          cell: (key) => (
            <span className="acts">
              <button type="button" className="link" onClick={() => toggle(key)}>
                {key.status === 'active' ? words.disable : words.enable}
              </button>
              <button type="button" className="link bad" onClick={() => remove(key)}>
                {shell.remove}
              </button>
            </span>
          ),
        },
      ]}
    />
  )
}

interface KeyFormProps {
  readonly accountId: string
  readonly close: () => void
}

function KeyForm({ accountId, close }: KeyFormProps) {
  const words = useWords('clients').keys
  const shell = useWords('shell')
  const [made, setMade] = useState<NewKey | null>(null)
  const { draft, field } = useDraft({ name: '', daily: '' })
  const create = useAction(async () => {
    const caps = draft.daily.trim() === '' ? {} : { caps: { daily: draft.daily.trim() } }
    setMade(await change<NewKey>('POST', `/accounts/${accountId}/keys`, { name: draft.name.trim(), ...caps }))
  })
  const errorOf = useFieldError(create.error)
  if (made !== null) return <Secret secret={made.secret} close={close} />
  return (
    <Form action={create} verb={shell.create} cancel={close} beside={['name', 'caps']}>
      <TextInput label={words.name} required autoComplete="off" error={errorOf('name')} {...field('name')} />
      <AmountField
        label={words.dailyCap}
        placeholder={shell.none}
        error={errorOf('caps.daily')}
        {...field('daily')}
      />
    </Form>
  )
}
