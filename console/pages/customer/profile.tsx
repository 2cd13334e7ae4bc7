/** The user's own settings: password, two-factor authentication, passkeys, sessions. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, get } from '../../api/client.ts'
import type { OpenSession, Passkey } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { submitHandler, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { confirm } from '../../components/feedback/confirm-dialog.tsx'
import { useDraft } from '../../components/forms/fields.tsx'
import { QueryResult } from '../../components/feedback/query-boundary.tsx'
import { ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { addPasskey, supportsPasskeys } from '../../api/passkeys.ts'
import { StatusLabel, RelativeTime } from '../../components/tables/format-cells.tsx'
import { RowMenu } from '../../components/tables/row-menu.tsx'
import { Table } from '../../components/tables/table.tsx'
import { showToast } from '../../components/feedback/toast.tsx'
import { TwoFactor } from '../../components/forms/two-factor.tsx'
import { queryClient, useSession } from '../../api/session.ts'

const sessionsQuery = queryOptions({
  queryKey: ['me', 'sessions'],
  queryFn: () => get<{ data: OpenSession[] }>('/console/me/sessions'),
})
const passkeysQuery = queryOptions({
  queryKey: ['me', 'passkeys'],
  queryFn: () => get<{ data: Passkey[] }>('/console/me/passkeys'),
})

async function refreshProfile(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['me'] }),
    queryClient.invalidateQueries({ queryKey: ['session'] }),
  ])
}

export function Profile() {
  const t = useMessages('portal').profile
  const { person } = useSession()
  return (
    <Page title={t.title} lead={person?.email}>
      <Section title={t.password} lead={t.passwordLead}>
        <PasswordForm />
      </Section>
      <Section title={t.twoFactor} lead={t.twoFactorLead}>
        <TwoFactor onChanged={refreshProfile} />
      </Section>
      <Section title={t.passkeys} lead={t.passkeysLead}>
        <Passkeys />
      </Section>
      <Section title={t.sessions} lead={t.sessionsLead}>
        <Sessions />
      </Section>
    </Page>
  )
}

function PasswordForm() {
  const t = useMessages('portal').profile
  const auth = useMessages('auth')
  const { draft, set, field } = useDraft({ current: '', password: '' })
  const save = useAction(async () => {
    await call('POST', '/console/me/password', draft)
    set('current', '')
    set('password', '')
    await refreshProfile()
    showToast(t.passwordChanged)
  })
  const fieldError = useFieldError(save.error)
  const isInline = ['current', 'password'].includes(save.error?.param ?? '')
  return (
    <form className="panel stack" onSubmit={submitHandler(save.run)}>
      <div className="fields">
        <PasswordInput
          label={t.current}
          autoComplete="current-password"
          required
          error={fieldError('current')}
          {...field('current')}
        />
        <PasswordInput
          label={auth.newPassword}
          description={auth.passwordRule}
          autoComplete="new-password"
          minLength={10}
          required
          error={fieldError('password')}
          {...field('password')}
        />
      </div>
      {save.error && !isInline && <ErrorMessage error={save.error} />}
      <Button type="submit" className="align-start" loading={save.isRunning}>
        {t.changePassword}
      </Button>
    </form>
  )
}

function Passkeys() {
  const t = useMessages('portal').profile
  const shell = useMessages('shell')
  const passkeys = useQuery(passkeysQuery)
  const { draft, field } = useDraft({ name: '', password: '' })
  const [hasFailed, setFailed] = useState(false)
  const add = useAction(async () => {
    setFailed(false)
    try {
      await addPasskey(draft.name.trim(), draft.password)
      showToast(t.passkeyAdded)
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
      setFailed(true)
    }
    await refreshProfile()
  })
  const remove = (passkey: Passkey): void =>
    confirm({
      title: t.deletePasskeyTitle(passkey.name),
      description: t.deletePasskeyEffect,
      confirmLabel: shell.remove,
      onConfirm: async () => {
        await call('DELETE', `/console/me/passkeys/${passkey.id}`)
        await refreshProfile()
      },
      successMessage: t.passkeyDeleted,
    })
  return (
    <>
      <QueryResult query={passkeys}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="muted">{supportsPasskeys() ? t.noPasskeys : t.passkeysUnsupported}</p>
          ) : (
            <Table
              label={t.passkeys}
              rows={data}
              rowId={({ id }) => id}
              columns={[
                { header: t.name, primary: true, cell: ({ name }) => name },
                { header: t.added, cell: (passkey) => <RelativeTime at={passkey.created_at} /> },
                { header: t.lastUsed, cell: (passkey) => <RelativeTime at={passkey.last_used_at} /> },
                {
                  header: t.actions,
                  isMenu: true,
                  cell: (passkey) => (
                    <RowMenu
                      name={passkey.name}
                      actions={[{ label: shell.remove, onClick: () => remove(passkey), isDestructive: true }]}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </QueryResult>
      {supportsPasskeys() && (
        <form className="panel stack" onSubmit={submitHandler(add.run)}>
          <div className="fields">
            <TextInput label={t.passkeyName} required autoComplete="off" {...field('name')} />
            <PasswordInput label={t.current} autoComplete="current-password" {...field('password')} />
          </div>
          {add.error && <ErrorMessage error={add.error} />}
          {hasFailed && <p className="callout warning">{t.passkeyFailed}</p>}
          <Button type="submit" variant="default" className="align-start" loading={add.isRunning}>
            {t.addPasskey}
          </Button>
        </form>
      )}
    </>
  )
}

/** `Firefox, Linux` from a User-Agent header. */
function describeUserAgent(agent: string): string {
  const browser = /Edg|Firefox|Chrome|Safari|curl/.exec(agent)?.[0] ?? agent.slice(0, 40)
  const platform = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent)?.[0]
  return [browser === 'Edg' ? 'Edge' : browser, platform].filter(Boolean).join(', ')
}

function Sessions() {
  const t = useMessages('portal').profile
  const sessions = useQuery(sessionsQuery)
  const end = (session: OpenSession): void =>
    confirm({
      title: t.endSessionTitle,
      description: t.endSessionEffect(describeUserAgent(session.agent), session.address),
      confirmLabel: t.endSession,
      onConfirm: async () => {
        await call('DELETE', `/console/me/sessions/${session.id}`)
        await refreshProfile()
      },
      successMessage: t.sessionEnded,
    })
  const endOthers = (count: number): void =>
    confirm({
      title: t.endOthers,
      description: t.endOthersEffect(count),
      confirmLabel: t.endOthers,
      onConfirm: async () => {
        await call('POST', '/console/me/sessions/end-others', {})
        await refreshProfile()
      },
      successMessage: t.sessionEnded,
    })
  return (
    <QueryResult query={sessions}>
      {({ data }) => (
        <>
          <Table
            label={t.sessions}
            rows={data}
            rowId={({ id }) => id}
            columns={[
              {
                header: t.browser,
                primary: true,
                cell: ({ agent, current }) => (
                  <span title={agent}>
                    {describeUserAgent(agent)}{' '}
                    {current && <StatusLabel tone="success">{t.currentSession}</StatusLabel>}
                  </span>
                ),
              },
              { header: t.address, cell: ({ address }) => address },
              { header: t.signedInAt, cell: (session) => <RelativeTime at={session.created_at} /> },
              { header: t.lastSeen, cell: (session) => <RelativeTime at={session.seen_at} /> },
              {
                header: t.actions,
                isMenu: true,
                cell: (session) =>
                  !session.current && (
                    <RowMenu
                      name={describeUserAgent(session.agent)}
                      actions={[{ label: t.endSession, onClick: () => end(session), isDestructive: true }]}
                    />
                  ),
              },
            ]}
          />
          {data.length > 1 && (
            <Button variant="default" className="align-start" onClick={() => endOthers(data.length - 1)}>
              {t.endOthers}
            </Button>
          )}
        </>
      )}
    </QueryResult>
  )
}
