/** The customer's API keys: create, edit, rotate, delete, with spend, caps and unusual use. */
import { Button } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { ApiKey } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { mutateAccount, apiKeysQuery, refreshMs, type ApiKeyList } from '../../api/account-queries.ts'
import { confirm } from '../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../components/forms/dialog.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { ApiKeyMenu, ApiKeyName, ApiKeyStatus, CapUsage } from '../../components/tables/api-key-cells.tsx'
import { CreateApiKey, OwnApiKeyForm, RotateApiKey } from '../../components/forms/api-key-form.tsx'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../components/feedback/empty-state.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Money, RelativeTime } from '../../components/tables/format-cells.tsx'
import { ExpiryDate } from '../../components/tables/time-cells.tsx'
import { Table } from '../../components/tables/table.tsx'

const route = getRouteApi('/shell/keys')

export function ApiKeys() {
  const t = useMessages('account').keys
  const navigate = route.useNavigate()
  const { add, edit, rotate } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {t.add}
    </Button>
  )
  return (
    <Page title={t.title} lead={t.lead} csv={{ path: '/console/keys' }} actions={addButton}>
      <QueryBoundary options={{ ...apiKeysQuery, refetchInterval: refreshMs }}>
        {(list) => {
          const edited = list.data.find(({ id }) => id === edit)
          const rotated = list.data.find(({ id }) => id === rotate)
          return (
            <>
              <StaleKeyWarning list={list} />
              {list.data.length === 0 ? (
                <EmptyState title={t.none}>
                  <p>{t.noneLead}</p>
                  {addButton}
                </EmptyState>
              ) : (
                <OwnApiKeyTable keys={list.data} />
              )}
              <p className="muted">{t.count(list.data.length, list.most)}</p>
              <Dialog title={t.add} opened={add !== undefined} close={close} size="40rem">
                <CreateApiKey close={close} />
              </Dialog>
              {edited && (
                <Dialog title={t.editTitle(edited.name)} opened close={close} size="40rem">
                  <OwnApiKeyForm apiKey={edited} close={close} />
                </Dialog>
              )}
              {rotated && (
                <Dialog title={t.rotateTitle(rotated.name)} opened close={close} size="40rem">
                  <RotateApiKey apiKey={rotated} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </QueryBoundary>
    </Page>
  )
}

function StaleKeyWarning({ list }: { readonly list: ApiKeyList }) {
  const t = useMessages('account').keys
  const { sentenceGap } = useMessages('shell')
  const stale = list.data.filter((key) => key.stale)
  if (stale.length === 0) return null
  const deleteStale = (): void =>
    confirm({
      title: t.deleteStaleTitle(stale.length),
      description: t.deleteStaleEffect(stale.map(({ name }) => name).join(', ')),
      confirmLabel: t.deleteStale,
      onConfirm: () => mutateAccount('POST', '/keys/clean', {}),
      successMessage: t.deleted,
    })
  return (
    <p className="callout warning">
      {t.stale(stale.length, list.stale_after_days)}
      {sentenceGap}
      {list.deleted_after_days !== null && t.staleRule(list.deleted_after_days)}{' '}
      <button type="button" className="link" onClick={deleteStale}>
        {t.deleteStale}
      </button>
    </p>
  )
}

function OwnApiKeyTable({ keys }: { readonly keys: readonly ApiKey[] }) {
  const t = useMessages('account').keys
  const navigate = route.useNavigate()
  return (
    <Table
      label={t.title}
      rows={keys}
      rowId={({ id }) => id}
      onRowClick={({ id }) => void navigate({ search: { edit: id } })}
      columns={[
        {
          header: t.key,
          primary: true,
          cell: (key) => <ApiKeyName apiKey={key} />,
        },
        {
          header: t.status,
          cell: (key) => (
            <>
              <ApiKeyStatus status={key.status} />
              {key.unusual !== null && (
                <small>
                  {t.unusual} <RelativeTime at={key.unusual.hour} />: <Money amount={key.unusual.cost} />
                </small>
              )}
            </>
          ),
        },
        {
          header: t.today,
          definition: 'spentToday',
          numeric: true,
          cell: ({ spent }) => <Money amount={spent.today} />,
        },
        {
          header: t.month,
          definition: 'spentMonth',
          numeric: true,
          cell: ({ spent }) => <Money amount={spent.month} />,
        },
        { header: t.cap, numeric: true, cell: (key) => <CapUsage apiKey={key} /> },
        { header: t.expires, wideOnly: true, cell: (key) => <ExpiryDate at={key.expires_at} /> },
        { header: t.lastUsed, cell: (key) => <RelativeTime at={key.last_used_at} /> },
        { header: t.actions, isMenu: true, cell: (key) => <OwnApiKeyMenu apiKey={key} /> },
      ]}
    />
  )
}

function OwnApiKeyMenu({ apiKey }: { readonly apiKey: ApiKey }) {
  const t = useMessages('account').keys
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  return (
    <ApiKeyMenu
      apiKey={apiKey}
      actions={[
        { label: shell.edit, onClick: () => void navigate({ search: { edit: apiKey.id } }) },
        { label: t.rotate, onClick: () => void navigate({ search: { rotate: apiKey.id } }) },
      ]}
      mutate={mutateAccount}
      usage="/console/usage/by"
    />
  )
}
