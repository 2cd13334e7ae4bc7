/** Incidents, opened and closed automatically or by hand, and the availability of each model. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { refreshMs } from '../../../api/account-queries.ts'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Availability, Incident } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { confirm } from '../../../components/feedback/confirm-dialog.tsx'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { IncidentForm } from '../../../components/forms/incident-form.tsx'
import { formatNumber, formatSuccessRate } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { QueryBoundary, PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { StatusLabel, RelativeTime, type Tone } from '../../../components/tables/format-cells.tsx'
import { useServerText } from '../../../components/tables/server-text.tsx'
import { RowMenu } from '../../../components/tables/row-menu.tsx'
import { Table } from '../../../components/tables/table.tsx'

/** The relay's own API in the list of models. */
const relayApi = 'Relay API'

const route = getRouteApi('/shell/operator/incidents')
const tones: Readonly<Record<Incident['severity'], Tone>> = {
  minor: 'warning',
  major: 'danger',
  critical: 'danger',
}

const availabilityQuery = queryOptions({
  queryKey: ['admin', 'availability'],
  queryFn: () => get<Availability>('/admin/availability'),
  refetchInterval: refreshMs,
})

export function Incidents() {
  const t = useMessages('operations').incidents
  const serverText = useServerText()
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      csv={{ path: '/admin/incidents' }}
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
          {t.add}
        </Button>
      }
    >
      <Section title={t.availability} lead={t.availabilityLead}>
        <QueryBoundary options={availabilityQuery}>
          {({ data }) =>
            data.length === 0 ? <p className="muted">{t.noRequests}</p> : <AvailabilityTable models={data} />
          }
        </QueryBoundary>
      </Section>
      <PagedList<Incident>
        queryKey={['admin', 'incidents']}
        path="/admin/incidents"
        refreshMs={refreshMs}
        empty={<EmptyState title={t.none}>{t.noneLead}</EmptyState>}
      >
        {(incidents) => {
          const edited = incidents.find(({ id }) => id === edit)
          return (
            <>
              <IncidentTable incidents={incidents} />
              {edited && (
                <Dialog title={serverText(edited.title)} opened close={close}>
                  <IncidentForm incident={edited} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </PagedList>
      <Dialog title={t.add} opened={add !== undefined} close={close}>
        <IncidentForm incident={null} close={close} />
      </Dialog>
    </Page>
  )
}

function formatPercentValue(value: number | null): string {
  return value === null ? '–' : `${value.toLocaleString('en-US', { maximumFractionDigits: 3 })}%`
}

/** More than ten times the budget is one thing: exhausted. */
function formatBudgetUsed(percent: number | null): string {
  return percent !== null && percent > 999 ? '>999%' : formatPercentValue(percent)
}

function formatSuccessPercent(percent: number | null): string {
  return formatSuccessRate(percent === null ? null : percent / 100)
}

function AvailabilityTable({ models }: { readonly models: Availability['data'] }) {
  const t = useMessages('operations').incidents
  return (
    <Table
      label={t.availability}
      rows={models}
      rowId={({ model }) => model}
      columns={[
        {
          header: t.model,
          primary: true,
          cell: ({ model }) =>
            model === relayApi ? (
              <>
                {t.relayApi}
                <small>{t.relayApiCounts}</small>
              </>
            ) : (
              model
            ),
        },
        {
          header: t.targetStatus,
          cell: ({ month }) => {
            if (month.met === null) return <span className="muted">{t.noTraffic}</span>
            return month.met ? (
              <StatusLabel tone="success">{t.isMet}</StatusLabel>
            ) : (
              <StatusLabel tone="danger">{t.isMissed}</StatusLabel>
            )
          },
        },
        {
          header: t.last24Hours,
          definition: 'success24',
          numeric: true,
          cell: (item) => formatSuccessPercent(item.last_24_hours.success_percent),
        },
        {
          header: t.month,
          definition: 'successMonth',
          numeric: true,
          cell: ({ month }) => formatSuccessPercent(month.success_percent),
        },
        {
          header: t.target,
          numeric: true,
          cell: ({ month }) => formatPercentValue(month.objective_percent),
        },
        {
          header: t.budget,
          definition: 'errorBudget',
          numeric: true,
          cell: ({ month }) => formatBudgetUsed(month.budget_used_percent),
        },
        {
          header: t.succeeded,
          definition: 'succeededMonth',
          numeric: true,
          wideOnly: true,
          cell: ({ month }) => formatNumber(month.answered),
        },
        {
          header: t.failed,
          definition: 'failedMonth',
          numeric: true,
          cell: ({ month }) => formatNumber(month.failed),
        },
      ]}
    />
  )
}

function IncidentTable({ incidents }: { readonly incidents: readonly Incident[] }) {
  const t = useMessages('operations').incidents
  const serverText = useServerText()
  const navigate = route.useNavigate()
  const edit = ({ id }: Incident): void => void navigate({ search: { edit: id } })
  const setStatus = (id: string, status: Incident['status']) => () =>
    mutateAdmin('PATCH', `/incidents/${id}`, { status })
  const resolve = ({ id, title, status, models, public: isPublic }: Incident): void =>
    confirm({
      title: t.resolveTitle(title),
      description: t.resolveEffect(models.length, isPublic),
      confirmLabel: t.resolve,
      isSafe: true,
      onConfirm: setStatus(id, 'resolved'),
      successMessage: t.resolved,
      undo: setStatus(id, status),
    })
  return (
    <Table
      label={t.title}
      rows={incidents}
      rowId={({ id }) => id}
      onRowClick={edit}
      columns={[
        {
          header: t.what,
          primary: true,
          cell: ({ title, updates }) => (
            <>
              {serverText(title)}
              {updates[0] && <small>{serverText(updates[0].message)}</small>}
            </>
          ),
        },
        {
          header: t.status,
          cell: ({ status, severity }) => (
            <StatusLabel tone={status === 'resolved' ? 'success' : tones[severity]}>
              {t.statuses[status]}
            </StatusLabel>
          ),
        },
        { header: t.severity, cell: ({ severity }) => t.severities[severity] },
        {
          header: t.models,
          cell: ({ models }) => (models.length === 0 ? t.wholeService : models.join(', ')),
        },
        { header: t.opened, cell: (incident) => <RelativeTime at={incident.opened_at} /> },
        { header: t.closed, cell: (incident) => <RelativeTime at={incident.closed_at} /> },
        {
          header: t.source,
          wideOnly: true,
          cell: ({ automatic }) => (automatic ? t.automatic : t.manual),
        },
        {
          header: t.actions,
          isMenu: true,
          cell: (incident) => (
            <RowMenu
              name={serverText(incident.title)}
              actions={[
                { label: t.postUpdate, onClick: () => edit(incident) },
                // The monitoring resolves its own incidents, and would not do so after an undo.
                !incident.automatic &&
                  incident.status !== 'resolved' && { label: t.resolve, onClick: () => resolve(incident) },
              ]}
            />
          ),
        },
      ]}
    />
  )
}
