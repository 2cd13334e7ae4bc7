/** Keys as an operator sees them: those of one account, and the table that the keys of all accounts stand in, too. */
import { Button, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { change } from '../api/admin-queries.ts'
import type { ListedKey, NewKey } from '../contract.ts'
import { useWords } from '../language.ts'
import { useAction, useFieldError } from '../components/forms/use-action.ts'
import { AmountField, Dialog, Form, useDraft } from '../components/forms/fields.tsx'
import { Icon } from '../components/layout/icon.tsx'
import { KeyActs, KeyName, KeyState, TightestCap } from './key-cells.tsx'
import { Paged } from '../components/feedback/query-boundary.tsx'
import { Money, When } from '../components/tables/format-cells.tsx'
import { Secret } from '../components/feedback/one-time-secret.tsx'
import { Table, type Column } from '../components/tables/table.tsx'

export interface AccountKeysProps {
  readonly accountId: string
  readonly isAdding: boolean
  readonly add: () => void
  readonly close: () => void
}

export function AccountKeys({ accountId, isAdding, add, close }: AccountKeysProps) {
  const words = useWords('clients').keys
  return (
    <>
      <Paged<ListedKey>
        name={['admin', 'keys']}
        path="/admin/keys"
        filter={{ account: accountId, sort: 'oldest' }}
        empty={<p className="quiet">{words.none}</p>}
      >
        {(keys) => <KeyTable keys={keys} />}
      </Paged>
      <Button variant="default" className="at-start" leftSection={<Icon name="plus" />} onClick={add}>
        {words.add}
      </Button>
      <Dialog title={words.add} opened={isAdding} close={close}>
        <KeyForm accountId={accountId} close={close} />
      </Dialog>
    </>
  )
}

export interface KeyTableProps {
  readonly keys: readonly ListedKey[]
  /** Whose each is, where they are not all of one account. */
  readonly ofAll?: boolean
}

export function KeyTable({ keys, ofAll = false }: KeyTableProps) {
  const words = useWords('clients').keys
  const own = useWords('account').keys
  const account: Column<ListedKey> = {
    head: words.account,
    cell: (key) => (
      <Link to="/operator/accounts/$id" params={{ id: key.account }}>
        {key.account_email}
      </Link>
    ),
  }
  const columns: readonly Column<ListedKey>[] = [
    { head: own.status, cell: (key) => <KeyState status={statusOf(key)} /> },
    { head: own.month, figures: true, cell: ({ spent }) => <Money amount={spent.month} round /> },
    { head: own.cap, figures: true, cell: (key) => <TightestCap its={key} /> },
    { head: words.made, wide: true, cell: (key) => <When at={key.created_at} /> },
    { head: own.expires, wide: true, cell: (key) => <When at={key.expires_at} /> },
    { head: own.lastUsed, cell: (key) => <When at={key.last_used_at} /> },
    {
      head: own.acts,
      cell: (key) => (
        <span className="acts">
          <Link to="/operator/requests" search={{ key: key.id }}>
            {words.itsRequests}
          </Link>
          <KeyActs
            its={{ ...key, status: statusOf(key) }}
            whose={words.whose(key.account_email)}
            change={change}
          />
        </span>
      ),
    },
  ]
  const name: Column<ListedKey> = { head: own.key, names: true, cell: (key) => <KeyName its={key} /> }
  return (
    <Table
      label={ofAll ? words.title : own.title}
      rows={keys}
      idOf={({ id }) => id}
      columns={ofAll ? [name, account, ...columns] : [name, ...columns]}
    />
  )
}

function statusOf({ status, expired }: ListedKey): ListedKey['status'] | 'expired' {
  return expired ? 'expired' : status
}

interface KeyFormProps {
  readonly accountId: string
  readonly close: () => void
}

function KeyForm({ accountId, close }: KeyFormProps) {
  const words = useWords('account').keys
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
