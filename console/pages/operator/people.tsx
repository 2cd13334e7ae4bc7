/** Who may sign in: customers and operators, links that let them in, invites to sign up with. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { change } from '../../api/admin-queries.ts'
import type { Invite, Link as AccessLink, PersonRow } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction } from '../../components/forms/use-action.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Choice, Dialog, Form, isWhole, useDraft, WholeField } from '../../components/forms/fields.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Paged } from '../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { Secret } from '../../components/feedback/one-time-secret.tsx'
import { exactTime, State, When } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { useSession } from '../../api/session.ts'

const route = getRouteApi('/shell/operator/people')

export function People() {
  const words = useWords('running').people
  const navigate = route.useNavigate()
  const { role, invite } = route.useSearch()
  const [link, setLink] = useState<AccessLink | null>(null)
  const close = (): void => void navigate({ search: { role } })
  const newOperator = useAction(async () => setLink(await change<AccessLink>('POST', '/operators/link', {})))
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button loading={newOperator.isRunning} onClick={() => void newOperator.run()}>
          {words.newOperator}
        </Button>
      }
    >
      {newOperator.error && <Refused error={newOperator.error} />}
      <Filters search={{ role }} go={(search) => void navigate({ search })} onlyChoices>
        {({ chosen }) => (
          <Choice
            label={words.role}
            any={words.everyone}
            choices={[
              { value: 'operator', label: words.roles.operator },
              { value: 'customer', label: words.roles.customer },
            ]}
            {...chosen('role')}
          />
        )}
      </Filters>
      <Paged<PersonRow>
        name={['admin', 'people']}
        path="/admin/people"
        filter={{ role }}
        empty={<Nothing title={words.none} />}
      >
        {(people) => <PeopleTable people={people} show={setLink} />}
      </Paged>
      <Section
        title={words.invites}
        lead={words.invitesLead}
        actions={
          <Button variant="default" onClick={() => void navigate({ search: { role, invite: 'yes' } })}>
            {words.invite}
          </Button>
        }
      >
        <Invites />
      </Section>
      <Dialog title={words.link} opened={link !== null} close={() => setLink(null)}>
        {link !== null && (
          <Secret secret={link.url} close={() => setLink(null)}>
            <p>{words.linkLead(exactTime(link.expires_at))}</p>
          </Secret>
        )}
      </Dialog>
      <Dialog title={words.invite} opened={invite !== undefined} close={close}>
        <InviteForm close={close} />
      </Dialog>
    </Page>
  )
}

interface PeopleTableProps {
  readonly people: readonly PersonRow[]
  readonly show: (link: AccessLink) => void
}

function PeopleTable({ people, show }: PeopleTableProps) {
  const words = useWords('running').people
  const { person: me } = useSession()
  const toggle = (person: PersonRow): void =>
    confirm({
      title: person.disabled ? words.openTitle(person.email) : words.shutTitle(person.email),
      effect: person.disabled ? words.openEffect : words.shutEffect,
      verb: person.disabled ? words.open : words.shut,
      isHarmless: person.disabled,
      carryOut: () => change('PATCH', `/people/${person.id}`, { disabled: !person.disabled }),
      done: person.disabled ? words.opened : words.shutDone,
    })
  const reset = (person: PersonRow): void =>
    confirm({
      title: words.resetTitle(person.email),
      effect: words.resetEffect,
      verb: words.reset,
      isHarmless: true,
      carryOut: async () => show(await change<AccessLink>('POST', `/people/${person.id}/access-link`, {})),
      done: words.resetDone,
    })
  return (
    <Table
      label={words.title}
      rows={people}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.person,
          names: true,
          cell: ({ email, name }) => (
            <>
              {email}
              {name !== '' && <small>{name}</small>}
            </>
          ),
        },
        { head: words.role, cell: ({ role }) => <span className="tag">{words.roles[role]}</span> },
        {
          head: words.state,
          cell: ({ disabled }) =>
            disabled ? <State tone="bad">{words.isShut}</State> : <State tone="good">{words.isOpen}</State>,
        },
        {
          head: words.twoFactor,
          cell: (person) =>
            person.two_factor ? (
              <State tone="good">{words.on}</State>
            ) : (
              <State tone={person.role === 'operator' ? 'warn' : 'quiet'}>{words.off}</State>
            ),
        },
        { head: words.lastSignIn, wide: true, cell: (person) => <When at={person.last_sign_in_at} /> },
        {
          head: words.account,
          cell: ({ account }) =>
            account === null ? (
              '–'
            ) : (
              <Link to="/operator/accounts/$id" params={{ id: account }}>
                {words.account}
              </Link>
            ),
        },
        {
          head: words.acts,
          cell: (person) =>
            person.id === me?.id ? (
              <span className="quiet">{words.you}</span>
            ) : (
              <span className="acts">
                <button type="button" className="link" onClick={() => reset(person)}>
                  {words.reset}
                </button>
                <button
                  type="button"
                  className={person.disabled ? 'link' : 'link bad'}
                  onClick={() => toggle(person)}
                >
                  {person.disabled ? words.open : words.shut}
                </button>
              </span>
            ),
        },
      ]}
    />
  )
}

function Invites() {
  const words = useWords('running').people
  const shell = useWords('shell')
  const end = (invite: Invite): void =>
    confirm({
      title: words.endInviteTitle,
      effect: words.endInviteEffect(invite.uses_left),
      verb: shell.remove,
      carryOut: () => change('DELETE', `/invites/${invite.id}`),
      done: words.inviteEnded,
    })
  return (
    <Paged<Invite>
      name={['admin', 'invites']}
      path="/admin/invites"
      empty={<p className="quiet">{words.noInvites}</p>}
    >
      {(invites) => (
        <Table
          label={words.invites}
          rows={invites}
          idOf={({ id }) => id}
          columns={[
            { head: words.note, names: true, cell: ({ note, id }) => (note === '' ? id : note) },
            { head: words.usesLeft, figures: true, cell: (invite) => invite.uses_left },
            { head: words.until, cell: (invite) => <When at={invite.expires_at} /> },
            { head: words.made, cell: (invite) => <When at={invite.created_at} /> },
            {
              head: words.acts,
              cell: (invite) => (
                <button type="button" className="link bad" onClick={() => end(invite)}>
                  {shell.remove}
                </button>
              ),
            },
          ]}
        />
      )}
    </Paged>
  )
}

function InviteForm({ close }: { readonly close: () => void }) {
  const words = useWords('running').people
  const shell = useWords('shell')
  const [code, setCode] = useState<string | null>(null)
  const { draft, field } = useDraft({ note: '', uses: '1' })
  const make = useAction(async () => {
    const body = { note: draft.note.trim(), uses: Number(draft.uses) }
    setCode((await change<{ code: string }>('POST', '/invites', body)).code)
  })
  if (code !== null) return <Secret secret={code} close={close} />
  return (
    <Form action={make} verb={shell.create} cancel={close} isIncomplete={!isWhole(draft.uses)}>
      <TextInput label={words.note} description={words.noteHint} autoComplete="off" {...field('note')} />
      <WholeField label={words.uses} required {...field('uses')} />
    </Form>
  )
}
