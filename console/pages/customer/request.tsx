/** One of the account's requests: outcome and bill. */
import { getRouteApi } from '@tanstack/react-router'
import { requestQuery } from '../../api/account-queries.ts'
import type { RequestDetail } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { WithInlineCode } from '../../components/code/inline-code.tsx'
import { BillTable } from '../../components/tables/bill-table.tsx'
import { formatDuration, formatNumber } from '../../components/format.ts'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { OperationName } from '../../components/tables/operation-name.tsx'
import { RequestOutcome } from '../../components/tables/request-outcome.tsx'
import { UnitList } from '../../components/tables/request-units.tsx'
import { DescriptionList, StatTiles, Page, Section } from '../../components/layout/page.tsx'
import {
  CopyableText,
  CopyButton,
  formatExactTime,
  ModelName,
  Money,
} from '../../components/tables/format-cells.tsx'

const route = getRouteApi('/shell/usage/$id')

export function RequestPage() {
  const { id } = route.useParams()
  const t = useMessages('account').request
  return (
    <QueryBoundary options={requestQuery(id)} title={t.title} notFound={t.notFound}>
      {(request) => <RequestContent request={request} />}
    </QueryBoundary>
  )
}

function RequestContent({ request }: { readonly request: RequestDetail }) {
  const t = useMessages('account').request
  const shell = useMessages('shell')
  const isCounted = request.prompt_tokens + request.completion_tokens > 0
  const source = isCounted ? request.usage_source : null
  return (
    <Page title={t.title} lead={<CopyButton text={request.request_id} />}>
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
          },
          {
            name: t.firstToken,
            value: request.first_token_ms === null ? '–' : formatDuration(request.first_token_ms),
          },
          { name: t.duration, value: formatDuration(request.duration_ms) },
        ]}
      />
      {request.failure !== null && <FailureCallout failure={request.failure} />}
      {request.usage_clamped && <p className="callout warning">{t.clamped}</p>}
      <DescriptionList
        items={[
          [t.time, formatExactTime(request.time)],
          [t.key, request.key_name],
          [t.model, <ModelName key="model" model={request.model} />],
          [shell.operation, <OperationName key="operation" operation={request.operation} />],
          [shell.units, <UnitList key="units" units={request.units} />],
          [t.stream, request.stream ? shell.yes : shell.no],
          [t.finish, request.finish ?? '–'],
          [t.cached, formatNumber(request.cached_tokens)],
          [t.reasoning, formatNumber(request.reasoning_tokens)],
          [t.usageSource, source === null ? '–' : t.sources[source]],
          [t.code, request.error_code ?? '–'],
          [t.modelServed, <CopyableText key="model-served" text={request.model_served} />],
          [t.responseId, <CopyableText key="response-id" text={request.provider_response_id} />],
          [t.fingerprint, <CopyableText key="fingerprint" text={request.fingerprint} />],
        ]}
      />
      <Section title={t.bill} lead={t.billLead}>
        {request.bill === null ? <p className="muted">{t.noBill}</p> : <BillTable bill={request.bill} />}
      </Section>
    </Page>
  )
}

interface FailureCalloutProps {
  readonly failure: NonNullable<RequestDetail['failure']>
}

/** Why the request failed, and what to do about it: by its error code if the guide explains it, else by the stage. */
function FailureCallout({ failure: { cause, stage, owner } }: FailureCalloutProps) {
  const t = useMessages('account').request
  const { sentenceGap } = useMessages('shell')
  const { table } = useMessages('guide').errors
  const known = table.find(({ code }) => code === cause)
  const step = owner === 'caller' ? t.callerSteps[stage] : t.nextSteps[owner]
  const sentences = known ? [known.meaning, known.whatToDo] : [t.stages[stage], step]
  return (
    <p className="callout warning">
      <WithInlineCode text={sentences.join(sentenceGap)} />
    </p>
  )
}
