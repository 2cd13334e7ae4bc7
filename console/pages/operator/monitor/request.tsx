/** One request: account, usage, cost and every upstream attempt. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { upstreamsQuery } from '../../../api/admin-queries.ts'
import type { RequestWithBill } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { formatDuration, formatNumber } from '../../../components/format.ts'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { BillTable } from '../../../components/tables/bill-table.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { refundableNanos, RefundForm, requestQuery } from '../../../components/forms/refund-form.tsx'
import { OperationName } from '../../../components/tables/operation-name.tsx'
import { RequestOutcome } from '../../../components/tables/request-outcome.tsx'
import { UnitList } from '../../../components/tables/request-units.tsx'
import { DescriptionList, StatTiles, Page, Section } from '../../../components/layout/page.tsx'
import {
  CopyableText,
  CopyButton,
  formatExactTime,
  ModelName,
  Money,
  StatusLabel,
  UnknownAmount,
} from '../../../components/tables/format-cells.tsx'
import { useFailureCause } from '../../../components/tables/failure-cause.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { ServerText } from '../../../components/tables/server-text.tsx'

const route = getRouteApi('/shell/operator/requests/$id')

export function RequestPage() {
  const { id } = route.useParams()
  const t = useMessages('customers').request
  return (
    <QueryBoundary options={requestQuery(id)} title={t.title}>
      {(request) => <RequestContent request={request} />}
    </QueryBoundary>
  )
}

function RequestContent({ request }: { readonly request: RequestWithBill }) {
  const t = useMessages('customers').request
  const shell = useMessages('shell')
  const refunds = useMessages('customers').refund
  const navigate = route.useNavigate()
  const { refund } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const isCounted = request.prompt_tokens + request.completion_tokens > 0
  const source = isCounted ? request.usage_source : null
  const refundButton = refundableNanos(request) > 0n && (
    <Button variant="default" onClick={() => void navigate({ search: { refund: 'yes' } })}>
      {refunds.button}
    </Button>
  )
  return (
    <Page title={t.title} lead={<CopyButton text={request.request_id} />} actions={refundButton}>
      <StatTiles
        stats={[
          {
            name: t.outcome,
            value: (
              <RequestOutcome outcome={request.outcome} status={request.http_status} count={request.count} />
            ),
          },
          { name: t.cost, value: <Money amount={request.cost} /> },
          {
            name: t.tokens,
            value: isCounted
              ? `${formatNumber(request.prompt_tokens)} / ${formatNumber(request.completion_tokens)}`
              : '–',
            note: t.cachedAndReasoning(
              formatNumber(request.cached_tokens),
              formatNumber(request.reasoning_tokens),
            ),
          },
          {
            name: t.firstToken,
            value: request.first_token_ms === null ? '–' : formatDuration(request.first_token_ms),
          },
          { name: t.duration, value: formatDuration(request.duration_ms) },
        ]}
      />
      {request.failure !== null && <FailureCallout request={request} failure={request.failure} />}
      {request.usage_clamped && <p className="callout warning">{t.clamped}</p>}
      <DescriptionList
        items={[
          [t.time, formatExactTime(request.time)],
          [
            t.account,
            <Link key="account" to="/operator/accounts/$id" params={{ id: request.account }}>
              {request.account_email}
            </Link>,
          ],
          [
            t.key,
            <Link key="key" to="/operator/requests" search={{ key: request.key }}>
              {request.key_name}
            </Link>,
          ],
          [t.model, <ModelName key="model" model={request.model} />],
          [shell.operation, <OperationName key="operation" operation={request.operation} />],
          [shell.units, <UnitList key="units" units={request.units} />],
          [t.status, [request.http_status, request.error_code].filter(Boolean).join(' ')],
          [t.stream, request.stream ? shell.yes : shell.no],
          [t.finish, request.finish ?? '–'],
          [t.usageSource, source === null ? '–' : t.sources[source]],
          [t.modelServed, <CopyableText key="model-served" text={request.model_served} />],
          [t.responseId, <CopyableText key="response-id" text={request.provider_response_id} />],
          [t.fingerprint, <CopyableText key="fingerprint" text={request.fingerprint} />],
        ]}
      />
      <Section title={t.bill} lead={t.billLead}>
        {request.bill === null ? (
          <p className="muted">{t.noBill}</p>
        ) : (
          <>
            <BillTable bill={request.bill} />
            <MarginTiles request={request} />
          </>
        )}
      </Section>
      <Section title={t.attempts} lead={t.attemptsLead}>
        <AttemptTable request={request} />
      </Section>
      <Dialog title={refunds.title} opened={refund !== undefined} close={close}>
        <RefundForm requestId={request.request_id} close={close} />
      </Dialog>
    </Page>
  )
}

interface FailureCalloutProps {
  readonly request: RequestWithBill
  readonly failure: NonNullable<RequestWithBill['failure']>
}

/** Why the request failed, whose it is to act, and where the failures like it are. */
function FailureCallout({ request, failure: { cause, stage, owner } }: FailureCalloutProps) {
  const t = useMessages('operations').failures
  const causeText = useFailureCause()
  return (
    <div className="callout warning">
      <strong>{causeText(cause)}</strong>
      <p>
        {t.stages[stage]} · {t.ownerIs(t.owners[owner])} ·{' '}
        <Link to="/operator/failures" search={request.model === '' ? {} : { model: request.model }}>
          {t.title}
        </Link>
      </p>
    </div>
  )
}

/** The margin: the charge less refunds and upstream cost. */
function MarginTiles({ request }: { readonly request: RequestWithBill }) {
  const t = useMessages('customers').request
  const { cost, refunded, upstream_cost: upstreamCost, margin } = request
  const isUsed = request.prompt_tokens + request.completion_tokens > 0
  const amountOrUnknown = (amount: string | null) => {
    if (amount !== null) return <Money amount={amount} />
    return isUsed ? <UnknownAmount reason={t.unknownCost} /> : '–'
  }
  return (
    <StatTiles
      stats={[
        { name: t.charged, value: <Money amount={cost} /> },
        { name: t.refunded, value: <Money amount={refunded} /> },
        { name: t.upstreamCost, value: amountOrUnknown(upstreamCost) },
        { name: t.margin, value: amountOrUnknown(margin) },
      ]}
    />
  )
}

function AttemptTable({ request }: { readonly request: RequestWithBill }) {
  const t = useMessages('customers').request
  const outcomes: Readonly<Record<string, string>> = useMessages('shell').outcome
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const upstreamName = (id: string): string => upstreams.find((item) => item.id === id)?.name ?? id
  if (request.attempts.length === 0) return <p className="muted">{t.noAttempts}</p>
  const rows = request.attempts.map((attempt, at) => ({ ...attempt, at: at + 1 }))
  const hasFailureDetails = rows.some(
    (row) => row.error !== undefined || row.upstream_request_id !== undefined,
  )
  return (
    <Table
      label={t.attempts}
      rows={rows}
      rowId={({ at }) => String(at)}
      columns={[
        { header: t.number, numeric: true, cell: ({ at }) => at },
        { header: t.upstream, primary: true, cell: ({ upstream }) => upstreamName(upstream) },
        {
          header: t.outcome,
          cell: ({ outcome }) => (
            <StatusLabel tone={outcome === 'ok' ? 'success' : 'danger'}>
              {outcomes[outcome] ?? <span lang="en">{outcome}</span>}
            </StatusLabel>
          ),
        },
        { header: t.status, numeric: true, cell: ({ http_status: status }) => status ?? '–' },
        { header: t.duration, numeric: true, cell: (attempt) => formatDuration(attempt.duration_ms) },
        {
          header: t.attemptCost,
          numeric: true,
          cell: ({ cost }) => (cost === null ? t.unknownCost : <Money amount={cost} />),
        },
        ...(hasFailureDetails ? [{ header: t.failure, cell: FailureDetails }] : []),
      ]}
    />
  )
}

/** The upstream's message, and the request id to name in a ticket with the provider. */
function FailureDetails({ error, upstream_request_id: id }: RequestWithBill['attempts'][number]) {
  return (
    <span className="stacked-lines">
      {error !== undefined && <ServerText text={error} />}
      {id !== undefined && <CopyButton text={id} />}
    </span>
  )
}
