/** API keys for operators: the keys of one account, and the table that also lists the keys of all accounts. */
import { Button, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { refreshMs } from '../../api/account-queries.ts'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { AdminApiKey, NewAdminApiKey } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from '../forms/use-action.ts'
import { Dialog } from '../forms/dialog.tsx'
import { AmountField, Form, useDraft } from '../forms/fields.tsx'
import { Icon } from '../layout/icon.tsx'
import { ApiKeyActions, ApiKeyName, ApiKeyStatus, CapUsage } from './api-key-cells.tsx'
import { PagedList } from '../feedback/query-boundary.tsx'
import { Money, RelativeTime } from './format-cells.tsx'
import { ExpiryDate } from './time-cells.tsx'
import { OneTimeSecret } from '../feedback/one-time-secret.tsx'
import { Table, type Column } from './table.tsx'

export interface AccountApiKeysProps {
  readonly accountId: string
  readonly isAdding: boolean
  readonly add: () => void
  readonly close: () => void
}

export function AccountApiKeys({ accountId, isAdding, add, close }: AccountApiKeysProps) {
  const t = useMessages('customers').keys
  return (
    <>
      <PagedList<AdminApiKey>
        queryKey={['admin', 'keys']}
        path="/admin/keys"
        refreshMs={refreshMs}
        filter={{ account: accountId, sort: 'oldest' }}
        empty={<p className="muted">{t.none}</p>}
      >
        {(keys) => <ApiKeyTable keys={keys} />}
      </PagedList>
      <Button variant="default" className="align-start" leftSection={<Icon name="plus" />} onClick={add}>
        {t.add}
      </Button>
      <Dialog title={t.add} opened={isAdding} close={close}>
        <CreateApiKeyForm accountId={accountId} close={close} />
      </Dialog>
    </>
  )
}

export interface ApiKeyTableProps {
  readonly keys: readonly AdminApiKey[]
  /** Adds a column with the account. */
  readonly showAccount?: boolean
}

export function ApiKeyTable({ keys, showAccount = false }: ApiKeyTableProps) {
  const t = useMessages('customers').keys
  const ownKeys = useMessages('account').keys
  const account: Column<AdminApiKey> = {
    header: t.account,
    cell: (key) => (
      <Link to="/operator/accounts/$id" params={{ id: key.account }}>
        {key.account_email}
      </Link>
    ),
  }
  const columns: readonly Column<AdminApiKey>[] = [
    { header: ownKeys.status, cell: (key) => <ApiKeyStatus status={displayStatus(key)} /> },
    {
      header: ownKeys.month,
      definition: 'spentMonth',
      numeric: true,
      cell: ({ spent }) => <Money amount={spent.month} />,
    },
    { header: ownKeys.cap, numeric: true, cell: (key) => <CapUsage apiKey={key} /> },
    { header: t.createdAt, wideOnly: true, cell: (key) => <RelativeTime at={key.created_at} /> },
    { header: ownKeys.expires, wideOnly: true, cell: (key) => <ExpiryDate at={key.expires_at} /> },
    { header: ownKeys.lastUsed, cell: (key) => <RelativeTime at={key.last_used_at} /> },
    {
      header: ownKeys.actions,
      cell: (key) => (
        <span className="row-actions">
          <Link to="/operator/requests" search={{ key: key.id }}>
            {t.requests}
          </Link>
          <ApiKeyActions
            apiKey={{ ...key, status: displayStatus(key) }}
            ownerNote={t.ownerNote(key.account_email)}
            mutate={mutateAdmin}
          />
        </span>
      ),
    },
  ]
  const name: Column<AdminApiKey> = {
    header: ownKeys.key,
    primary: true,
    cell: (key) => <ApiKeyName apiKey={key} />,
  }
  return (
    <Table
      label={showAccount ? t.title : ownKeys.title}
      rows={keys}
      rowId={({ id }) => id}
      columns={showAccount ? [name, account, ...columns] : [name, ...columns]}
    />
  )
}

function displayStatus({ status, expired }: AdminApiKey): AdminApiKey['status'] | 'expired' {
  return expired ? 'expired' : status
}

interface CreateApiKeyFormProps {
  readonly accountId: string
  readonly close: () => void
}

function CreateApiKeyForm({ accountId, close }: CreateApiKeyFormProps) {
  const t = useMessages('account').keys
  const shell = useMessages('shell')
  const [created, setCreated] = useState<NewAdminApiKey | null>(null)
  const { draft, field } = useDraft({ name: '', daily: '' })
  const create = useAction(async () => {
    const caps = draft.daily.trim() === '' ? {} : { caps: { daily: draft.daily.trim() } }
    setCreated(
      await mutateAdmin<NewAdminApiKey>('POST', `/accounts/${accountId}/keys`, {
        name: draft.name.trim(),
        ...caps,
      }),
    )
  })
  const fieldError = useFieldError(create.error)
  if (created !== null) return <OneTimeSecret secret={created.secret} close={close} />
  return (
    <Form action={create} submitLabel={shell.create} cancel={close} inlineErrors={['name', 'caps']}>
      <TextInput label={t.name} required autoComplete="off" error={fieldError('name')} {...field('name')} />
      <AmountField
        label={t.dailyCap}
        placeholder={shell.none}
        error={fieldError('caps.daily')}
        {...field('daily')}
      />
    </Form>
  )
}
