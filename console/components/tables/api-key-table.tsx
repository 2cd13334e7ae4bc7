/** API keys for operators: the keys of one account, and the table that also lists the keys of all accounts. */
import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { refreshMs } from '../../api/account-queries.ts'
import { modelsQuery, mutateAdmin } from '../../api/admin-queries.ts'
import type { AdminApiKey, NewAdminApiKey } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from '../forms/use-action.ts'
import { ApiKeyForm } from '../forms/api-key-form.tsx'
import { Dialog } from '../forms/dialog.tsx'
import { MoneyField, Form, useDraft } from '../forms/fields.tsx'
import { Icon } from '../layout/icon.tsx'
import { ApiKeyMenu, ApiKeyName, ApiKeyStatus, CapUsage } from './api-key-cells.tsx'
import { PagedList } from '../feedback/query-boundary.tsx'
import { Money, RelativeTime } from './format-cells.tsx'
import { ExpiryDate } from './time-cells.tsx'
import { OneTimeSecret } from '../feedback/one-time-secret.tsx'
import { Table, type Column } from './table.tsx'

export interface AccountApiKeysProps extends Omit<ApiKeyTableProps, 'keys' | 'showAccount'> {
  readonly accountId: string
  readonly isAdding: boolean
  readonly add: () => void
}

export function AccountApiKeys({ accountId, isAdding, add, close, ...table }: AccountApiKeysProps) {
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
        {(keys) => <ApiKeyTable keys={keys} close={close} {...table} />}
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
  /** The id of the key whose form is open. */
  readonly editedId: string | undefined
  readonly edit: (id: string) => void
  readonly close: () => void
  /** Adds a column with the account. */
  readonly showAccount?: boolean
}

export function ApiKeyTable({ keys, editedId, edit, close, showAccount = false }: ApiKeyTableProps) {
  const t = useMessages('customers').keys
  const ownKeys = useMessages('account').keys
  const shell = useMessages('shell')
  const edited = keys.find(({ id }) => id === editedId)
  const account: Column<AdminApiKey> = {
    header: t.account,
    cell: (key) => (
      <Link to="/operator/accounts/$id" params={{ id: key.account }} className="nowrap">
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
      isMenu: true,
      cell: (key) => (
        <ApiKeyMenu
          apiKey={{ ...key, status: displayStatus(key) }}
          actions={[
            { label: shell.edit, onClick: () => edit(key.id) },
            {
              label: t.requests,
              renderRoot: (props) => <Link to="/operator/requests" search={{ key: key.id }} {...props} />,
            },
          ]}
          ownerNote={t.ownerNote(key.account_email)}
          mutate={mutateAdmin}
          usage="/admin/usage"
        />
      ),
    },
  ]
  const name: Column<AdminApiKey> = {
    header: ownKeys.key,
    primary: true,
    cell: (key) => <ApiKeyName apiKey={key} />,
  }
  return (
    <>
      <Table
        label={showAccount ? t.title : ownKeys.title}
        rows={keys}
        rowId={({ id }) => id}
        onRowClick={({ id }) => edit(id)}
        columns={showAccount ? [name, account, ...columns] : [name, ...columns]}
      />
      {edited && <EditApiKey apiKey={edited} close={close} />}
    </>
  )
}

interface EditApiKeyProps {
  readonly apiKey: AdminApiKey
  readonly close: () => void
}

function EditApiKey({ apiKey, close }: EditApiKeyProps) {
  const t = useMessages('account').keys
  const models = useQuery(modelsQuery).data?.data ?? []
  return (
    <Dialog title={t.editTitle(apiKey.name)} opened close={close} size="40rem">
      <ApiKeyForm apiKey={apiKey} models={models.map(({ id }) => id)} close={close} mutate={mutateAdmin} />
    </Dialog>
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
      <MoneyField
        label={t.dailyCap}
        placeholder={shell.none}
        error={fieldError('caps.daily')}
        {...field('daily')}
      />
    </Form>
  )
}
