/** What operators have to know, and the channels that bring it: e-mail, webhooks, robots. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { change } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Channel, OperatorNotice, Page as PageOf } from '../../../contract.ts'
import { useLanguage, useWords } from '../../../language.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { ChannelForm } from '../../../components/forms/channel-form.tsx'
import { confirm } from '../../../parts/confirm.tsx'
import { Dialog } from '../../../components/forms/fields.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { Asked, Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../../components/feedback/empty-state.tsx'
import { NoticeList } from '../../../parts/notice-list.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { State, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/notices')

const channelsQuery = queryOptions({
  queryKey: ['admin', 'channels'],
  queryFn: () => get<PageOf<Channel>>('/admin/channels?account=operator'),
  refetchInterval: 15_000,
})

export function Channels() {
  const words = useWords('upkeep').channels
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {words.add}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={addButton}>
      <Section title={words.channels} lead={words.channelsLead}>
        <Asked options={channelsQuery}>
          {({ data }) => {
            const edited = data.find(({ id }) => id === edit)
            return (
              <>
                {data.length === 0 ? (
                  <Nothing title={words.none}>{words.noneLead}</Nothing>
                ) : (
                  <ChannelTable channels={data} />
                )}
                {edited && (
                  <Dialog title={words.editTitle(edited.name)} opened close={close}>
                    <ChannelForm channel={edited} close={close} />
                  </Dialog>
                )}
              </>
            )
          }}
        </Asked>
      </Section>
      <Told />
      <Dialog title={words.add} opened={add !== undefined} close={close}>
        <ChannelForm channel={null} close={close} />
      </Dialog>
    </Page>
  )
}

function ChannelState({ channel }: { readonly channel: Channel }) {
  const words = useWords('upkeep').channels
  const { enabled, problem, waiting } = channel
  return (
    <span className="lines">
      {enabled && problem !== null && <State tone="bad">{words.notTaken}</State>}
      {enabled && problem === null && <State tone="good">{words.on}</State>}
      {!enabled && <State tone="quiet">{words.off}</State>}
      {problem !== null && <small lang="en">{problem}</small>}
      {waiting > 0 && <small>{words.waiting(waiting)}</small>}
    </span>
  )
}

function ChannelTable({ channels }: { readonly channels: readonly Channel[] }) {
  const words = useWords('upkeep').channels
  const kinds: Readonly<Record<string, string>> = words.notices
  return (
    <Table
      label={words.channels}
      rows={channels}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.name,
          names: true,
          cell: ({ name, kind }) => (
            <>
              {name}
              <small>{words.kinds[kind]}</small>
            </>
          ),
        },
        { head: words.leadsTo, cell: ({ address }) => <code>{address}</code> },
        {
          head: words.what,
          wide: true,
          cell: ({ notices }) => notices?.map((kind) => kinds[kind] ?? kind).join(', ') ?? words.every,
        },
        { head: words.state, cell: (channel) => <ChannelState channel={channel} /> },
        { head: words.sent, wide: true, cell: ({ last_sent_at: at }) => <When at={at} /> },
        { head: words.acts, cell: (channel) => <ChannelActs channel={channel} /> },
      ]}
    />
  )
}

interface Trial {
  readonly ok: boolean
  readonly message: string
}

function ChannelActs({ channel }: { readonly channel: Channel }) {
  const words = useWords('upkeep').channels
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const [trial, setTrial] = useState<Trial | null>(null)
  const test = useAction(async () => {
    setTrial(null)
    setTrial(await change<Trial>('POST', `/channels/${channel.id}/test`))
  })
  const toggle = useAction(async () => {
    await change('PATCH', `/channels/${channel.id}`, { enabled: !channel.enabled })
    say(channel.enabled ? words.disabled : words.enabled)
  })
  const remove = (): void =>
    confirm({
      title: words.deleteTitle(channel.name),
      effect: words.deleteEffect(channel.waiting),
      verb: shell.remove,
      carryOut: () => change('DELETE', `/channels/${channel.id}`),
      done: words.deleted,
    })
  const error = test.error ?? toggle.error
  return (
    <span className="lines">
      <span className="acts">
        <button type="button" className="link" disabled={test.isRunning} onClick={() => void test.run()}>
          {words.test}
        </button>
        <button
          type="button"
          className="link"
          onClick={() => void navigate({ search: { edit: channel.id } })}
        >
          {shell.edit}
        </button>
        <button type="button" className="link" disabled={toggle.isRunning} onClick={() => void toggle.run()}>
          {channel.enabled ? words.disable : words.enable}
        </button>
        <button type="button" className="link bad" onClick={remove}>
          {shell.remove}
        </button>
      </span>
      {trial !== null && (
        <small role="status">
          <State tone={trial.ok ? 'good' : 'bad'}>{trial.ok ? words.passed : words.failed}</State>
          {!trial.ok && <span lang="en"> {trial.message}</span>}
        </small>
      )}
      {error !== null && <Refused error={error} />}
    </span>
  )
}

/** The operators' notices, newest first. */
function Told() {
  const words = useWords('upkeep').channels
  const language = useLanguage()
  const read = useAction(() => change('POST', '/notices/read', { all: true }))
  return (
    <Section
      title={words.told}
      lead={words.toldLead}
      actions={
        <Button variant="default" loading={read.isRunning} onClick={() => void read.run()}>
          {words.readAll}
        </Button>
      }
    >
      {read.error && <Refused error={read.error} />}
      <Paged<OperatorNotice>
        name={['admin', 'notices', language]}
        path="/admin/notices"
        filter={{ audience: 'operator', language }}
        limit={20}
        empty={<p className="quiet">{words.nothingTold}</p>}
      >
        {(notices) => (
          <NoticeList
            notices={notices.map(({ read_at: readAt, ...rest }) => ({ ...rest, read: readAt !== null }))}
          />
        )}
      </Paged>
    </Section>
  )
}
