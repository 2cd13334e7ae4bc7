/** One request: who asked, what it used and cost, and every attempt at an upstream. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { upstreamsQuery } from '../../api/admin-queries.ts'
import type { RequestWithBill } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { durationText, numberText } from '../../components/format.ts'
import { Asked } from '../../components/feedback/query-boundary.tsx'
import { BillTable } from '../../components/tables/bill-table.tsx'
import { Dialog } from '../../components/forms/fields.tsx'
import { refundableNanos, RefundForm, requestQuery } from '../../parts/refund-form.tsx'
import { Outcome } from '../../parts/outcome.tsx'
import { Facts, Figures, Page, Section } from '../../components/layout/page.tsx'
import { Copyable, exactTime, Money, ShortId, State } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/requests/$id')

export function RequestPage() {
  const { id } = route.useParams()
  const words = useWords('clients').request
  return (
    <Asked options={requestQuery(id)} title={words.title}>
      {(request) => <Shown request={request} />}
    </Asked>
  )
}

function Shown({ request }: { readonly request: RequestWithBill }) {
  const words = useWords('clients').request
  const shell = useWords('shell')
  const refunds = useWords('clients').refund
  const navigate = route.useNavigate()
  const { refund } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const refundButton = refundableNanos(request) > 0n && (
    <Button variant="default" onClick={() => void navigate({ search: { refund: 'yes' } })}>
      {refunds.button}
    </Button>
  )
  return (
    <Page title={words.title} lead={<Copyable text={request.request_id} />} actions={refundButton}>
      <Figures
        figures={[
          { name: words.outcome, value: <Outcome outcome={request.outcome} status={request.http_status} /> },
          { name: words.cost, value: <Money amount={request.cost} /> },
          {
            name: words.tokens,
            value: `${numberText(request.prompt_tokens)} / ${numberText(request.completion_tokens)}`,
            note: words.cachedAndReasoning(
              numberText(request.cached_tokens),
              numberText(request.reasoning_tokens),
            ),
          },
          {
            name: words.firstToken,
            value: request.first_token_ms === null ? '–' : durationText(request.first_token_ms),
          },
          { name: words.duration, value: durationText(request.duration_ms) },
        ]}
      />
      {request.usage_clamped && <p className="hint warn">{words.clamped}</p>}
      <Facts
        facts={[
          [words.time, exactTime(request.time)],
          [
            words.account,
            <Link key="account" to="/operator/accounts/$id" params={{ id: request.account }}>
              {request.account}
            </Link>,
          ],
          [words.key, <ShortId key="key" id={request.key} />],
          [words.model, request.model],
          [words.status, String(request.http_status)],
          [words.stream, request.stream ? shell.yes : shell.no],
          [words.finish, request.finish ?? '–'],
          [words.usageSource, request.usage_source === null ? '–' : words.sources[request.usage_source]],
        ]}
      />
      <Section title={words.bill} lead={words.billLead}>
        {request.bill === null ? (
          <p className="quiet">{words.noBill}</p>
        ) : (
          <>
            <BillTable bill={request.bill} />
            <Gain request={request} />
          </>
        )}
      </Section>
      <Section title={words.attempts} lead={words.attemptsLead}>
        <Attempts request={request} />
      </Section>
      <Dialog title={refunds.title} opened={refund !== undefined} close={close}>
        <RefundForm requestId={request.request_id} close={close} />
      </Dialog>
    </Page>
  )
}

/** Charged, less what was given back and what it cost us: what is left. */
function Gain({ request }: { readonly request: RequestWithBill }) {
  const words = useWords('clients').request
  const { cost, refunded, upstream_cost: upstreamCost, margin } = request
  const known = (amount: string | null) => (amount === null ? words.unknownCost : <Money amount={amount} />)
  return (
    <Figures
      figures={[
        { name: words.charged, value: <Money amount={cost} /> },
        { name: words.refunded, value: <Money amount={refunded} /> },
        { name: words.upstreamCost, value: known(upstreamCost) },
        { name: words.margin, value: known(margin) },
      ]}
    />
  )
}

function Attempts({ request }: { readonly request: RequestWithBill }) {
  const words = useWords('clients').request
  const outcomes: Readonly<Record<string, string>> = useWords('shell').outcome
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const nameOf = (id: string): string => upstreams.find((each) => each.id === id)?.name ?? id
  if (request.attempts.length === 0) return <p className="quiet">{words.noAttempts}</p>
  const rows = request.attempts.map((attempt, at) => ({ ...attempt, at: at + 1 }))
  return (
    <Table
      label={words.attempts}
      rows={rows}
      idOf={({ at }) => String(at)}
      columns={[
        { head: words.number, figures: true, cell: ({ at }) => at },
        { head: words.upstream, names: true, cell: ({ upstream }) => nameOf(upstream) },
        {
          head: words.outcome,
          cell: ({ outcome }) => (
            <State tone={outcome === 'ok' ? 'good' : 'bad'}>
              {outcomes[outcome] ?? <span lang="en">{outcome}</span>}
            </State>
          ),
        },
        { head: words.status, figures: true, cell: ({ http_status: status }) => status ?? '–' },
        { head: words.duration, figures: true, cell: (attempt) => durationText(attempt.duration_ms) },
        {
          head: words.itsCost,
          figures: true,
          cell: ({ cost }) => (cost === null ? words.unknownCost : <Money amount={cost} />),
        },
      ]}
    />
  )
}
