/** The operators' notifications and their channels: e-mail, webhooks, chat bots. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Channel, OperatorNotification, Page as ListPage } from '../../../api/contract.ts'
import { useLanguage, useMessages } from '../../../locales/messages.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { ChannelForm } from '../../../components/forms/channel-form.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { QueryBoundary, PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../../components/feedback/empty-state.tsx'
import { NotificationList } from '../../../components/tables/notification-list.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { StatusLabel, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { ServerText } from '../../../components/tables/server-text.tsx'
import { showToast } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/notices')

const channelsQuery = queryOptions({
  queryKey: ['admin', 'channels'],
  queryFn: () => get<ListPage<Channel>>('/admin/channels?account=operator'),
  refetchInterval: 15_000,
})

export function NotificationChannels() {
  const t = useMessages('maintenance').channels
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {t.add}
    </Button>
  )
  return (
    <Page title={t.title} lead={t.lead} actions={addButton}>
      <Section title={t.channels} lead={t.channelsLead}>
        <QueryBoundary options={channelsQuery}>
          {({ data }) => {
            const edited = data.find(({ id }) => id === edit)
            return (
              <>
                {data.length === 0 ? (
                  <EmptyState title={t.none}>{t.noneLead}</EmptyState>
                ) : (
                  <ChannelTable channels={data} />
                )}
                {edited && (
                  <Dialog title={t.editTitle(edited.name)} opened close={close}>
                    <ChannelForm channel={edited} close={close} />
                  </Dialog>
                )}
              </>
            )
          }}
        </QueryBoundary>
      </Section>
      <RecentNotifications />
      <Dialog title={t.add} opened={add !== undefined} close={close}>
        <ChannelForm channel={null} close={close} />
      </Dialog>
    </Page>
  )
}

function ChannelStatus({ channel }: { readonly channel: Channel }) {
  const t = useMessages('maintenance').channels
  const { enabled, problem, waiting } = channel
  return (
    <span className="stacked-lines">
      {enabled && problem !== null && <StatusLabel tone="danger">{t.lastFailed}</StatusLabel>}
      {enabled && problem === null && <StatusLabel tone="success">{t.on}</StatusLabel>}
      {!enabled && <StatusLabel tone="neutral">{t.off}</StatusLabel>}
      {problem !== null && (
        <small>
          <ServerText text={problem} />
        </small>
      )}
      {waiting > 0 && <small>{t.waiting(waiting)}</small>}
    </span>
  )
}

function ChannelTable({ channels }: { readonly channels: readonly Channel[] }) {
  const t = useMessages('maintenance').channels
  const kinds: Readonly<Record<string, string>> = t.notificationKinds
  return (
    <Table
      label={t.channels}
      rows={channels}
      rowId={({ id }) => id}
      columns={[
        {
          header: t.name,
          primary: true,
          cell: ({ name, kind }) => (
            <>
              {name}
              <small>{t.kinds[kind]}</small>
            </>
          ),
        },
        { header: t.destination, cell: ({ address }) => <code>{address}</code> },
        {
          header: t.content,
          wideOnly: true,
          cell: ({ notices }) => notices?.map((kind) => kinds[kind] ?? kind).join(', ') ?? t.all,
        },
        { header: t.state, cell: (channel) => <ChannelStatus channel={channel} /> },
        { header: t.lastSent, wideOnly: true, cell: ({ last_sent_at: at }) => <RelativeTime at={at} /> },
        { header: t.actions, cell: (channel) => <ChannelActions channel={channel} /> },
      ]}
    />
  )
}

interface TestResult {
  readonly ok: boolean
  readonly message: string
}

function ChannelActions({ channel }: { readonly channel: Channel }) {
  const t = useMessages('maintenance').channels
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const [result, setResult] = useState<TestResult | null>(null)
  const test = useAction(async () => {
    setResult(null)
    setResult(await mutateAdmin<TestResult>('POST', `/channels/${channel.id}/test`))
  })
  const toggle = useAction(async () => {
    await mutateAdmin('PATCH', `/channels/${channel.id}`, { enabled: !channel.enabled })
    showToast(channel.enabled ? t.disabled : t.enabled)
  })
  const remove = (): void =>
    confirm({
      title: t.deleteTitle(channel.name),
      description: t.deleteEffect(channel.waiting),
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', `/channels/${channel.id}`),
      successMessage: t.deleted,
    })
  const error = test.error ?? toggle.error
  return (
    <span className="stacked-lines">
      <span className="row-actions">
        <button type="button" className="link" disabled={test.isRunning} onClick={() => void test.run()}>
          {t.test}
        </button>
        <button
          type="button"
          className="link"
          onClick={() => void navigate({ search: { edit: channel.id } })}
        >
          {shell.edit}
        </button>
        <button type="button" className="link" disabled={toggle.isRunning} onClick={() => void toggle.run()}>
          {channel.enabled ? t.disable : t.enable}
        </button>
        <button type="button" className="link danger" onClick={remove}>
          {shell.remove}
        </button>
      </span>
      {result !== null && (
        <small role="status">
          <StatusLabel tone={result.ok ? 'success' : 'danger'}>{result.ok ? t.passed : t.failed}</StatusLabel>
          {!result.ok && <span lang="en"> {result.message}</span>}
        </small>
      )}
      {error !== null && <ErrorMessage error={error} />}
    </span>
  )
}

/** The operators' notifications, newest first. */
function RecentNotifications() {
  const t = useMessages('maintenance').channels
  const language = useLanguage()
  const read = useAction(() => mutateAdmin('POST', '/notices/read', { all: true }))
  return (
    <Section
      title={t.recent}
      lead={t.recentLead}
      actions={
        <Button variant="default" loading={read.isRunning} onClick={() => void read.run()}>
          {t.readAll}
        </Button>
      }
    >
      {read.error && <ErrorMessage error={read.error} />}
      <PagedList<OperatorNotification>
        queryKey={['admin', 'notices', language]}
        path="/admin/notices"
        filter={{ audience: 'operator', language }}
        limit={20}
        empty={<p className="muted">{t.noRecent}</p>}
      >
        {(notifications) => (
          <NotificationList
            notifications={notifications.map(({ read_at: readAt, ...rest }) => ({
              ...rest,
              read: readAt !== null,
            }))}
          />
        )}
      </PagedList>
    </Section>
  )
}
