/** Customers' requests for higher limits: grant or decline. */
import { Button, Textarea } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import type { LimitRequest } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { useDraft } from '../../../components/forms/fields.tsx'
import { Filters, SelectFilter } from '../../../components/forms/filters.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState, ErrorMessage } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { StatusLabel, RelativeTime, type Tone } from '../../../components/tables/format-cells.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { showToast } from '../../../components/feedback/toast.tsx'
import { RequestedLimits } from '../../../components/forms/limit-fields.tsx'

const route = getRouteApi('/shell/operator/limit-requests')
const statuses = ['open', 'granted', 'declined'] as const
const tones: Readonly<Record<LimitRequest['status'], Tone>> = {
  open: 'info',
  granted: 'success',
  declined: 'neutral',
}

export function LimitRequests() {
  const t = useMessages('operations').limitRequests
  const states = useMessages('portal').limits.states
  const navigate = route.useNavigate()
  const { status, answer } = route.useSearch()
  const list = { path: '/admin/limit-requests', filter: { status } }
  const open = ({ id }: LimitRequest): void => void navigate({ search: { status, answer: id } })
  const close = (): void => void navigate({ search: { status } })
  return (
    <Page title={t.title} lead={t.lead} csv={list}>
      <Filters search={{ status }} apply={(search) => void navigate({ search })} selectsOnly>
        {({ select }) => (
          <SelectFilter
            label={t.state}
            options={statuses.map((value) => ({ value, label: states[value] }))}
            {...select('status')}
          />
        )}
      </Filters>
      <PagedList<LimitRequest>
        queryKey={['admin', 'limit-requests']}
        {...list}
        empty={<EmptyState title={status === 'open' ? t.noneOpen : t.none}>{t.noneLead}</EmptyState>}
      >
        {(requests) => {
          const answered = requests.find(({ id }) => id === answer)
          return (
            <>
              <Table
                label={t.title}
                rows={requests}
                rowId={({ id }) => id}
                onRowClick={open}
                columns={[
                  {
                    header: t.account,
                    primary: true,
                    cell: (request) => request.account_email,
                  },
                  {
                    header: t.requested,
                    cell: ({ wanted, reason }) => (
                      <>
                        <RequestedLimits wanted={wanted} />
                        <small>{reason}</small>
                      </>
                    ),
                  },
                  {
                    header: t.state,
                    cell: (request) => (
                      <>
                        <StatusLabel tone={tones[request.status]}>{states[request.status]}</StatusLabel>
                        {request.answer !== null && <small>{request.answer}</small>}
                      </>
                    ),
                  },
                  { header: t.requestedAt, cell: (request) => <RelativeTime at={request.created_at} /> },
                  {
                    header: t.actions,
                    isMenu: true,
                    cell: (request) => (
                      <RowMenu
                        name={request.account_email}
                        actions={[
                          request.status === 'open' && { label: t.answer, onClick: () => open(request) },
                          {
                            label: t.viewAccount,
                            renderRoot: (props) => (
                              <Link to="/operator/accounts/$id" params={{ id: request.account }} {...props} />
                            ),
                          },
                        ]}
                      />
                    ),
                  },
                ]}
              />
              {answered && (
                <Dialog
                  title={answered.status === 'open' ? t.answer : states[answered.status]}
                  opened
                  close={close}
                >
                  {answered.status === 'open' ? (
                    <DecisionForm request={answered} close={close} />
                  ) : (
                    <div className="stack">
                      <RequestText request={answered} />
                      <p>{answered.answer}</p>
                    </div>
                  )}
                </Dialog>
              )}
            </>
          )
        }}
      </PagedList>
    </Page>
  )
}

function RequestText({ request }: { readonly request: LimitRequest }) {
  return (
    <>
      <p>
        {request.account_email}: <RequestedLimits wanted={request.wanted} />
      </p>
      <p className="muted">{request.reason}</p>
    </>
  )
}

interface DecisionFormProps {
  readonly request: LimitRequest
  readonly close: () => void
}

function DecisionForm({ request, close }: DecisionFormProps) {
  const t = useMessages('operations').limitRequests
  const { draft, set } = useDraft({ answer: '' })
  const submit = useAction(async (decision: 'grant' | 'decline') => {
    await mutateAdmin('POST', `/limit-requests/${request.id}`, { decision, answer: draft.answer.trim() })
    showToast(t.answerSent)
    close()
  })
  return (
    <div className="stack">
      <RequestText request={request} />
      <p>{t.decisionIsFinal}</p>
      <Textarea
        label={t.message}
        rows={2}
        value={draft.answer}
        onChange={(event) => set('answer', event.currentTarget.value)}
      />
      {submit.error && <ErrorMessage error={submit.error} />}
      <div className="row end">
        <Button
          variant="default"
          color="red"
          loading={submit.isRunning}
          onClick={() => void submit.run('decline')}
        >
          {t.decline}
        </Button>
        <Button loading={submit.isRunning} onClick={() => void submit.run('grant')}>
          {t.grant}
        </Button>
      </div>
    </div>
  )
}
