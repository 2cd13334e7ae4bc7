/** Billing: balance and caps, vouchers, all entries with the balance after each, monthly statements. */
import { Button, TextInput } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { AccountEntry, Wallet } from '../../api/contract.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { mutateAccount, paymentMethodsQuery, walletQuery } from '../../api/account-queries.ts'
import { submitHandler, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { Meter } from '../../components/charts/chart.tsx'
import { Dialog } from '../../components/forms/dialog.tsx'
import { MoneyField, Form, useDraft } from '../../components/forms/fields.tsx'
import { changedFields, optionalText, previousFields, undoOf } from '../../components/forms/field-values.ts'
import { formatMoney, formatMonth } from '../../components/format.ts'
import { QueryBoundary, PagedList } from '../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { StatTiles, Page, Section } from '../../components/layout/page.tsx'
import { entrySource } from '../../components/tables/entry-source.ts'
import { Money, useCurrency } from '../../components/tables/format-cells.tsx'
import { LogTime } from '../../components/tables/time-cells.tsx'
import { PaymentList, RefundList } from '../../components/tables/payment-list.tsx'
import { OwnReferrals } from '../../components/tables/referral-list.tsx'
import { ServerNote } from '../../components/tables/server-text.tsx'
import { Table } from '../../components/tables/table.tsx'
import { showToast } from '../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/billing')

const statementsQuery = queryOptions({
  queryKey: ['account', 'statements'],
  queryFn: () => get<{ data: string[] }>('/console/billing/statements'),
})

export function Billing() {
  const t = useMessages('account').billing
  const language = useLanguage()
  const navigate = route.useNavigate()
  const payments = useMessages('payments')
  const invoices = useMessages('invoices')
  const { data: methods } = useQuery(paymentMethodsQuery)
  const hasPayments = methods !== undefined && methods.data.length > 0
  const { edit, refund } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={t.title}
      actions={
        <>
          <Button variant="default" onClick={() => void navigate({ search: { edit: 'caps' } })}>
            {t.setCaps}
          </Button>
          {hasPayments && (
            <Button onClick={() => void navigate({ to: '/billing/recharge' })}>{payments.recharge}</Button>
          )}
        </>
      }
    >
      <QueryBoundary options={walletQuery}>
        {(wallet) => (
          <>
            <Receivable amount={wallet.receivable} />
            <BalanceTiles wallet={wallet} />
            <Dialog title={t.setCaps} opened={edit === 'caps'} close={close}>
              <CapsForm wallet={wallet} close={close} />
            </Dialog>
          </>
        )}
      </QueryBoundary>
      <Section title={t.voucher} lead={t.voucherLead}>
        <RedeemVoucher />
      </Section>
      <OwnReferrals />
      {hasPayments && (
        <>
          <Section
            title={payments.orders}
            actions={
              <Button variant="default" onClick={() => void navigate({ to: '/billing/invoices' })}>
                {invoices.title}
              </Button>
            }
          >
            <PaymentList
              refunding={refund}
              setRefunding={(order) =>
                void navigate({ search: order === undefined ? {} : { refund: order } })
              }
            />
          </Section>
          <Section title={payments.refunds}>
            <RefundList />
          </Section>
        </>
      )}
      <Section title={t.entries} csv={{ path: '/console/billing/entries' }}>
        <EntryTable />
      </Section>
      <Section title={t.statements} lead={t.statementsLead}>
        <QueryBoundary options={statementsQuery}>
          {({ data }) =>
            data.length === 0 ? (
              <p className="muted">{t.noStatements}</p>
            ) : (
              <div className="row">
                {data.map((month) => (
                  <Link key={month} to="/billing/$month" params={{ month }} className="tag">
                    {formatMonth(month, language)}
                  </Link>
                ))}
              </div>
            )
          }
        </QueryBoundary>
      </Section>
    </Page>
  )
}

function Receivable({ amount }: { readonly amount: string }) {
  const t = useMessages('payments')
  const currency = useCurrency()
  if (Number(amount) === 0) return null
  return <p className="callout warning">{t.owed(formatMoney(amount, currency))}</p>
}

function BalanceTiles({ wallet }: { readonly wallet: Wallet }) {
  const t = useMessages('account').billing
  const share = (cap: string | null, spent: string): number | null =>
    cap === null ? null : Number(spent) / Math.max(Number(cap), 1e-9)
  const note = (name: string, cap: string | null, spent: string) => {
    const used = share(cap, spent)
    if (cap === null || used === null) return t.noCap
    return (
      <Meter label={name} share={used}>
        <span>
          {t.of} <Money amount={cap} />
        </span>
      </Meter>
    )
  }
  return (
    <StatTiles
      stats={[
        { name: t.balance, definition: 'balance', value: <Money amount={wallet.balance} /> },
        { name: t.held, definition: 'held', value: <Money amount={wallet.held} />, note: t.heldNote },
        {
          name: t.available,
          definition: 'available',
          value: <Money amount={wallet.available} />,
          note: t.availableNote,
        },
        {
          name: t.today,
          definition: 'spentToday',
          value: <Money amount={wallet.spent_today} />,
          note: note(t.dailyCap, wallet.caps.daily, wallet.spent_today),
        },
        {
          name: t.month,
          definition: 'spentMonth',
          value: <Money amount={wallet.spent_month} />,
          note: note(t.monthlyCap, wallet.caps.monthly, wallet.spent_month),
        },
      ]}
    />
  )
}

function CapsForm({ wallet, close }: { readonly wallet: Wallet; readonly close: () => void }) {
  const t = useMessages('account').billing
  const shell = useMessages('shell')
  const { draft, initialDraft, field } = useDraft({
    daily: wallet.caps.daily ?? '',
    monthly: wallet.caps.monthly ?? '',
  })
  const bodyFrom = ({ daily, monthly }: typeof draft) => ({
    daily: optionalText(daily),
    monthly: optionalText(monthly),
  })
  const save = useAction(async () => {
    const changes = changedFields(bodyFrom(initialDraft), bodyFrom(draft))
    const patch = (body: unknown): Promise<unknown> => mutateAccount('PATCH', '/billing/caps', body)
    await patch(changes)
    showToast(shell.saved, { undo: undoOf(changes, () => patch(previousFields(wallet.caps, changes))) })
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form action={save} submitLabel={shell.save} cancel={close} inlineErrors={['daily', 'monthly']}>
      <p>{t.capsLead}</p>
      <div className="fields">
        <MoneyField
          label={t.dailyCap}
          placeholder={shell.none}
          error={fieldError('daily')}
          {...field('daily')}
        />
        <MoneyField
          label={t.monthlyCap}
          placeholder={shell.none}
          error={fieldError('monthly')}
          {...field('monthly')}
        />
      </div>
    </Form>
  )
}

function RedeemVoucher() {
  const t = useMessages('account').billing
  const currency = useCurrency()
  const { draft, set, field } = useDraft({ code: '' })
  const redeem = useAction(async () => {
    const result = await mutateAccount<{ amount: string; balance: string }>('POST', '/billing/vouchers', {
      code: draft.code.trim(),
    })
    set('code', '')
    showToast(t.redeemed(formatMoney(result.amount, currency), formatMoney(result.balance, currency)))
  })
  const fieldError = useFieldError(redeem.error)
  return (
    <form className="panel stack" onSubmit={submitHandler(redeem.run)}>
      <div className="row inline-form">
        <TextInput label={t.code} required autoComplete="off" error={fieldError('code')} {...field('code')} />
        <Button type="submit" loading={redeem.isRunning}>
          {t.redeem}
        </Button>
      </div>
      {redeem.error && redeem.error.param !== 'code' && <ErrorMessage error={redeem.error} />}
    </form>
  )
}

function EntryTable() {
  const t = useMessages('account').billing
  const sources: Readonly<Record<string, string>> = t.sources
  return (
    <PagedList<AccountEntry>
      queryKey={['account', 'entries']}
      path="/console/billing/entries"
      limit={25}
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
                  {entry.reference === null ? (
                    (sources[entrySource(entry)] ?? sources[entry.kind])
                  ) : (
                    <Link to="/usage/$id" params={{ id: entry.reference }}>
                      {t.requestCharge}
                    </Link>
                  )}
                  <ServerNote text={entry.reason} />
                </>
              ),
            },
            { header: t.amount, numeric: true, cell: ({ amount }) => <Money amount={amount} /> },
            {
              header: t.balanceAfter,
              numeric: true,
              cell: ({ balance }) => (balance === null ? '–' : <Money amount={balance} />),
            },
          ]}
        />
      )}
    </PagedList>
  )
}
