/** What a person sets for oneself: password, second factor, passkeys, open sessions. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, get } from '../../api/client.ts'
import type { OpenSession, Passkey } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { submitting, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { confirm } from '../../parts/confirm.tsx'
import { useDraft } from '../../components/forms/fields.tsx'
import { Loaded } from '../../components/feedback/query-boundary.tsx'
import { Refused } from '../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { addPasskey, canUsePasskeys } from '../../api/passkeys.ts'
import { State, When } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { say } from '../../components/feedback/toast.tsx'
import { TwoFactor } from '../../components/forms/two-factor.tsx'
import { queries, useSession } from '../../api/session.ts'

const sessionsQuery = queryOptions({
  queryKey: ['me', 'sessions'],
  queryFn: () => get<{ data: OpenSession[] }>('/console/me/sessions'),
})
const passkeysQuery = queryOptions({
  queryKey: ['me', 'passkeys'],
  queryFn: () => get<{ data: Passkey[] }>('/console/me/passkeys'),
})

async function changedMe(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['me'] }),
    queries.invalidateQueries({ queryKey: ['session'] }),
  ])
}

export function Profile() {
  const words = useWords('customer').profile
  const { person } = useSession()
  return (
    <Page title={words.title} lead={person?.email}>
      <Section title={words.password} lead={words.passwordLead}>
        <PasswordForm />
      </Section>
      <Section title={words.twoFactor} lead={words.twoFactorLead}>
        <TwoFactor changed={changedMe} />
      </Section>
      <Section title={words.passkeys} lead={words.passkeysLead}>
        <Passkeys />
      </Section>
      <Section title={words.sessions} lead={words.sessionsLead}>
        <Sessions />
      </Section>
    </Page>
  )
}

function PasswordForm() {
  const words = useWords('customer').profile
  const door = useWords('door')
  const { draft, set, field } = useDraft({ current: '', password: '' })
  const save = useAction(async () => {
    await call('POST', '/console/me/password', draft)
    set('current', '')
    set('password', '')
    await changedMe()
    say(words.passwordChanged)
  })
  const errorOf = useFieldError(save.error)
  const isBeside = ['current', 'password'].includes(save.error?.param ?? '')
  return (
    <form className="panel stack" onSubmit={submitting(save.run)}>
      <div className="fields">
        <PasswordInput
          label={words.current}
          autoComplete="current-password"
          required
          error={errorOf('current')}
          {...field('current')}
        />
        <PasswordInput
          label={door.newPassword}
          description={door.passwordRule}
          autoComplete="new-password"
          minLength={10}
          required
          error={errorOf('password')}
          {...field('password')}
        />
      </div>
      {save.error && !isBeside && <Refused error={save.error} />}
      <Button type="submit" className="at-start" loading={save.isRunning}>
        {words.changePassword}
      </Button>
    </form>
  )
}

function Passkeys() {
  const words = useWords('customer').profile
  const shell = useWords('shell')
  const passkeys = useQuery(passkeysQuery)
  const { draft, field } = useDraft({ name: '', password: '' })
  const [isTurnedDown, setTurnedDown] = useState(false)
  const add = useAction(async () => {
    setTurnedDown(false)
    try {
      await addPasskey(draft.name.trim(), draft.password)
      say(words.passkeyAdded)
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
      setTurnedDown(true)
    }
    await changedMe()
  })
  const remove = (passkey: Passkey): void =>
    confirm({
      title: words.endPasskeyTitle(passkey.name),
      effect: words.endPasskeyEffect,
      verb: shell.remove,
      carryOut: async () => {
        await call('DELETE', `/console/me/passkeys/${passkey.id}`)
        await changedMe()
      },
      done: words.passkeyEnded,
    })
  return (
    <>
      <Loaded query={passkeys}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">{words.noPasskeys}</p>
          ) : (
            <Table
              label={words.passkeys}
              rows={data}
              idOf={({ id }) => id}
              columns={[
                { head: words.name, names: true, cell: ({ name }) => name },
                { head: words.added, cell: (passkey) => <When at={passkey.created_at} /> },
                { head: words.lastUsed, cell: (passkey) => <When at={passkey.last_used_at} /> },
                {
                  head: words.acts,
                  cell: (passkey) => (
                    <button type="button" className="link bad" onClick={() => remove(passkey)}>
                      {shell.remove}
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {canUsePasskeys() && (
        <form className="panel stack" onSubmit={submitting(add.run)}>
          <div className="fields">
            <TextInput label={words.passkeyName} required autoComplete="off" {...field('name')} />
            <PasswordInput label={words.current} autoComplete="current-password" {...field('password')} />
          </div>
          {add.error && <Refused error={add.error} />}
          {isTurnedDown && <p className="hint warn">{words.passkeyTurnedDown}</p>}
          <Button type="submit" variant="default" className="at-start" loading={add.isRunning}>
            {words.addPasskey}
          </Button>
        </form>
      )}
    </>
  )
}

/** `Firefox, Linux` of a browser's own words. */
function agentText(agent: string): string {
  const browser = /Edg|Firefox|Chrome|Safari|curl/.exec(agent)?.[0] ?? agent.slice(0, 40)
  const machine = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent)?.[0]
  return [browser === 'Edg' ? 'Edge' : browser, machine].filter(Boolean).join(', ')
}

function Sessions() {
  const words = useWords('customer').profile
  const sessions = useQuery(sessionsQuery)
  const end = (session: OpenSession): void =>
    confirm({
      title: words.endSessionTitle,
      effect: words.endSessionEffect(agentText(session.agent), session.address),
      verb: words.endSession,
      carryOut: async () => {
        await call('DELETE', `/console/me/sessions/${session.id}`)
        await changedMe()
      },
      done: words.sessionEnded,
    })
  const endOthers = (count: number): void =>
    confirm({
      title: words.endOthers,
      effect: words.endOthersEffect(count),
      verb: words.endOthers,
      carryOut: async () => {
        await call('POST', '/console/me/sessions/end-others', {})
        await changedMe()
      },
      done: words.sessionEnded,
    })
  return (
    <Loaded query={sessions}>
      {({ data }) => (
        <>
          <Table
            label={words.sessions}
            rows={data}
            idOf={({ id }) => id}
            columns={[
              {
                head: words.browser,
                names: true,
                cell: ({ agent, current }) => (
                  <span title={agent}>
                    {agentText(agent)} {current && <State tone="good">{words.thisOne}</State>}
                  </span>
                ),
              },
              { head: words.address, cell: ({ address }) => address },
              { head: words.began, cell: (session) => <When at={session.created_at} /> },
              { head: words.seen, cell: (session) => <When at={session.seen_at} /> },
              {
                head: words.acts,
                cell: (session) =>
                  session.current ? (
                    ''
                  ) : (
                    <button type="button" className="link bad" onClick={() => end(session)}>
                      {words.endSession}
                    </button>
                  ),
              },
            ]}
          />
          {data.length > 1 && (
            <Button variant="default" className="at-start" onClick={() => endOthers(data.length - 1)}>
              {words.endOthers}
            </Button>
          )}
        </>
      )}
    </Loaded>
  )
}
