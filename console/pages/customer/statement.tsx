/** A month on paper: what was there, what came, what went, what is left. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { Statement } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { numberText } from '../../components/format.ts'
import { Asked } from '../../components/feedback/query-boundary.tsx'
import { Facts, Figures, Page, Section } from '../../components/layout/page.tsx'
import { exactTime, Money } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'

const route = getRouteApi('/shell/billing/$month')

function statementQuery(month: string) {
  return queryOptions({
    queryKey: ['own', 'statement', month],
    queryFn: () => get<Statement>(`/console/billing/statements/${encodeURIComponent(month)}`),
  })
}

export function StatementPage() {
  const { month } = route.useParams()
  const words = useWords('account').statement
  return (
    <Asked options={statementQuery(month)} title={words.title(month)}>
      {(statement) => <Shown statement={statement} />}
    </Asked>
  )
}

function Shown({ statement }: { readonly statement: Statement }) {
  const words = useWords('account').statement
  const sources: Readonly<Record<string, string>> = useWords('account').billing.sources
  return (
    <Page
      title={words.title(statement.month)}
      lead={statement.final ? words.final : words.open}
      actions={
        <Button variant="default" className="no-print" onClick={() => window.print()}>
          {words.print}
        </Button>
      }
    >
      <Facts
        facts={[
          [words.account, statement.account.email],
          [words.name, statement.account.name === '' ? '–' : statement.account.name],
          [words.from, exactTime(statement.from)],
          [words.to, exactTime(statement.to)],
          [words.timezone, statement.timezone],
        ]}
      />
      <Figures
        figures={[
          { name: words.opening, value: <Money amount={statement.opening} /> },
          { name: words.credits, value: <Money amount={statement.credits} /> },
          { name: words.charges, value: <Money amount={statement.charges} /> },
          { name: words.closing, value: <Money amount={statement.closing} /> },
        ]}
      />
      <Section title={words.creditLines}>
        {statement.credit_lines.length === 0 ? (
          <p className="quiet">{words.noCredits}</p>
        ) : (
          <Table
            label={words.creditLines}
            rows={statement.credit_lines.map((line, at) => ({ ...line, at }))}
            idOf={({ at }) => String(at)}
            columns={[
              { head: words.time, cell: ({ time }) => exactTime(time) },
              {
                head: words.source,
                names: true,
                cell: ({ source, reason }) => (
                  <>
                    {sources[source ?? 'credit'] ?? source}
                    {reason !== null && <small>{reason}</small>}
                  </>
                ),
              },
              { head: words.amount, figures: true, cell: ({ amount }) => <Money amount={amount} /> },
            ]}
          />
        )}
      </Section>
      <Section title={words.models}>
        {statement.models.length === 0 ? (
          <p className="quiet">{words.noCharges}</p>
        ) : (
          <Table
            label={words.models}
            rows={statement.models}
            idOf={({ model }) => model}
            columns={[
              { head: words.model, names: true, cell: ({ model }) => model },
              { head: words.requests, figures: true, cell: ({ requests }) => numberText(requests) },
              { head: words.input, figures: true, cell: (row) => numberText(row.prompt_tokens) },
              { head: words.output, figures: true, cell: (row) => numberText(row.completion_tokens) },
              { head: words.amount, figures: true, cell: ({ cost }) => <Money amount={cost} /> },
            ]}
          />
        )}
      </Section>
    </Page>
  )
}
