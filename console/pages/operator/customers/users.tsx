/** Who may sign in: customers and operators, one-time links, and invites. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import type { Invite, AccessLink, User } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { AccessLinkDialog } from '../../../components/feedback/access-link.tsx'
import { AffectedAccount } from '../../../components/feedback/affected-usage.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { SelectField, Form, useDraft, IntegerField } from '../../../components/forms/fields.tsx'
import { isInteger } from '../../../components/forms/field-values.ts'
import { Filters } from '../../../components/forms/filters.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { OneTimeSecret } from '../../../components/feedback/one-time-secret.tsx'
import { StatusLabel, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { ExpiryDate } from '../../../components/tables/time-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { useSession } from '../../../api/session.ts'

const route = getRouteApi('/shell/operator/people')

export function Users() {
  const t = useMessages('operations').users
  const navigate = route.useNavigate()
  const { role, invite } = route.useSearch()
  const [link, setLink] = useState<AccessLink | null>(null)
  const close = (): void => void navigate({ search: { role } })
  const inviteOperator = (): void =>
    confirm({
      title: t.operatorTitle,
      description: t.operatorEffect,
      confirmLabel: t.inviteOperator,
      isSafe: true,
      onConfirm: async () => setLink(await mutateAdmin<AccessLink>('POST', '/operators/link', {})),
      successMessage: t.resetDone,
    })
  const list = { path: '/admin/people', filter: { role } }
  return (
    <Page
      title={t.title}
      lead={t.lead}
      csv={list}
      actions={<Button onClick={inviteOperator}>{t.inviteOperator}</Button>}
    >
      <Filters search={{ role }} apply={(search) => void navigate({ search })} selectsOnly>
        {({ select }) => (
          <SelectField
            label={t.role}
            anyLabel={t.everyone}
            options={[
              { value: 'operator', label: t.roles.operator },
              { value: 'customer', label: t.roles.customer },
            ]}
            {...select('role')}
          />
        )}
      </Filters>
      <PagedList<User> queryKey={['admin', 'people']} {...list} empty={<EmptyState title={t.none} />}>
        {(users) => <UserTable users={users} showLink={setLink} />}
      </PagedList>
      <Section
        title={t.invites}
        lead={t.invitesLead}
        csv={{ path: '/admin/invites' }}
        actions={
          <Button variant="default" onClick={() => void navigate({ search: { role, invite: 'yes' } })}>
            {t.invite}
          </Button>
        }
      >
        <InviteList />
      </Section>
      <AccessLinkDialog link={link} close={() => setLink(null)} />
      <Dialog title={t.invite} opened={invite !== undefined} close={close}>
        <InviteForm close={close} />
      </Dialog>
    </Page>
  )
}

interface UserTableProps {
  readonly users: readonly User[]
  readonly showLink: (link: AccessLink) => void
}

function UserTable({ users, showLink }: UserTableProps) {
  const t = useMessages('operations').users
  const { person: currentUser } = useSession()
  const setBlocked = (id: string, disabled: boolean) => () =>
    mutateAdmin('PATCH', `/people/${id}`, { disabled })
  const toggle = ({ id, email, account, disabled }: User): void =>
    confirm({
      title: disabled ? t.unblockTitle(email) : t.blockTitle(email),
      description: disabled ? t.unblockEffect : <BlockEffect account={account} />,
      confirmLabel: disabled ? t.unblock : t.block,
      isSafe: disabled,
      onConfirm: setBlocked(id, !disabled),
      successMessage: disabled ? t.unblockDone : t.blockDone,
      undo: setBlocked(id, disabled),
    })
  const reset = (user: User): void =>
    confirm({
      title: t.resetTitle(user.email),
      description: t.resetEffect,
      confirmLabel: t.reset,
      isSafe: true,
      onConfirm: async () =>
        showLink(await mutateAdmin<AccessLink>('POST', `/people/${user.id}/access-link`, {})),
      successMessage: t.resetDone,
    })
  return (
    <Table
      label={t.title}
      rows={users}
      rowId={({ id }) => id}
      columns={[
        {
          header: t.user,
          primary: true,
          cell: ({ email, name }) => (
            <>
              {email}
              {name !== '' && <small>{name}</small>}
            </>
          ),
        },
        { header: t.role, cell: ({ role }) => <span className="tag">{t.roles[role]}</span> },
        {
          header: t.state,
          cell: ({ disabled }) =>
            disabled ? (
              <StatusLabel tone="danger">{t.blocked}</StatusLabel>
            ) : (
              <StatusLabel tone="success">{t.allowed}</StatusLabel>
            ),
        },
        {
          header: t.twoFactor,
          cell: (user) =>
            user.two_factor ? (
              <StatusLabel tone="success">{t.on}</StatusLabel>
            ) : (
              <StatusLabel tone={user.role === 'operator' ? 'warning' : 'neutral'}>{t.off}</StatusLabel>
            ),
        },
        {
          header: t.lastSignIn,
          wideOnly: true,
          cell: (user) => <RelativeTime at={user.last_sign_in_at} />,
        },
        {
          header: t.account,
          cell: ({ account }) =>
            account === null ? (
              '–'
            ) : (
              <Link to="/operator/accounts/$id" params={{ id: account }}>
                {t.account}
              </Link>
            ),
        },
        {
          header: t.actions,
          isMenu: true,
          cell: (user) =>
            user.id === currentUser?.id ? (
              <span className="muted nowrap">{t.you}</span>
            ) : (
              <RowMenu
                name={user.email}
                actions={[
                  { label: t.reset, onClick: () => reset(user) },
                  {
                    label: user.disabled ? t.unblock : t.block,
                    onClick: () => toggle(user),
                    isDestructive: !user.disabled,
                  },
                ]}
              />
            ),
        },
      ]}
    />
  )
}

function BlockEffect({ account }: { readonly account: string | null }) {
  const t = useMessages('operations').users
  return (
    <div className="stack">
      <p>{t.blockEffect}</p>
      {account !== null && <AffectedAccount id={account} describe={t.keysKeepWorking} />}
    </div>
  )
}

function InviteList() {
  const t = useMessages('operations').users
  const shell = useMessages('shell')
  const revoke = (invite: Invite): void =>
    confirm({
      title: t.deleteInviteTitle,
      description: t.deleteInviteEffect(invite.uses_left),
      confirmLabel: shell.remove,
      onConfirm: () => mutateAdmin('DELETE', `/invites/${invite.id}`),
      successMessage: t.inviteDeleted,
    })
  return (
    <PagedList<Invite>
      queryKey={['admin', 'invites']}
      path="/admin/invites"
      empty={<p className="muted">{t.noInvites}</p>}
    >
      {(invites) => (
        <Table
          label={t.invites}
          rows={invites}
          rowId={({ id }) => id}
          columns={[
            { header: t.note, primary: true, cell: ({ note, id }) => (note === '' ? id : note) },
            { header: t.usesLeft, numeric: true, cell: (invite) => invite.uses_left },
            { header: t.until, cell: (invite) => <ExpiryDate at={invite.expires_at} /> },
            { header: t.createdAt, cell: (invite) => <RelativeTime at={invite.created_at} /> },
            {
              header: t.actions,
              isMenu: true,
              cell: (invite) => (
                <RowMenu
                  name={invite.note === '' ? invite.id : invite.note}
                  actions={[{ label: shell.remove, onClick: () => revoke(invite), isDestructive: true }]}
                />
              ),
            },
          ]}
        />
      )}
    </PagedList>
  )
}

function InviteForm({ close }: { readonly close: () => void }) {
  const t = useMessages('operations').users
  const shell = useMessages('shell')
  const [code, setCode] = useState<string | null>(null)
  const { draft, field } = useDraft({ note: '', uses: '1' })
  const make = useAction(async () => {
    const body = { note: draft.note.trim(), uses: Number(draft.uses) }
    setCode((await mutateAdmin<{ code: string }>('POST', '/invites', body)).code)
  })
  if (code !== null) return <OneTimeSecret secret={code} close={close} />
  return (
    <Form action={make} submitLabel={shell.create} cancel={close} isIncomplete={!isInteger(draft.uses)}>
      <TextInput label={t.note} description={t.noteHint} autoComplete="off" {...field('note')} />
      <IntegerField label={t.uses} required {...field('uses')} />
    </Form>
  )
}
