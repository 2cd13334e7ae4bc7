/** The operators' notifications and their channels: e-mail, webhooks, chat bots. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { ApiError, get } from '../../../api/client.ts'
import type { Channel, Notification, Page as ListPage } from '../../../api/contract.ts'
import { useLanguage, useMessages } from '../../../locales/messages.ts'
import { toApiError, useAction } from '../../../components/forms/use-action.ts'
import { ChannelForm } from '../../../components/forms/channel-form.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { QueryBoundary, PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../../components/feedback/empty-state.tsx'
import { NotificationList } from '../../../components/tables/notification-list.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { StatusLabel, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { ServerText } from '../../../components/tables/server-text.tsx'
import { actWithToast } from '../../../components/feedback/toast.tsx'

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

interface TestResult {
  readonly ok: boolean
  readonly message: string
}

/** The outcome of the last test message of each channel; none while one is being sent. */
function useChannelTests() {
  const [results, setResults] = useState<ReadonlyMap<string, TestResult | ApiError>>(new Map())
  const test = async ({ id }: Channel): Promise<void> => {
    setResults((before) => new Map([...before].filter(([channel]) => channel !== id)))
    const result = await mutateAdmin<TestResult>('POST', `/channels/${id}/test`).catch(toApiError)
    setResults((before) => new Map([...before, [id, result]]))
  }
  return { results, test }
}

function ChannelTable({ channels }: { readonly channels: readonly Channel[] }) {
  const t = useMessages('maintenance').channels
  const kinds: Readonly<Record<string, string>> = t.notificationKinds
  const navigate = route.useNavigate()
  const { results, test } = useChannelTests()
  const edit = ({ id }: Channel): void => void navigate({ search: { edit: id } })
  const countOthers = (channel: Channel): number =>
    channels.filter(({ id, enabled }) => enabled && id !== channel.id).length
  return (
    <Table
      label={t.channels}
      rows={channels}
      rowId={({ id }) => id}
      onRowClick={edit}
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
        {
          header: t.state,
          cell: (channel) => (
            <>
              <ChannelStatus channel={channel} />
              <TestOutcome result={results.get(channel.id)} />
            </>
          ),
        },
        { header: t.lastSent, wideOnly: true, cell: ({ last_sent_at: at }) => <RelativeTime at={at} /> },
        {
          header: t.actions,
          isMenu: true,
          cell: (channel) => (
            <ChannelMenu
              channel={channel}
              others={countOthers(channel)}
              edit={() => edit(channel)}
              test={() => void test(channel)}
            />
          ),
        },
      ]}
    />
  )
}

function TestOutcome({ result }: { readonly result: TestResult | ApiError | undefined }) {
  const t = useMessages('maintenance').channels
  if (result === undefined) return null
  if (result instanceof ApiError) return <ErrorMessage error={result} />
  return (
    <small role="status">
      <StatusLabel tone={result.ok ? 'success' : 'danger'}>{result.ok ? t.passed : t.failed}</StatusLabel>
      {!result.ok && <span lang="en"> {result.message}</span>}
    </small>
  )
}

interface ChannelMenuProps {
  readonly channel: Channel
  /** How many other channels are enabled. */
  readonly others: number
  readonly edit: () => void
  readonly test: () => void
}

function ChannelMenu({ channel, others, edit, test }: ChannelMenuProps) {
  const t = useMessages('maintenance').channels
  const shell = useMessages('shell')
  const setEnabled = (enabled: boolean) => () => mutateAdmin('PATCH', `/channels/${channel.id}`, { enabled })
  const enable = (): Promise<void> => actWithToast(setEnabled(true), t.enabled, { undo: setEnabled(false) })
  const disable = (): void =>
    confirm({
      title: t.disableTitle(channel.name),
      description: [t.disableEffect, t.otherChannels(others)].join(shell.sentenceGap),
      confirmLabel: t.disable,
      onConfirm: setEnabled(false),
      successMessage: t.disabled,
      undo: setEnabled(true),
    })
  const remove = (): void =>
    confirm({
      title: t.deleteTitle(channel.name),
      description: [t.deleteEffect(channel.waiting), t.otherChannels(others)].join(shell.sentenceGap),
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', `/channels/${channel.id}`),
      successMessage: t.deleted,
    })
  return (
    <RowMenu
      name={channel.name}
      actions={[
        { label: t.test, onClick: test },
        { label: shell.edit, onClick: edit },
        channel.enabled
          ? { label: t.disable, onClick: disable }
          : { label: t.enable, onClick: () => void enable() },
        { label: shell.remove, isDestructive: true, onClick: remove },
      ]}
    />
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
      <PagedList<Notification>
        queryKey={['admin', 'notices', language]}
        path="/admin/notices"
        filter={{ audience: 'operator', language }}
        limit={20}
        empty={<p className="muted">{t.noRecent}</p>}
      >
        {(notifications) => <NotificationList notifications={notifications} />}
      </PagedList>
    </Section>
  )
}
