/** The credentials of an upstream with their weight and status; secrets are never shown. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { credentialsQuery, healthQuery, mutateAdmin } from '../../api/admin-queries.ts'
import type { Credential, Upstream, UpstreamHealth } from '../../api/contract.ts'
import { useMessages, type Messages } from '../../locales/messages.ts'
import { useAction, useFieldError } from '../forms/use-action.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { Dialog } from '../forms/dialog.tsx'
import { Form, useDraft, IntegerField } from '../forms/fields.tsx'
import { changedFields, optionalInteger } from '../forms/field-values.ts'
import { Icon } from '../layout/icon.tsx'
import { CredentialEffect } from '../feedback/change-effects.tsx'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { Section } from '../layout/page.tsx'
import { StatusLabel, RelativeTime } from './format-cells.tsx'
import { RowMenu } from './row-menu.tsx'
import { ServerText } from './server-text.tsx'
import { Table } from './table.tsx'
import { actWithToast, showToast } from '../feedback/toast.tsx'

/** The upstream's main credential, which is edited in the upstream's own form. */
const mainCredentialId = 'main'

export interface CredentialsProps {
  readonly upstream: Upstream
  /** Opens the upstream's form, which holds the main credential. */
  readonly editUpstream: () => void
}

export function Credentials({ upstream, editUpstream }: CredentialsProps) {
  const t = useMessages('traffic').credentials
  /** The credential being edited; `new` while one is being added. */
  const [open, setOpen] = useState<Credential | 'new' | null>(null)
  const close = (): void => setOpen(null)
  const edited = open === 'new' ? null : open
  return (
    <Section
      title={t.title}
      lead={t.lead}
      actions={
        <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => setOpen('new')}>
          {t.add}
        </Button>
      }
    >
      <QueryBoundary options={credentialsQuery(upstream.id)}>
        {({ data }) => (
          <CredentialTable
            upstream={upstream}
            credentials={data}
            edit={(credential) => (credential.id === mainCredentialId ? editUpstream() : setOpen(credential))}
          />
        )}
      </QueryBoundary>
      <Dialog
        title={edited === null ? t.addTitle(upstream.name) : t.editTitle(displayName(edited, t))}
        opened={open !== null}
        close={close}
      >
        <CredentialForm upstream={upstream} credential={edited} close={close} />
      </Dialog>
    </Section>
  )
}

function displayName(
  { id, label, last_four: last }: Credential,
  t: Messages<'traffic'>['credentials'],
): string {
  if (label !== '') return label
  if (id === mainCredentialId) return t.main
  return last === null ? t.credential : t.endsWith(last)
}

type CredentialHealth = UpstreamHealth['credentials'][number]

/** The worst circuit state of a credential across the upstream's models. */
function worstHealth(health: readonly UpstreamHealth[], id: string): CredentialHealth | undefined {
  const matching = health.flatMap(({ credentials }) => credentials.filter((item) => item.id === id))
  return matching.find(({ state }) => state === 'open') ?? matching.find(({ state }) => state === 'half-open')
}

interface CredentialTableProps {
  readonly upstream: Upstream
  readonly credentials: readonly Credential[]
  readonly edit: (credential: Credential) => void
}

function CredentialTable({ upstream, credentials, edit }: CredentialTableProps) {
  const t = useMessages('traffic').credentials
  const health = useQuery(healthQuery).data?.data ?? []
  const here = health.filter((item) => item.upstream === upstream.id)
  return (
    <Table
      label={t.title}
      rows={credentials}
      rowId={({ id }) => id}
      onRowClick={edit}
      columns={[
        {
          header: t.credential,
          primary: true,
          cell: (credential) => (
            <>
              {displayName(credential, t)}
              {credential.last_four !== null && credential.label !== '' && (
                <small>{t.endsWith(credential.last_four)}</small>
              )}
              {credential.last_four !== null && credential.id === mainCredentialId && (
                <small>{t.endsWith(credential.last_four)}</small>
              )}
            </>
          ),
        },
        {
          header: t.state,
          cell: ({ id, enabled }) => <CredentialStatus enabled={enabled} health={worstHealth(here, id)} />,
        },
        { header: t.weight, numeric: true, cell: ({ weight }) => weight },
        { header: t.added, wideOnly: true, cell: ({ created_at: at }) => <RelativeTime at={at} /> },
        {
          header: t.actions,
          isMenu: true,
          cell: (credential) => (
            <CredentialActions upstream={upstream} credential={credential} edit={() => edit(credential)} />
          ),
        },
      ]}
    />
  )
}

interface CredentialStatusProps {
  readonly enabled: boolean
  readonly health: CredentialHealth | undefined
}

function CredentialStatus({ enabled, health }: CredentialStatusProps) {
  const t = useMessages('traffic').credentials
  if (!enabled) return <StatusLabel tone="neutral">{t.off}</StatusLabel>
  if (health === undefined || health.state === 'closed')
    return <StatusLabel tone="success">{t.on}</StatusLabel>
  return (
    <span className="stacked-lines">
      <StatusLabel tone={health.state === 'open' ? 'danger' : 'warning'}>
        {t.circuit[health.state]}
      </StatusLabel>
      <small>
        <ServerText text={health.why} />
      </small>
    </span>
  )
}

interface CredentialActionsProps {
  readonly upstream: Upstream
  readonly credential: Credential
  readonly edit: () => void
}

function CredentialActions({ upstream, credential, edit }: CredentialActionsProps) {
  const t = useMessages('traffic').credentials
  const shell = useMessages('shell')
  const path = `/upstreams/${upstream.id}/credentials/${credential.id}`
  const name = displayName(credential, t)
  const setEnabled = (enabled: boolean) => () => mutateAdmin('PATCH', path, { enabled })
  const disable = (): void =>
    confirm({
      title: t.disableTitle(name),
      description: <CredentialEffect upstream={upstream} credential={credential} text={t.disableEffect} />,
      confirmLabel: t.disable,
      onConfirm: setEnabled(false),
      successMessage: t.disabled,
      undo: setEnabled(true),
    })
  const enable = (): Promise<void> => actWithToast(setEnabled(true), t.enabled, { undo: setEnabled(false) })
  const remove = (): void =>
    confirm({
      title: t.deleteTitle(name),
      description: <CredentialEffect upstream={upstream} credential={credential} text={t.deleteEffect} />,
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', path),
      successMessage: t.deleted,
    })
  const isMain = credential.id === mainCredentialId
  return (
    <RowMenu
      name={name}
      actions={[
        { label: shell.edit, onClick: edit },
        !isMain &&
          (credential.enabled
            ? { label: t.disable, onClick: disable }
            : { label: t.enable, onClick: () => void enable() }),
        !isMain && { label: shell.remove, isDestructive: true, onClick: remove },
      ]}
    />
  )
}

interface CredentialFormProps {
  readonly upstream: Upstream
  /** null creates a new one. */
  readonly credential: Credential | null
  readonly close: () => void
}

function CredentialForm({ upstream, credential, close }: CredentialFormProps) {
  const t = useMessages('traffic').credentials
  const shell = useMessages('shell')
  const { draft, initialDraft, field } = useDraft({
    credential: '',
    label: credential?.label ?? '',
    weight: String(credential?.weight ?? 1),
  })
  const isNew = credential === null
  const save = useAction(async () => {
    const path = `/upstreams/${upstream.id}/credentials`
    const bodyFrom = (each: typeof draft) => ({
      label: each.label.trim(),
      weight: optionalInteger(each.weight),
      ...(each.credential.trim() === '' ? {} : { credential: each.credential.trim() }),
    })
    const body = bodyFrom(draft)
    if (isNew) await mutateAdmin('POST', path, body)
    else await mutateAdmin('PATCH', `${path}/${credential.id}`, changedFields(bodyFrom(initialDraft), body))
    showToast(t.saved)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={isNew ? t.add : shell.save}
      cancel={close}
      inlineErrors={['credential', 'label', 'weight']}
    >
      <PasswordInput
        label={t.credential}
        description={isNew ? t.secretHint : t.secretUnchanged}
        required={isNew}
        autoComplete="off"
        error={fieldError('credential')}
        {...field('credential')}
      />
      <div className="fields">
        <TextInput
          label={t.label}
          description={t.labelHint}
          autoComplete="off"
          error={fieldError('label')}
          {...field('label')}
        />
        <IntegerField
          label={t.weight}
          description={t.weightHint}
          error={fieldError('weight')}
          {...field('weight')}
        />
      </div>
    </Form>
  )
}
