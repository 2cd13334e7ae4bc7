/** One customer, for support: money, keys, entries, limits, and everything that can be done for them. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { change } from '../../../api/admin-queries.ts'
import { call, get } from '../../../api/client.ts'
import type { Account, Entry, Session } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { AccountKeys } from '../../../parts/account-keys.tsx'
import { AccountLink } from '../../../parts/account-link.tsx'
import { useAction } from '../../../components/forms/use-action.ts'
import { confirm } from '../../../parts/confirm.tsx'
import { CreditForm } from '../../../parts/credit-form.tsx'
import { Dialog } from '../../../components/forms/fields.tsx'
import { numberText } from '../../../components/format.ts'
import { LimitsForm } from '../../../components/forms/account-limits-form.tsx'
import { RefundForm } from '../../../parts/refund-form.tsx'
import { Asked, Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../../components/feedback/empty-state.tsx'
import { Facts, Figures, Page, Section } from '../../../components/layout/page.tsx'
import { Copyable, Money, ShortId, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { enter } from '../../../api/session.ts'
import { AccountState } from './accounts.tsx'

const route = getRouteApi('/shell/operator/accounts/$id')

function accountQuery(id: string) {
  return queryOptions({
    queryKey: ['admin', 'account', id],
    queryFn: () => get<Account>(`/admin/accounts/${encodeURIComponent(id)}`),
    refetchInterval: 5_000,
  })
}

export function AccountPage() {
  const { id } = route.useParams()
  const words = useWords('clients').accounts
  return (
    <Asked options={accountQuery(id)} title={words.account}>
      {(account) => <Shown account={account} />}
    </Asked>
  )
}

function Shown({ account }: { readonly account: Account }) {
  const words = useWords('clients').account
  const navigate = route.useNavigate()
  const { add, edit, refund } = route.useSearch()
  const refunds = useWords('clients').refund
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={account.email}
      lead={account.name === '' ? undefined : account.name}
      actions={<Actions account={account} />}
    >
      <Figures
        figures={[
          { name: words.balance, value: <Money amount={account.balance} /> },
          { name: words.held, value: <Money amount={account.held} />, note: words.heldNote },
          { name: words.available, value: <Money amount={account.available} /> },
          {
            name: words.today,
            value: <Money amount={account.spent_today} round />,
            note: <Cap cap={account.caps.daily} />,
          },
          {
            name: words.month,
            value: <Money amount={account.spent_month} round />,
            note: <Cap cap={account.caps.monthly} />,
          },
        ]}
      />
      <AccountFacts account={account} />
      <Section title={words.keys} lead={words.keysLead}>
        <AccountKeys
          accountId={account.id}
          isAdding={add !== undefined}
          add={() => void navigate({ search: { add: 'key' } })}
          close={close}
        />
      </Section>
      <Section
        title={words.entries}
        lead={words.entriesLead}
        actions={
          <Link to="/operator/requests" search={{ account: account.id }}>
            {words.itsRequests}
          </Link>
        }
      >
        <Entries accountId={account.id} />
      </Section>
      <Dialog title={words.creditTitle(account.email)} opened={edit === 'credit'} close={close}>
        <CreditForm account={account} close={close} />
      </Dialog>
      {refund !== undefined && (
        <Dialog title={refunds.title} opened close={close}>
          <RefundForm requestId={refund} close={close} />
        </Dialog>
      )}
      <Dialog title={words.limitsTitle(account.email)} opened={edit === 'limits'} close={close}>
        <LimitsForm account={account} close={close} />
      </Dialog>
    </Page>
  )
}

function Cap({ cap }: { readonly cap: string | null }) {
  const words = useWords('clients').account
  if (cap === null) return words.noCap
  return (
    <>
      {words.of} <Money amount={cap} />
    </>
  )
}

function Actions({ account }: { readonly account: Account }) {
  const words = useWords('clients').account
  const navigate = useNavigate()
  const page = route.useNavigate()
  const act = useAction(async () => {
    enter(await call<Session>('POST', `/console/operator/accounts/${account.id}/act`, {}))
    await navigate({ to: '/' })
  })
  const isActive = account.status === 'active'
  const toggle = (): void =>
    confirm({
      title: isActive ? words.suspendTitle(account.email) : words.resumeTitle(account.email),
      effect: isActive ? words.suspendEffect : words.resumeEffect,
      verb: isActive ? words.suspend : words.resume,
      isHarmless: !isActive,
      carryOut: () =>
        change('PATCH', `/accounts/${account.id}`, { status: isActive ? 'suspended' : 'active' }),
      done: isActive ? words.suspended : words.resumed,
    })
  return (
    <>
      <Button onClick={() => void page({ search: { edit: 'credit' } })}>{words.credit}</Button>
      <Button variant="default" onClick={() => void page({ search: { edit: 'limits' } })}>
        {words.limits}
      </Button>
      <Button variant="default" loading={act.isRunning} onClick={() => void act.run()}>
        {words.signInAs}
      </Button>
      <Button variant="default" color={isActive ? 'red' : 'accent'} onClick={toggle}>
        {isActive ? words.suspend : words.resume}
      </Button>
      {act.error && <Refused error={act.error} />}
    </>
  )
}

function AccountFacts({ account }: { readonly account: Account }) {
  const words = useWords('clients').account
  const shell = useWords('shell')
  const limit = (value: number | 'unlimited' | null): string => {
    if (value === null) return words.asTier
    return value === 'unlimited' ? shell.unlimited : numberText(value)
  }
  const { rpm, tpm, rpd, concurrency } = account.limits
  return (
    <Facts
      facts={[
        [words.status, <AccountState key="status" status={account.status} />],
        [words.tier, account.tier],
        [words.factor, account.price_factor === null ? words.asTier : `× ${account.price_factor}`],
        [words.timezone, account.timezone],
        [shell.limits.rpm, limit(rpm)],
        [shell.limits.tpm, limit(tpm)],
        [shell.limits.rpd, limit(rpd)],
        [shell.limits.concurrency, limit(concurrency)],
        [words.opened, <When key="at" at={account.created_at} />],
        [words.signIn, <AccountLink key="link" account={account} />],
        [words.id, <Copyable key="id" text={account.id} />],
        [
          words.audit,
          <Link key="audit" to="/operator/audit" search={{ object: account.id }}>
            {words.whoDidWhat}
          </Link>,
        ],
      ]}
    />
  )
}

function Entries({ accountId }: { readonly accountId: string }) {
  const words = useWords('clients').account
  const kinds: Readonly<Record<string, string>> = words.kinds
  return (
    <Paged<Entry>
      name={['admin', 'entries', accountId]}
      path={`/admin/accounts/${accountId}/entries`}
      limit={20}
      empty={<Nothing title={words.noEntries}>{words.noEntriesLead}</Nothing>}
    >
      {(entries) => (
        <Table
          label={words.entries}
          rows={entries}
          idOf={({ id }) => id}
          columns={[
            { head: words.time, cell: ({ time }) => <When at={time} /> },
            {
              head: words.what,
              names: true,
              cell: ({ kind, source, reason }) => (
                <>
                  {kinds[source ?? kind] ?? kinds[kind] ?? kind}
                  {reason !== null && <small>{reason}</small>}
                </>
              ),
            },
            {
              head: words.reference,
              cell: ({ kind, reference }) => {
                if (reference === null) return '–'
                return kind === 'charge' ? (
                  <span className="acts">
                    <Link to="/operator/requests/$id" params={{ id: reference }}>
                      {words.request}
                    </Link>
                    <Link
                      to="/operator/accounts/$id"
                      params={{ id: accountId }}
                      search={{ refund: reference }}
                    >
                      {words.refund}
                    </Link>
                  </span>
                ) : (
                  <ShortId id={reference} />
                )
              },
            },
            { head: words.amount, figures: true, cell: ({ amount }) => <Money amount={amount} /> },
            { head: words.after, figures: true, cell: ({ balance }) => <Money amount={balance} /> },
          ]}
        />
      )}
    </Paged>
  )
}
