/** How much an account may ask, and a request for more. */
import { Button, Textarea } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { LimitRequest } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { changeOwn } from '../../api/account-queries.ts'
import { useAction, useFieldError } from '../../components/forms/use-action.ts'
import { Dialog, Form, useDraft } from '../../components/forms/fields.tsx'
import { numberText } from '../../components/format.ts'
import { LimitFields, limitNames, type LimitName } from '../../components/forms/limit-fields.tsx'
import { Asked } from '../../components/feedback/query-boundary.tsx'
import { Figures, Page, Section } from '../../components/layout/page.tsx'
import { State, When, type Tone } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { say } from '../../components/feedback/toast.tsx'
import { WantedLimits } from '../../parts/wanted-limits.tsx'

const route = getRouteApi('/shell/limits')
const tones: Readonly<Record<LimitRequest['status'], Tone>> = {
  open: 'accent',
  granted: 'good',
  declined: 'quiet',
}

interface Limits {
  readonly tier: string
  readonly limits: Readonly<Record<LimitName, number | null>>
  readonly price_factor: string
  readonly keys: { readonly held: number; readonly most: number }
  readonly requests: readonly LimitRequest[]
}

const limitsQuery = queryOptions({
  queryKey: ['own', 'limits'],
  queryFn: () => get<Limits>('/console/limits'),
})

export function LimitsPage() {
  const words = useWords('customer').limits
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const { ask } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={<Button onClick={() => void navigate({ search: { ask: 'yes' } })}>{words.ask}</Button>}
    >
      <Asked options={limitsQuery}>
        {({ limits, tier, keys, price_factor: factor, requests }) => (
          <>
            <Figures
              figures={[
                ...limitNames.map((name) => {
                  const limit = limits[name]
                  return {
                    name: shell.limits[name],
                    value: limit === null ? shell.unlimited : numberText(limit),
                  }
                }),
                { name: words.keys, value: `${keys.held} / ${keys.most}` },
                { name: words.tier, value: tier, note: factor === '1' ? undefined : `× ${factor}` },
              ]}
            />
            {requests.length > 0 && (
              <Section title={words.requests}>
                <RequestTable requests={requests} />
              </Section>
            )}
          </>
        )}
      </Asked>
      <Dialog title={words.ask} opened={ask !== undefined} close={close}>
        <AskForm close={close} />
      </Dialog>
    </Page>
  )
}

function RequestTable({ requests }: { readonly requests: readonly LimitRequest[] }) {
  const words = useWords('customer').limits
  return (
    <Table
      label={words.requests}
      rows={requests}
      idOf={({ id }) => id}
      columns={[
        { head: words.asked, cell: (request) => <When at={request.created_at} /> },
        {
          head: words.wanted,
          names: true,
          cell: ({ wanted, reason }) => (
            <>
              <WantedLimits wanted={wanted} />
              <small>{reason}</small>
            </>
          ),
        },
        {
          head: words.state,
          cell: ({ status, answer }) => (
            <>
              <State tone={tones[status]}>{words.states[status]}</State>
              {answer !== null && answer !== '' && <small>{answer}</small>}
            </>
          ),
        },
      ]}
    />
  )
}

function AskForm({ close }: { readonly close: () => void }) {
  const words = useWords('customer').limits
  const { draft, set, field } = useDraft({ rpm: '', tpm: '', rpd: '', concurrency: '', reason: '' })
  const send = useAction(async () => {
    const wanted = limitNames.flatMap((name) =>
      draft[name].trim() === '' ? [] : [[name, Number(draft[name])]],
    )
    const body = { wanted: Object.fromEntries(wanted) as object, reason: draft.reason.trim() }
    await changeOwn('POST', '/limits/requests', body)
    say(words.sent)
    close()
  })
  const errorOf = useFieldError(send.error)
  const isEmpty = limitNames.every((name) => draft[name].trim() === '')
  return (
    <Form
      action={send}
      verb={words.send}
      cancel={close}
      beside={['wanted', 'reason']}
      isIncomplete={isEmpty || draft.reason.trim() === ''}
    >
      <p className="quiet">{words.askLead}</p>
      <div className="fields">
        <LimitFields placeholder={words.asNow} field={field} errorOf={(name) => errorOf(`wanted.${name}`)} />
      </div>
      <Textarea
        label={words.reason}
        required
        rows={3}
        maxLength={2000}
        error={errorOf('reason')}
        value={draft.reason}
        onChange={(event) => set('reason', event.currentTarget.value)}
      />
    </Form>
  )
}
