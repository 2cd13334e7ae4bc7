/** One account: balance, API keys, entries, limits and support actions. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { call, get } from '../../../api/client.ts'
import type { Account, Entry, Session } from '../../../api/contract.ts'
import { useMessages, type Messages } from '../../../locales/messages.ts'
import { AccountAutomaticRecharge } from '../../../components/tables/account-automatic-recharge.tsx'
import { AccountApiKeys } from '../../../components/tables/api-key-table.tsx'
import { AccessLinkButton } from '../../../components/feedback/access-link.tsx'
import { useAction } from '../../../components/forms/use-action.ts'
import { AffectedAccount } from '../../../components/feedback/affected-usage.tsx'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { CreditForm } from '../../../components/forms/credit-form.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { formatNumber, toNanos } from '../../../components/format.ts'
import { AccountLimitsForm } from '../../../components/forms/account-limits-form.tsx'
import { RefundForm } from '../../../components/forms/refund-form.tsx'
import { QueryBoundary, PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../../components/feedback/empty-state.tsx'
import { DescriptionList, StatTiles, Page, Section } from '../../../components/layout/page.tsx'
import { entrySource } from '../../../components/tables/entry-source.ts'
import { CopyButton, Money, ShortId, RelativeTime } from '../../../components/tables/format-cells.tsx'
import { LogTime } from '../../../components/tables/time-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { ServerNote } from '../../../components/tables/server-text.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { startSession } from '../../../api/session.ts'
import { AccountStatus } from './accounts.tsx'

const route = getRouteApi('/shell/operator/accounts/$id')

function accountQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'account', id],
    queryFn: () => get<Account>(`/admin/accounts/${encodeURIComponent(id)}`),
    refetchInterval: refreshMs,
  })
}

export function AccountPage() {
  const { id } = route.useParams()
  const t = useMessages('customers').accounts
  return (
    <QueryBoundary options={accountQuery(id)} title={t.account}>
      {(account) => <AccountContent account={account} />}
    </QueryBoundary>
  )
}

function AccountContent({ account }: { readonly account: Account }) {
  const t = useMessages('customers').account
  const navigate = route.useNavigate()
  const { add, edit, refund } = route.useSearch()
  const refunds = useMessages('customers').refund
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={account.email}
      lead={account.name === '' ? undefined : account.name}
      actions={<AccountActions account={account} />}
    >
      <StatTiles
        stats={[
          { name: t.balance, definition: 'balance', value: <Money amount={account.balance} /> },
          { name: t.held, definition: 'held', value: <Money amount={account.held} />, note: t.heldNote },
          {
            name: t.available,
            definition: 'available',
            value: <Money amount={account.available} />,
            note: limitingCapNote(account, t),
          },
          {
            name: t.today,
            definition: 'spentToday',
            value: <Money amount={account.spent_today} />,
            note: <CapNote cap={account.caps.daily} />,
          },
          {
            name: t.month,
            definition: 'spentMonth',
            value: <Money amount={account.spent_month} />,
            note: <CapNote cap={account.caps.monthly} />,
          },
        ]}
      />
      <AccountFacts account={account} />
      <AccountAutomaticRecharge account={account.id} />
      <Section
        title={t.keys}
        lead={t.keysLead}
        csv={{ path: '/admin/keys', filter: { account: account.id } }}
      >
        <AccountApiKeys
          accountId={account.id}
          isAdding={add !== undefined}
          add={() => void navigate({ search: { add: 'key' } })}
          editedId={edit}
          edit={(key) => void navigate({ search: { edit: key } })}
          close={close}
        />
      </Section>
      <Section
        title={t.entries}
        lead={t.entriesLead}
        csv={{ path: `/admin/accounts/${account.id}/entries` }}
        actions={
          <Link to="/operator/requests" search={{ account: account.id }}>
            {t.requests}
          </Link>
        }
      >
        <EntryTable accountId={account.id} />
      </Section>
      <Dialog title={t.creditTitle(account.email)} opened={edit === 'credit'} close={close}>
        <CreditForm account={account} close={close} />
      </Dialog>
      {refund !== undefined && (
        <Dialog title={refunds.title} opened close={close}>
          <RefundForm requestId={refund} close={close} />
        </Dialog>
      )}
      <Dialog title={t.limitsTitle(account.email)} opened={edit === 'limits'} close={close}>
        <AccountLimitsForm account={account} close={close} />
      </Dialog>
    </Page>
  )
}

/** Which cap, if any, leaves less than the balance does. */
function limitingCapNote(account: Account, t: Messages<'customers'>['account']): string | undefined {
  const { balance, held, available, caps } = account
  if (toNanos(available) >= toNanos(balance) - toNanos(held)) return undefined
  const left = (cap: string, spent: string): bigint => toNanos(cap) - toNanos(spent)
  const day = caps.daily === null ? null : left(caps.daily, account.spent_today)
  const month = caps.monthly === null ? null : left(caps.monthly, account.spent_month)
  if (day === null && month === null) return undefined
  return month === null || (day !== null && day < month) ? t.limitedByDay : t.limitedByMonth
}

function CapNote({ cap }: { readonly cap: string | null }) {
  const t = useMessages('customers').account
  if (cap === null) return t.noCap
  return (
    <>
      {t.of} <Money amount={cap} />
    </>
  )
}

function AccountActions({ account }: { readonly account: Account }) {
  const t = useMessages('customers').account
  const navigate = useNavigate()
  const page = route.useNavigate()
  const impersonate = useAction(async () => {
    startSession(await call<Session>('POST', `/console/operator/accounts/${account.id}/act`, {}))
    await navigate({ to: '/' })
  })
  const isActive = account.status === 'active'
  const setStatus = (status: Account['status']) => () =>
    mutateAdmin('PATCH', `/accounts/${account.id}`, { status })
  const toggle = (): void =>
    confirm({
      title: isActive ? t.suspendTitle(account.email) : t.resumeTitle(account.email),
      description: (
        <div className="stack">
          <p>{isActive ? t.suspendEffect : t.resumeEffect}</p>
          {isActive && <AffectedAccount id={account.id} balance={account.balance} />}
        </div>
      ),
      confirmLabel: isActive ? t.suspend : t.resume,
      isSafe: !isActive,
      onConfirm: setStatus(isActive ? 'suspended' : 'active'),
      successMessage: isActive ? t.suspended : t.resumed,
      undo: setStatus(account.status),
    })
  return (
    <>
      <Button onClick={() => void page({ search: { edit: 'credit' } })}>{t.credit}</Button>
      <Button variant="default" onClick={() => void page({ search: { edit: 'limits' } })}>
        {t.limits}
      </Button>
      <Button variant="default" loading={impersonate.isRunning} onClick={() => void impersonate.run()}>
        {t.impersonate}
      </Button>
      <Button variant="default" color={isActive ? 'red' : 'accent'} onClick={toggle}>
        {isActive ? t.suspend : t.resume}
      </Button>
      {impersonate.error && <ErrorMessage error={impersonate.error} />}
    </>
  )
}

function AccountFacts({ account }: { readonly account: Account }) {
  const t = useMessages('customers').account
  const shell = useMessages('shell')
  const limit = (value: number | 'unlimited' | null): string => {
    if (value === null) return t.inherited
    return value === 'unlimited' ? shell.unlimited : formatNumber(value)
  }
  const { rpm, tpm, rpd, concurrency } = account.limits
  return (
    <DescriptionList
      items={[
        [t.status, <AccountStatus key="status" status={account.status} />],
        ...(Number(account.receivable) === 0
          ? []
          : ([[t.receivable, <Money key="receivable" amount={account.receivable} />]] as const)),
        [t.tier, account.tier],
        [t.factor, account.price_factor === null ? t.inherited : `× ${account.price_factor}`],
        [t.timezone, account.timezone],
        [shell.limits.rpm, limit(rpm)],
        [shell.limits.tpm, limit(tpm)],
        [shell.limits.rpd, limit(rpd)],
        [shell.limits.concurrency, limit(concurrency)],
        [t.opened, <RelativeTime key="at" at={account.created_at} />],
        [t.signIn, <AccessLinkButton key="link" account={account} />],
        [t.id, <CopyButton key="id" text={account.id} />],
        [
          t.audit,
          <Link key="audit" to="/operator/audit" search={{ object: account.id }}>
            {t.activity}
          </Link>,
        ],
      ]}
    />
  )
}

function EntryTable({ accountId }: { readonly accountId: string }) {
  const t = useMessages('customers').account
  const navigate = route.useNavigate()
  const kinds: Readonly<Record<string, string>> = t.kinds
  return (
    <PagedList<Entry>
      queryKey={['admin', 'entries', accountId]}
      path={`/admin/accounts/${accountId}/entries`}
      limit={20}
      empty={<EmptyState title={t.noEntries}>{t.noEntriesLead}</EmptyState>}
    >
      {(entries) => (
        <Table
          label={t.entries}
          rows={entries}
          rowId={({ id }) => id}
          columns={[
            { header: t.time, cell: ({ time }) => <LogTime at={time} /> },
            {
              header: t.item,
              primary: true,
              cell: (entry) => (
                <>
                  {kinds[entrySource(entry)] ?? kinds[entry.kind] ?? entry.kind}
                  <ServerNote text={entry.reason} />
                </>
              ),
            },
            {
              header: t.reference,
              // The other ids are made of what the description says.
              cell: ({ kind, source, reference }) => {
                if (reference === null) return '–'
                if (kind === 'charge' || kind === 'late') {
                  return (
                    <Link to="/operator/requests/$id" params={{ id: reference }}>
                      {t.request}
                    </Link>
                  )
                }
                return source === 'payment' ? <ShortId id={reference} /> : '–'
              },
            },
            { header: t.amount, numeric: true, cell: ({ amount }) => <Money amount={amount} /> },
            { header: t.balanceAfter, numeric: true, cell: ({ balance }) => <Money amount={balance} /> },
            {
              header: t.actions,
              isMenu: true,
              cell: ({ kind, reference }) =>
                kind === 'charge' &&
                reference !== null && (
                  <RowMenu
                    name={reference}
                    actions={[
                      {
                        label: t.refund,
                        onClick: () => void navigate({ search: { refund: reference } }),
                      },
                    ]}
                  />
                ),
            },
          ]}
        />
      )}
    </PagedList>
  )
}
