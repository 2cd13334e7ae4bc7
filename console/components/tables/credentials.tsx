/** The credentials of an upstream: several of them, each with its share, its state, and nothing of its secret. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { change, healthQuery } from '../../api/admin-queries.ts'
import { get } from '../../api/client.ts'
import type { Credential, Page as ListPage, Upstream, UpstreamHealth } from '../../contract.ts'
import { useWords, type Words } from '../../language.ts'
import { useAction, useFieldError } from '../forms/use-action.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Dialog, Form, useDraft, WholeField } from '../forms/fields.tsx'
import { Icon } from '../layout/icon.tsx'
import { Asked } from '../feedback/query-boundary.tsx'
import { Section } from '../layout/page.tsx'
import { State, When } from './format-cells.tsx'
import { Table } from './table.tsx'
import { say } from '../feedback/toast.tsx'

/** The one that stands in the upstream itself is changed there. */
const ownId = 'main'

function credentialsQuery(upstreamId: string) {
  return queryOptions({
    queryKey: ['admin', 'credentials', upstreamId],
    queryFn: () => get<ListPage<Credential>>(`/admin/upstreams/${upstreamId}/credentials`),
  })
}

export interface CredentialsProps {
  readonly upstream: Upstream
  /** Opens the form of the upstream, in which its own credential is. */
  readonly editUpstream: () => void
}

export function Credentials({ upstream, editUpstream }: CredentialsProps) {
  const words = useWords('traffic').credentials
  /** The one whose form is open; `new` for one that is added. */
  const [open, setOpen] = useState<Credential | 'new' | null>(null)
  const close = (): void => setOpen(null)
  const edited = open === 'new' ? null : open
  return (
    <Section
      title={words.title}
      lead={words.lead}
      actions={
        <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => setOpen('new')}>
          {words.add}
        </Button>
      }
    >
      <Asked options={credentialsQuery(upstream.id)}>
        {({ data }) => (
          <CredentialTable
            upstream={upstream}
            credentials={data}
            edit={(credential) => (credential.id === ownId ? editUpstream() : setOpen(credential))}
          />
        )}
      </Asked>
      <Dialog
        title={edited === null ? words.addTitle(upstream.name) : words.editTitle(nameOf(edited, words))}
        opened={open !== null}
        close={close}
      >
        <CredentialForm upstream={upstream} credential={edited} close={close} />
      </Dialog>
    </Section>
  )
}

function nameOf({ id, label, last_four: last }: Credential, words: Words<'traffic'>['credentials']): string {
  if (label !== '') return label
  if (id === ownId) return words.own
  return last === null ? words.credential : words.ends(last)
}

type CredentialHealth = UpstreamHealth['credentials'][number]

/** Of all models at this upstream, how it is with the one that it does worst. */
function worstOf(health: readonly UpstreamHealth[], id: string): CredentialHealth | undefined {
  const own = health.flatMap(({ credentials }) => credentials.filter((each) => each.id === id))
  return own.find(({ state }) => state === 'open') ?? own.find(({ state }) => state === 'half-open')
}

interface TableProps {
  readonly upstream: Upstream
  readonly credentials: readonly Credential[]
  readonly edit: (credential: Credential) => void
}

function CredentialTable({ upstream, credentials, edit }: TableProps) {
  const words = useWords('traffic').credentials
  const health = useQuery(healthQuery).data?.data ?? []
  const here = health.filter((each) => each.upstream === upstream.id)
  return (
    <Table
      label={words.title}
      rows={credentials}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.credential,
          names: true,
          cell: (credential) => (
            <>
              {nameOf(credential, words)}
              {credential.last_four !== null && credential.label !== '' && (
                <small>{words.ends(credential.last_four)}</small>
              )}
              {credential.last_four !== null && credential.id === ownId && (
                <small>{words.ends(credential.last_four)}</small>
              )}
            </>
          ),
        },
        {
          head: words.state,
          cell: ({ id, enabled }) => <CredentialState enabled={enabled} resting={worstOf(here, id)} />,
        },
        { head: words.weight, figures: true, cell: ({ weight }) => weight },
        { head: words.added, wide: true, cell: ({ created_at: at }) => <When at={at} /> },
        {
          head: words.acts,
          cell: (credential) => (
            <CredentialActs upstream={upstream} credential={credential} edit={() => edit(credential)} />
          ),
        },
      ]}
    />
  )
}

interface StateProps {
  readonly enabled: boolean
  readonly resting: CredentialHealth | undefined
}

function CredentialState({ enabled, resting }: StateProps) {
  const words = useWords('traffic').credentials
  if (!enabled) return <State tone="quiet">{words.off}</State>
  if (resting === undefined || resting.state === 'closed') return <State tone="good">{words.on}</State>
  return (
    <span className="lines">
      <State tone={resting.state === 'open' ? 'bad' : 'warn'}>{words.rests[resting.state]}</State>
      <small lang="en">{resting.why}</small>
    </span>
  )
}

interface ActsProps {
  readonly upstream: Upstream
  readonly credential: Credential
  readonly edit: () => void
}

function CredentialActs({ upstream, credential, edit }: ActsProps) {
  const words = useWords('traffic').credentials
  const shell = useWords('shell')
  const path = `/upstreams/${upstream.id}/credentials/${credential.id}`
  const name = nameOf(credential, words)
  const disable = (): void =>
    confirm({
      title: words.disableTitle(name),
      effect: words.disableEffect,
      verb: words.disable,
      carryOut: () => change('PATCH', path, { enabled: false }),
      done: words.disabled,
    })
  const enable = async (): Promise<void> => {
    await change('PATCH', path, { enabled: true })
    say(words.enabled)
  }
  const remove = (): void =>
    confirm({
      title: words.deleteTitle(name),
      effect: words.deleteEffect,
      verb: shell.remove,
      carryOut: () => change('DELETE', path),
      done: words.deleted,
    })
  return (
    <span className="acts">
      <button type="button" className="link" onClick={edit}>
        {shell.edit}
      </button>
      {credential.id !== ownId && (
        <>
          <button
            type="button"
            className="link"
            onClick={() => (credential.enabled ? disable() : void enable())}
          >
            {credential.enabled ? words.disable : words.enable}
          </button>
          <button type="button" className="link bad" onClick={remove}>
            {shell.remove}
          </button>
        </>
      )}
    </span>
  )
}

interface FormProps {
  readonly upstream: Upstream
  /** null for a new one. */
  readonly credential: Credential | null
  readonly close: () => void
}

function CredentialForm({ upstream, credential, close }: FormProps) {
  const words = useWords('traffic').credentials
  const shell = useWords('shell')
  const { draft, field } = useDraft({
    credential: '',
    label: credential?.label ?? '',
    weight: String(credential?.weight ?? 1),
  })
  const isNew = credential === null
  const save = useAction(async () => {
    const path = `/upstreams/${upstream.id}/credentials${isNew ? '' : `/${credential.id}`}`
    await change(isNew ? 'POST' : 'PATCH', path, {
      label: draft.label.trim(),
      weight: Number(draft.weight),
      ...(draft.credential.trim() === '' ? {} : { credential: draft.credential.trim() }),
    })
    say(words.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      action={save}
      verb={isNew ? words.add : shell.save}
      cancel={close}
      beside={['credential', 'label', 'weight']}
    >
      <PasswordInput
        label={words.credential}
        description={isNew ? words.secretHint : words.secretKept}
        required={isNew}
        autoComplete="off"
        error={errorOf('credential')}
        {...field('credential')}
      />
      <div className="fields">
        <TextInput
          label={words.label}
          description={words.labelHint}
          autoComplete="off"
          error={errorOf('label')}
          {...field('label')}
        />
        <WholeField
          label={words.weight}
          description={words.weightHint}
          error={errorOf('weight')}
          {...field('weight')}
        />
      </div>
    </Form>
  )
}
