/** An account's money: balance and caps, vouchers, every entry with the balance after it, monthly statements. */
import { Button, TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { OwnEntry, Wallet } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { changeOwn, walletQuery } from '../../api/account-queries.ts'
import { submitting, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { Meter } from '../../components/charts/chart.tsx'
import { AmountField, Dialog, Form, useDraft } from '../../components/forms/fields.tsx'
import { moneyText } from '../../components/format.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { Asked, Paged } from '../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../components/feedback/empty-state.tsx'
import { Figures, Page, Section } from '../../components/layout/page.tsx'
import { Money, useCurrency, When } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { say } from '../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/billing')

const statementsQuery = queryOptions({
  queryKey: ['own', 'statements'],
  queryFn: () => get<{ data: string[] }>('/console/billing/statements'),
})

export function Billing() {
  const words = useWords('account').billing
  const navigate = route.useNavigate()
  const { edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={words.title}
      actions={
        <Button variant="default" onClick={() => void navigate({ search: { edit: 'caps' } })}>
          {words.setCaps}
        </Button>
      }
    >
      <Asked options={walletQuery}>
        {(wallet) => (
          <>
            <WalletFigures wallet={wallet} />
            <Dialog title={words.setCaps} opened={edit === 'caps'} close={close}>
              <CapsForm wallet={wallet} close={close} />
            </Dialog>
          </>
        )}
      </Asked>
      <Section title={words.recharge} lead={words.rechargeLead}>
        <Redeem />
      </Section>
      <Section
        title={words.entries}
        actions={
          <Button
            component="a"
            variant="default"
            href="/api/console/billing/entries.csv"
            leftSection={<Icon name="download" />}
          >
            {words.csv}
          </Button>
        }
      >
        <Entries />
      </Section>
      <Section title={words.statements} lead={words.statementsLead}>
        <Asked options={statementsQuery}>
          {({ data }) =>
            data.length === 0 ? (
              <p className="quiet">{words.noStatements}</p>
            ) : (
              <div className="row">
                {data.map((month) => (
                  <Link key={month} to="/billing/$month" params={{ month }} className="tag">
                    {month}
                  </Link>
                ))}
              </div>
            )
          }
        </Asked>
      </Section>
    </Page>
  )
}

function WalletFigures({ wallet }: { readonly wallet: Wallet }) {
  const words = useWords('account').billing
  const share = (cap: string | null, spent: string): number | null =>
    cap === null ? null : Number(spent) / Math.max(Number(cap), 1e-9)
  const note = (name: string, cap: string | null, spent: string) => {
    const used = share(cap, spent)
    if (cap === null || used === null) return words.noCap
    return (
      <Meter label={name} share={used}>
        <span>
          {words.of} <Money amount={cap} />
        </span>
      </Meter>
    )
  }
  return (
    <Figures
      figures={[
        { name: words.balance, value: <Money amount={wallet.balance} /> },
        { name: words.held, value: <Money amount={wallet.held} />, note: words.heldNote },
        { name: words.available, value: <Money amount={wallet.available} />, note: words.availableNote },
        {
          name: words.today,
          value: <Money amount={wallet.spent_today} />,
          note: note(words.dailyCap, wallet.caps.daily, wallet.spent_today),
        },
        {
          name: words.month,
          value: <Money amount={wallet.spent_month} />,
          note: note(words.monthlyCap, wallet.caps.monthly, wallet.spent_month),
        },
      ]}
    />
  )
}

function CapsForm({ wallet, close }: { readonly wallet: Wallet; readonly close: () => void }) {
  const words = useWords('account').billing
  const shell = useWords('shell')
  const { draft, field } = useDraft({ daily: wallet.caps.daily ?? '', monthly: wallet.caps.monthly ?? '' })
  const amount = (text: string): string | null => (text.trim() === '' ? null : text.trim())
  const save = useAction(async () => {
    await changeOwn('PATCH', '/billing/caps', { daily: amount(draft.daily), monthly: amount(draft.monthly) })
    say(shell.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form action={save} verb={shell.save} cancel={close} beside={['daily', 'monthly']}>
      <p>{words.capsLead}</p>
      <div className="fields">
        <AmountField
          label={words.dailyCap}
          placeholder={shell.none}
          error={errorOf('daily')}
          {...field('daily')}
        />
        <AmountField
          label={words.monthlyCap}
          placeholder={shell.none}
          error={errorOf('monthly')}
          {...field('monthly')}
        />
      </div>
    </Form>
  )
}

function Redeem() {
  const words = useWords('account').billing
  const currency = useCurrency()
  const { draft, set, field } = useDraft({ code: '' })
  const redeem = useAction(async () => {
    const answer = await changeOwn<{ amount: string; balance: string }>('POST', '/billing/vouchers', {
      code: draft.code.trim(),
    })
    set('code', '')
    say(words.redeemed(moneyText(answer.amount, currency), moneyText(answer.balance, currency)))
  })
  const errorOf = useFieldError(redeem.error)
  return (
    <form className="panel stack" onSubmit={submitting(redeem.run)}>
      <div className="row test-row">
        <TextInput
          label={words.code}
          required
          autoComplete="off"
          error={errorOf('code')}
          {...field('code')}
        />
        <Button type="submit" loading={redeem.isRunning}>
          {words.redeem}
        </Button>
      </div>
      {redeem.error && redeem.error.param !== 'code' && <Refused error={redeem.error} />}
    </form>
  )
}

function Entries() {
  const words = useWords('account').billing
  const sources: Readonly<Record<string, string>> = words.sources
  return (
    <Paged<OwnEntry>
      name={['own', 'entries']}
      path="/console/billing/entries"
      limit={25}
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
              cell: ({ kind, source, reason, request_id: request }) => (
                <>
                  {request === null ? (
                    (sources[source ?? kind] ?? sources[kind])
                  ) : (
                    <Link to="/usage/$id" params={{ id: request }}>
                      {words.chargeFor}
                    </Link>
                  )}
                  {reason !== null && <small>{reason}</small>}
                </>
              ),
            },
            { head: words.amount, figures: true, cell: ({ amount }) => <Money amount={amount} /> },
            {
              head: words.after,
              figures: true,
              cell: ({ balance }) => (balance === null ? '–' : <Money amount={balance} />),
            },
          ]}
        />
      )}
    </Paged>
  )
}
