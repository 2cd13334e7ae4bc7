/** The account's rate limits and requests for higher ones. */
import { Button, Textarea } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import type { LimitRequest } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { mutateAccount } from '../../api/account-queries.ts'
import { useAction, useFieldError } from '../../components/forms/use-action.ts'
import { Dialog } from '../../components/forms/dialog.tsx'
import { Form, useDraft } from '../../components/forms/fields.tsx'
import { optionalInteger } from '../../components/forms/field-values.ts'
import { formatNumber } from '../../components/format.ts'
import {
  LimitFields,
  limitNames,
  RequestedLimits,
  type LimitName,
} from '../../components/forms/limit-fields.tsx'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { StatTiles, Page, Section } from '../../components/layout/page.tsx'
import { StatusLabel, RelativeTime, type Tone } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'
import { showToast } from '../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/limits')
const tones: Readonly<Record<LimitRequest['status'], Tone>> = {
  open: 'info',
  granted: 'success',
  declined: 'neutral',
}

interface Limits {
  readonly tier: string
  readonly limits: Readonly<Record<LimitName, number | null>>
  readonly price_factor: string
  readonly keys: { readonly held: number; readonly most: number }
  readonly requests: readonly LimitRequest[]
}

const limitsQuery = queryOptions({
  queryKey: ['account', 'limits'],
  queryFn: () => get<Limits>('/console/limits'),
})

export function LimitsPage() {
  const t = useMessages('portal').limits
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { ask } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={<Button onClick={() => void navigate({ search: { ask: 'yes' } })}>{t.requestIncrease}</Button>}
    >
      <QueryBoundary options={limitsQuery}>
        {({ limits, tier, keys, price_factor: factor, requests }) => (
          <>
            <StatTiles
              stats={[
                ...limitNames.map((name) => {
                  const limit = limits[name]
                  return {
                    name: shell.limits[name],
                    value: limit === null ? shell.unlimited : formatNumber(limit),
                  }
                }),
                { name: t.keys, value: `${keys.held} / ${keys.most}` },
                { name: t.tier, value: tier, note: factor === '1' ? undefined : `× ${factor}` },
              ]}
            />
            {requests.length > 0 && (
              <Section title={t.requests}>
                <LimitRequestTable requests={requests} />
              </Section>
            )}
          </>
        )}
      </QueryBoundary>
      <Dialog title={t.requestIncrease} opened={ask !== undefined} close={close}>
        <LimitRequestForm close={close} />
      </Dialog>
    </Page>
  )
}

function LimitRequestTable({ requests }: { readonly requests: readonly LimitRequest[] }) {
  const t = useMessages('portal').limits
  return (
    <Table
      label={t.requests}
      rows={requests}
      rowId={({ id }) => id}
      columns={[
        { header: t.requestedAt, cell: (request) => <RelativeTime at={request.created_at} /> },
        {
          header: t.requested,
          primary: true,
          cell: ({ wanted, reason }) => (
            <>
              <RequestedLimits wanted={wanted} />
              <small>{reason}</small>
            </>
          ),
        },
        {
          header: t.state,
          cell: ({ status, answer }) => (
            <>
              <StatusLabel tone={tones[status]}>{t.states[status]}</StatusLabel>
              {answer !== null && answer !== '' && <small>{answer}</small>}
            </>
          ),
        },
      ]}
    />
  )
}

function LimitRequestForm({ close }: { readonly close: () => void }) {
  const t = useMessages('portal').limits
  const { draft, set, field } = useDraft({ rpm: '', tpm: '', rpd: '', concurrency: '', reason: '' })
  const send = useAction(async () => {
    const wanted = limitNames.flatMap((name) =>
      draft[name].trim() === '' ? [] : [[name, optionalInteger(draft[name])]],
    )
    const body = { wanted: Object.fromEntries(wanted) as object, reason: draft.reason.trim() }
    await mutateAccount('POST', '/limits/requests', body)
    showToast(t.sent)
    close()
  })
  const fieldError = useFieldError(send.error)
  const isEmpty = limitNames.every((name) => draft[name].trim() === '')
  return (
    <Form
      action={send}
      submitLabel={t.send}
      cancel={close}
      inlineErrors={['wanted', 'reason']}
      isIncomplete={isEmpty || draft.reason.trim() === ''}
    >
      <p className="muted">{t.requestLead}</p>
      <div className="fields">
        <LimitFields
          placeholder={t.unchanged}
          field={field}
          fieldError={(name) => fieldError(`wanted.${name}`)}
        />
      </div>
      <Textarea
        label={t.reason}
        required
        rows={3}
        maxLength={2000}
        error={fieldError('reason')}
        value={draft.reason}
        onChange={(event) => set('reason', event.currentTarget.value)}
      />
    </Form>
  )
}
