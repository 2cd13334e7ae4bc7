/** Who holds money here: found by address, opened by hand. */
import { Button, Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { change, tiersQuery } from '../../../api/admin-queries.ts'
import type { Account } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { Choice, Dialog, Form, useDraft } from '../../../components/forms/fields.tsx'
import { Filters, OneOf } from '../../../parts/filters.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Money, State, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/accounts')

export function Accounts() {
  const words = useWords('clients').accounts
  const navigate = route.useNavigate()
  const { email, status, add } = route.useSearch()
  const close = (): void => void navigate({ search: { email, status } })
  const isFiltered = email !== undefined || status !== undefined
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button
          leftSection={<Icon name="plus" />}
          onClick={() => void navigate({ search: { email, status, add: 'yes' } })}
        >
          {words.add}
        </Button>
      }
    >
      <Filters search={{ email, status }} go={(search) => void navigate({ search })}>
        {({ typed, chosen }) => (
          <>
            <TextInput label={words.email} type="search" {...typed('email')} />
            <OneOf
              label={words.status}
              choices={[
                { value: 'active', label: words.active },
                { value: 'suspended', label: words.suspended },
              ]}
              {...chosen('status')}
            />
          </>
        )}
      </Filters>
      <Paged<Account>
        name={['admin', 'accounts']}
        path="/admin/accounts"
        filter={{ email, status }}
        empty={<Nothing title={isFiltered ? words.notFound : words.none}>{words.noneLead}</Nothing>}
      >
        {(accounts) => <AccountTable accounts={accounts} />}
      </Paged>
      <Dialog title={words.add} opened={add !== undefined} close={close}>
        <AccountForm close={close} />
      </Dialog>
    </Page>
  )
}

export function AccountState({ status }: { readonly status: Account['status'] }) {
  const words = useWords('clients').accounts
  return status === 'active' ? (
    <State tone="good">{words.active}</State>
  ) : (
    <State tone="bad">{words.suspended}</State>
  )
}

function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const words = useWords('clients').accounts
  return (
    <Table
      label={words.title}
      rows={accounts}
      idOf={({ id }) => id}
      hrefOf={({ id }) => `/operator/accounts/${id}`}
      columns={[
        {
          head: words.account,
          names: true,
          cell: ({ id, email, name }) => (
            <>
              <Link to="/operator/accounts/$id" params={{ id }}>
                {email}
              </Link>
              {name !== '' && <small>{name}</small>}
            </>
          ),
        },
        { head: words.status, cell: ({ status }) => <AccountState status={status} /> },
        { head: words.tier, cell: ({ tier }) => <span className="tag">{tier}</span> },
        { head: words.balance, figures: true, cell: ({ balance }) => <Money amount={balance} /> },
        { head: words.held, figures: true, wide: true, cell: ({ held }) => <Money amount={held} /> },
        {
          head: words.today,
          figures: true,
          wide: true,
          cell: (each) => <Money amount={each.spent_today} round />,
        },
        { head: words.month, figures: true, cell: (each) => <Money amount={each.spent_month} round /> },
        { head: words.opened, wide: true, cell: (each) => <When at={each.created_at} /> },
      ]}
    />
  )
}

function AccountForm({ close }: { readonly close: () => void }) {
  const words = useWords('clients').accounts
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const tiers = useQuery(tiersQuery).data?.data ?? []
  const { draft, set, field } = useDraft({ email: '', name: '', tier: 'new', trial: '' })
  const create = useAction(async () => {
    const body = {
      email: draft.email.trim(),
      name: draft.name.trim(),
      tier: draft.tier,
      trial: draft.trial !== '',
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }
    const { id } = await change<Account>('POST', '/accounts', body)
    await navigate({ to: '/operator/accounts/$id', params: { id } })
  })
  const errorOf = useFieldError(create.error)
  return (
    <Form action={create} verb={shell.create} cancel={close} beside={['email', 'name', 'tier']}>
      <div className="fields">
        <TextInput
          className="whole"
          label={words.email}
          type="email"
          required
          autoComplete="off"
          error={errorOf('email')}
          {...field('email')}
        />
        <TextInput label={words.name} autoComplete="off" error={errorOf('name')} {...field('name')} />
        <Choice
          label={words.tier}
          choices={tiers.map(({ name }) => ({ value: name, label: name }))}
          error={errorOf('tier')}
          {...field('tier')}
        />
      </div>
      <Checkbox
        label={words.trial}
        checked={draft.trial !== ''}
        onChange={(event) => set('trial', event.currentTarget.checked ? 'yes' : '')}
      />
    </Form>
  )
}
