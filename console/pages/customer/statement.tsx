/** A printable monthly statement: opening balance, credits, charges, closing balance. */
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { Statement } from '../../api/contract.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { formatMonth, formatNumber, formatPeriod } from '../../components/format.ts'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { DescriptionList, StatTiles, Page, Section } from '../../components/layout/page.tsx'
import { PrintButtons } from '../../components/layout/print-buttons.tsx'
import { PrintFrame } from '../../components/layout/print-frame.tsx'
import { formatExactTime, Money } from '../../components/tables/format-cells.tsx'
import { ServerNote } from '../../components/tables/server-text.tsx'
import { Table } from '../../components/tables/table.tsx'

const route = getRouteApi('/shell/billing/$month')

function statementQuery(month: string) {
  return queryOptions({
    queryKey: ['account', 'statement', month],
    queryFn: () => get<Statement>(`/console/billing/statements/${encodeURIComponent(month)}`),
  })
}

export function StatementPage() {
  const { month } = route.useParams()
  const t = useMessages('account').statement
  return (
    <QueryBoundary
      options={statementQuery(month)}
      title={t.title(formatMonth(month, useLanguage()))}
      notFound={t.notFound}
    >
      {(statement) => (
        <PrintFrame>
          <StatementContent statement={statement} />
        </PrintFrame>
      )}
    </QueryBoundary>
  )
}

function StatementContent({ statement }: { readonly statement: Statement }) {
  const t = useMessages('account').statement
  const language = useLanguage()
  const { from, to, timezone, month } = statement
  const isNonZero = ({ amount }: { readonly amount: string }): boolean => amount !== '0'
  // Rejected requests count, too, also those for models that do not exist.
  const sources: Readonly<Record<string, string>> = useMessages('account').billing.sources
  return (
    <Page
      title={t.title(formatMonth(month, language))}
      lead={statement.final ? t.final : t.open}
      csv={{ path: `/console/billing/statements/${month}/lines` }}
      actions={<PrintButtons pdf={`/console/billing/statements/${month}/statement.pdf`} />}
    >
      <DescriptionList
        items={[
          [t.account, statement.account.email],
          [t.name, statement.account.name === '' ? '–' : statement.account.name],
          [t.period, formatPeriod(Date.parse(from), Date.parse(to), language, timezone)],
          [t.timezone, timezone],
        ]}
      />
      <StatTiles
        stats={[
          { name: t.opening, value: <Money amount={statement.opening} /> },
          ...[
            { name: t.payments, amount: statement.payments },
            { name: t.bonuses, amount: statement.bonuses },
            { name: t.otherCredits, amount: statement.other_credits },
            { name: t.paybacks, amount: statement.paybacks },
          ]
            .filter(isNonZero)
            .map(({ name, amount }) => ({ name, value: <Money amount={amount} /> })),
          { name: t.charges, definition: 'charges', value: <Money amount={statement.charges} /> },
          { name: statement.final ? t.closing : t.balanceSoFar, value: <Money amount={statement.closing} /> },
        ]}
      />
      <Section title={t.creditLines}>
        {statement.credit_lines.length === 0 ? (
          <p className="muted">{t.noCredits}</p>
        ) : (
          <Table
            label={t.creditLines}
            rows={statement.credit_lines.map((line, at) => ({ ...line, at }))}
            rowId={({ at }) => String(at)}
            columns={[
              { header: t.time, cell: ({ time }) => formatExactTime(time, timezone) },
              {
                header: t.source,
                primary: true,
                cell: ({ group, source, reason }) => (
                  <>
                    {group === 'payback' ? t.paybacks : (sources[source ?? 'credit'] ?? source)}
                    <ServerNote text={reason} />
                  </>
                ),
              },
              { header: t.amount, numeric: true, cell: ({ amount }) => <Money amount={amount} /> },
            ]}
          />
        )}
      </Section>
      <Section title={t.models}>
        {statement.models.length === 0 ? (
          <p className="muted">{t.noCharges}</p>
        ) : (
          <Table
            label={t.models}
            rows={statement.models}
            rowId={({ model }) => model}
            columns={[
              { header: t.model, primary: true, cell: ({ model }) => model },
              {
                header: t.requests,
                definition: 'requests',
                numeric: true,
                cell: ({ requests }) => formatNumber(requests),
              },
              { header: t.input, numeric: true, cell: (row) => formatNumber(row.prompt_tokens) },
              { header: t.output, numeric: true, cell: (row) => formatNumber(row.completion_tokens) },
              {
                header: t.amount,
                definition: 'charges',
                numeric: true,
                cell: ({ cost }) => <Money amount={cost} />,
              },
            ]}
          />
        )}
      </Section>
    </Page>
  )
}
