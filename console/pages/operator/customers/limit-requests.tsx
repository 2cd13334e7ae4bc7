/** Customers who ask for more: granted as wanted, or declined with a word. */
import { Button, Textarea } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { change } from '../../../api/admin-queries.ts'
import type { LimitRequest } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { Dialog, useDraft } from '../../../components/forms/fields.tsx'
import { Filters, OneOf } from '../../../parts/filters.tsx'
import { Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing, Refused } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { State, When, type Tone } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'
import { WantedLimits } from '../../../parts/wanted-limits.tsx'

const route = getRouteApi('/shell/operator/limit-requests')
const statuses = ['open', 'granted', 'declined'] as const
const tones: Readonly<Record<LimitRequest['status'], Tone>> = {
  open: 'accent',
  granted: 'good',
  declined: 'quiet',
}

export function LimitRequests() {
  const words = useWords('running').limitRequests
  const states = useWords('customer').limits.states
  const navigate = route.useNavigate()
  const { status, answer } = route.useSearch()
  const close = (): void => void navigate({ search: { status } })
  return (
    <Page title={words.title} lead={words.lead}>
      <Filters search={{ status }} go={(search) => void navigate({ search })} onlyChoices>
        {({ chosen }) => (
          <OneOf
            label={words.state}
            choices={statuses.map((value) => ({ value, label: states[value] }))}
            {...chosen('status')}
          />
        )}
      </Filters>
      <Paged<LimitRequest>
        name={['admin', 'limit-requests']}
        path="/admin/limit-requests"
        filter={{ status }}
        empty={<Nothing title={words.none}>{words.noneLead}</Nothing>}
      >
        {(requests) => {
          const answered = requests.find(({ id }) => id === answer)
          return (
            <>
              <Table
                label={words.title}
                rows={requests}
                idOf={({ id }) => id}
                columns={[
                  {
                    head: words.account,
                    names: true,
                    cell: (request) => (
                      <Link to="/operator/accounts/$id" params={{ id: request.account }}>
                        {request.account_email}
                      </Link>
                    ),
                  },
                  {
                    head: words.wanted,
                    cell: ({ wanted, reason }) => (
                      <>
                        <WantedLimits wanted={wanted} />
                        <small>{reason}</small>
                      </>
                    ),
                  },
                  {
                    head: words.state,
                    cell: (request) => <State tone={tones[request.status]}>{states[request.status]}</State>,
                  },
                  { head: words.asked, cell: (request) => <When at={request.created_at} /> },
                  {
                    head: words.acts,
                    cell: (request) =>
                      request.status === 'open' ? (
                        <button
                          type="button"
                          className="link"
                          onClick={() => void navigate({ search: { status, answer: request.id } })}
                        >
                          {words.answer}
                        </button>
                      ) : (
                        request.answer
                      ),
                  },
                ]}
              />
              {answered && (
                <Dialog title={words.answer} opened close={close}>
                  <AnswerForm request={answered} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </Paged>
    </Page>
  )
}

interface AnswerFormProps {
  readonly request: LimitRequest
  readonly close: () => void
}

function AnswerForm({ request, close }: AnswerFormProps) {
  const words = useWords('running').limitRequests
  const { draft, set } = useDraft({ answer: '' })
  const decide = useAction(async (decision: 'grant' | 'decline') => {
    await change('POST', `/limit-requests/${request.id}`, { decision, answer: draft.answer.trim() })
    say(words.answered)
    close()
  })
  return (
    <div className="stack">
      <p>
        {request.account_email}: <WantedLimits wanted={request.wanted} />
      </p>
      <p className="quiet">{request.reason}</p>
      <Textarea
        label={words.message}
        rows={2}
        value={draft.answer}
        onChange={(event) => set('answer', event.currentTarget.value)}
      />
      {decide.error && <Refused error={decide.error} />}
      <div className="row end">
        <Button
          variant="default"
          color="red"
          loading={decide.isRunning}
          onClick={() => void decide.run('decline')}
        >
          {words.decline}
        </Button>
        <Button loading={decide.isRunning} onClick={() => void decide.run('grant')}>
          {words.grant}
        </Button>
      </div>
    </div>
  )
}
