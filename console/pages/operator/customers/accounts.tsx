/** The accounts: find by e-mail, name or ID, open by hand. */
import { Button, Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import { mutateAdmin, tiersQuery } from '../../../api/admin-queries.ts'
import type { Account } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { SelectField, Form, useDraft } from '../../../components/forms/fields.tsx'
import { Filters, SelectFilter } from '../../../components/forms/filters.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Money, StatusLabel, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/accounts')

export function Accounts() {
  const t = useMessages('customers').accounts
  const navigate = route.useNavigate()
  const { add, ...filter } = route.useSearch()
  const close = (): void => void navigate({ search: filter })
  const list = { path: '/admin/accounts', filter }
  const isFiltered = Object.keys(filter).length > 0
  return (
    <Page
      title={t.title}
      lead={t.lead}
      csv={list}
      actions={
        <Button
          leftSection={<Icon name="plus" />}
          onClick={() => void navigate({ search: { ...filter, add: 'yes' } })}
        >
          {t.add}
        </Button>
      }
    >
      <Filters search={filter} apply={(search) => void navigate({ search })}>
        {({ input, select }) => (
          <>
            <TextInput label={t.search} type="search" {...input('q')} />
            <SelectFilter
              label={t.status}
              options={[
                { value: 'active', label: t.active },
                { value: 'suspended', label: t.suspended },
              ]}
              {...select('status')}
            />
            <SelectFilter
              label={t.receivable}
              options={[{ value: 'true', label: t.owesReceivable }]}
              {...select('receivable')}
            />
          </>
        )}
      </Filters>
      <PagedList<Account>
        queryKey={['admin', 'accounts']}
        {...list}
        refreshMs={refreshMs}
        empty={
          <EmptyState title={isFiltered ? t.notFound : t.none}>
            {isFiltered ? t.notFoundLead : t.noneLead}
          </EmptyState>
        }
      >
        {(accounts) => <AccountTable accounts={accounts} />}
      </PagedList>
      <Dialog title={t.add} opened={add !== undefined} close={close}>
        <AccountForm close={close} />
      </Dialog>
    </Page>
  )
}

export function AccountStatus({ status }: { readonly status: Account['status'] }) {
  const t = useMessages('customers').accounts
  return status === 'active' ? (
    <StatusLabel tone="success">{t.active}</StatusLabel>
  ) : (
    <StatusLabel tone="danger">{t.suspended}</StatusLabel>
  )
}

function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const t = useMessages('customers').accounts
  return (
    <Table
      label={t.title}
      rows={accounts}
      rowId={({ id }) => id}
      rowHref={({ id }) => `/operator/accounts/${id}`}
      columns={[
        {
          header: t.account,
          primary: true,
          cell: ({ id, email, name }) => (
            <>
              <Link to="/operator/accounts/$id" params={{ id }}>
                {email}
              </Link>
              {name !== '' && <small>{name}</small>}
            </>
          ),
        },
        { header: t.status, cell: ({ status }) => <AccountStatus status={status} /> },
        { header: t.tier, cell: ({ tier }) => <span className="tag">{tier}</span> },
        {
          header: t.balance,
          definition: 'balance',
          numeric: true,
          cell: ({ balance }) => <Money amount={balance} />,
        },
        {
          header: t.held,
          definition: 'held',
          numeric: true,
          wideOnly: true,
          cell: ({ held }) => <Money amount={held} />,
        },
        {
          header: t.today,
          definition: 'spentToday',
          numeric: true,
          wideOnly: true,
          cell: (item) => <Money amount={item.spent_today} />,
        },
        {
          header: t.month,
          definition: 'spentMonth',
          numeric: true,
          cell: (item) => <Money amount={item.spent_month} />,
        },
        { header: t.opened, wideOnly: true, cell: (item) => <RelativeTime at={item.created_at} /> },
      ]}
    />
  )
}

function AccountForm({ close }: { readonly close: () => void }) {
  const t = useMessages('customers').accounts
  const shell = useMessages('shell')
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
    const { id } = await mutateAdmin<Account>('POST', '/accounts', body)
    await navigate({ to: '/operator/accounts/$id', params: { id } })
  })
  const fieldError = useFieldError(create.error)
  return (
    <Form action={create} submitLabel={shell.create} cancel={close} inlineErrors={['email', 'name', 'tier']}>
      <div className="fields">
        <TextInput
          className="full-width"
          label={t.email}
          type="email"
          required
          autoComplete="off"
          error={fieldError('email')}
          {...field('email')}
        />
        <TextInput label={t.name} autoComplete="off" error={fieldError('name')} {...field('name')} />
        <SelectField
          label={t.tier}
          options={tiers.map(({ name }) => ({ value: name, label: name }))}
          error={fieldError('tier')}
          {...field('tier')}
        />
      </div>
      <Checkbox
        label={t.trial}
        checked={draft.trial !== ''}
        onChange={(event) => set('trial', event.currentTarget.checked ? 'yes' : '')}
      />
    </Form>
  )
}
