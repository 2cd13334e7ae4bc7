/** One request of an account: how it went, and its bill to the last digit. */
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../api/client.ts'
import type { RequestDetail } from '../contract.ts'
import { useWords } from '../language.ts'
import { BillTable } from '../components/tables/bill-table.tsx'
import { durationText, numberText } from '../components/format.ts'
import { Asked } from '../components/feedback/query-boundary.tsx'
import { Outcome } from '../parts/outcome.tsx'
import { Facts, Figures, Page, Section } from '../components/layout/page.tsx'
import { Copyable, exactTime, Money } from '../components/tables/format-cells.tsx'

const route = getRouteApi('/shell/usage/$id')

function requestQuery(id: string) {
  return queryOptions({
    queryKey: ['own', 'request', id],
    queryFn: () => get<RequestDetail>(`/console/requests/${encodeURIComponent(id)}`),
    retry: 3,
    retryDelay: 500,
  })
}

export function OwnRequest() {
  const { id } = route.useParams()
  const words = useWords('account').request
  return (
    <Asked options={requestQuery(id)} title={words.title}>
      {(request) => <Shown request={request} />}
    </Asked>
  )
}

function Shown({ request }: { readonly request: RequestDetail }) {
  const words = useWords('account').request
  const shell = useWords('shell')
  return (
    <Page title={words.title} lead={<Copyable text={request.request_id} />}>
      <Figures
        figures={[
          { name: words.outcome, value: <Outcome outcome={request.outcome} status={request.http_status} /> },
          { name: words.cost, value: <Money amount={request.cost} /> },
          {
            name: words.tokens,
            value: `${numberText(request.prompt_tokens)} / ${numberText(request.completion_tokens)}`,
          },
          {
            name: words.firstToken,
            value: request.first_token_ms === null ? '–' : durationText(request.first_token_ms),
          },
          { name: words.duration, value: durationText(request.duration_ms) },
        ]}
      />
      {request.failure !== null && (
        <p className="hint warn">
          {words.stages[request.failure.stage]} {words.who[request.failure.who]}
        </p>
      )}
      {request.usage_clamped && <p className="hint warn">{words.clamped}</p>}
      <Facts
        facts={[
          [words.time, exactTime(request.time)],
          [words.key, request.key_name],
          [words.model, request.model],
          [words.stream, request.stream ? shell.yes : shell.no],
          [words.finish, request.finish ?? '–'],
          [words.cached, numberText(request.cached_tokens)],
          [words.reasoning, numberText(request.reasoning_tokens)],
          [words.usageSource, request.usage_source === null ? '–' : words.sources[request.usage_source]],
          [words.code, request.error_code ?? '–'],
        ]}
      />
      <Section title={words.bill} lead={words.billLead}>
        {request.bill === null ? <p className="quiet">{words.noBill}</p> : <BillTable bill={request.bill} />}
      </Section>
    </Page>
  )
}
