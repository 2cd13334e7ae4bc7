/** What went wrong, opened and closed by the watch or by hand; and how well each model answers. */
import { Button, Checkbox, Textarea, TextInput } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { change } from '../../../api/admin-queries.ts'
import { get } from '../../../api/client.ts'
import type { Availability, Incident } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { Choice, Dialog, Form, useDraft } from '../../../components/forms/fields.tsx'
import { numberText } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { Asked, Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { State, When, type Tone } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/incidents')
const severities = ['minor', 'major', 'critical'] as const
const statuses = ['investigating', 'identified', 'monitoring', 'resolved'] as const
const tones: Readonly<Record<Incident['severity'], Tone>> = { minor: 'warn', major: 'bad', critical: 'bad' }

const availabilityQuery = queryOptions({
  queryKey: ['admin', 'availability'],
  queryFn: () => get<Availability>('/admin/availability'),
  refetchInterval: 30_000,
})

export function Incidents() {
  const words = useWords('running').incidents
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
          {words.add}
        </Button>
      }
    >
      <Section title={words.availability} lead={words.availabilityLead}>
        <Asked options={availabilityQuery}>
          {({ data }) =>
            data.length === 0 ? (
              <p className="quiet">{words.noRequests}</p>
            ) : (
              <AvailabilityTable models={data} />
            )
          }
        </Asked>
      </Section>
      <Paged<Incident>
        name={['admin', 'incidents']}
        path="/admin/incidents"
        freshMs={5_000}
        empty={<Nothing title={words.none}>{words.noneLead}</Nothing>}
      >
        {(incidents) => {
          const edited = incidents.find(({ id }) => id === edit)
          return (
            <>
              <IncidentTable incidents={incidents} />
              {edited && (
                <Dialog title={edited.title} opened close={close}>
                  <IncidentForm incident={edited} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </Paged>
      <Dialog title={words.add} opened={add !== undefined} close={close}>
        <IncidentForm incident={null} close={close} />
      </Dialog>
    </Page>
  )
}

function percentOf(value: number | null): string {
  return value === null ? '–' : `${value.toLocaleString('en-US', { maximumFractionDigits: 3 })}%`
}

function AvailabilityTable({ models }: { readonly models: Availability['data'] }) {
  const words = useWords('running').incidents
  return (
    <Table
      label={words.availability}
      rows={models}
      idOf={({ model }) => model}
      columns={[
        { head: words.model, names: true, cell: ({ model }) => (model === '' ? words.beforeModel : model) },
        {
          head: words.met,
          cell: ({ month }) => {
            if (month.met === null) return <span className="quiet">{words.notAsked}</span>
            return month.met ? (
              <State tone="good">{words.isMet}</State>
            ) : (
              <State tone="bad">{words.isMissed}</State>
            )
          },
        },
        { head: words.month, figures: true, cell: ({ month }) => percentOf(month.success_percent) },
        { head: words.objective, figures: true, cell: ({ month }) => percentOf(month.objective_percent) },
        { head: words.budget, figures: true, cell: ({ month }) => percentOf(month.budget_used_percent) },
        { head: words.answered, figures: true, wide: true, cell: ({ total }) => numberText(total.answered) },
        { head: words.failed, figures: true, cell: ({ total }) => numberText(total.failed) },
      ]}
    />
  )
}

function IncidentTable({ incidents }: { readonly incidents: readonly Incident[] }) {
  const words = useWords('running').incidents
  const navigate = route.useNavigate()
  return (
    <Table
      label={words.title}
      rows={incidents}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.what,
          names: true,
          cell: ({ title, updates }) => (
            <>
              {title}
              {updates[0] && <small>{updates[0].message}</small>}
            </>
          ),
        },
        {
          head: words.status,
          cell: ({ status, severity }) => (
            <State tone={status === 'resolved' ? 'good' : tones[severity]}>{words.statuses[status]}</State>
          ),
        },
        { head: words.severity, cell: ({ severity }) => words.severities[severity] },
        {
          head: words.models,
          cell: ({ models }) => (models.length === 0 ? words.wholeService : models.join(', ')),
        },
        { head: words.opened, cell: (incident) => <When at={incident.opened_at} /> },
        { head: words.closed, cell: (incident) => <When at={incident.closed_at} /> },
        {
          head: words.by,
          wide: true,
          cell: ({ automatic }) => (automatic ? words.byWatch : words.byHand),
        },
        {
          head: words.acts,
          cell: ({ id }) => (
            <button type="button" className="link" onClick={() => void navigate({ search: { edit: id } })}>
              {words.post}
            </button>
          ),
        },
      ]}
    />
  )
}

interface IncidentFormProps {
  /** null opens one. */
  readonly incident: Incident | null
  readonly close: () => void
}

function IncidentForm({ incident, close }: IncidentFormProps) {
  const words = useWords('running').incidents
  const shell = useWords('shell')
  const { draft, set, field } = useDraft<Record<string, string>>({
    title: incident?.title ?? '',
    status: incident?.status ?? 'investigating',
    severity: incident?.severity ?? 'minor',
    models: incident?.models.join(', ') ?? '',
    public: incident?.public === false ? '' : 'yes',
    message: '',
  })
  const save = useAction(async () => {
    const body = {
      title: draft['title']?.trim(),
      status: draft['status'],
      severity: draft['severity'],
      models: (draft['models'] ?? '').split(/[\s,]+/).filter((name) => name !== ''),
      public: draft['public'] !== '',
      ...(draft['message']?.trim() === '' ? {} : { message: draft['message']?.trim() }),
    }
    if (incident === null) await change('POST', '/incidents', body)
    else await change('PATCH', `/incidents/${incident.id}`, body)
    say(shell.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      action={save}
      verb={incident === null ? words.add : words.post}
      cancel={close}
      beside={['title', 'models', 'message']}
    >
      <TextInput
        label={words.what}
        required
        autoComplete="off"
        error={errorOf('title')}
        {...field('title')}
      />
      <div className="fields">
        <Choice
          label={words.status}
          choices={statuses.map((value) => ({ value, label: words.statuses[value] }))}
          {...field('status')}
        />
        <Choice
          label={words.severity}
          choices={severities.map((value) => ({ value, label: words.severities[value] }))}
          {...field('severity')}
        />
      </div>
      <TextInput
        label={words.models}
        description={words.modelsHint}
        autoComplete="off"
        error={errorOf('models')}
        {...field('models')}
      />
      <Textarea
        label={words.message}
        description={words.messageHint}
        rows={3}
        error={errorOf('message')}
        value={draft['message']}
        onChange={(event) => set('message', event.currentTarget.value)}
      />
      <Checkbox
        label={words.public}
        checked={draft['public'] !== ''}
        onChange={(event) => set('public', event.currentTarget.checked ? 'yes' : '')}
      />
    </Form>
  )
}
