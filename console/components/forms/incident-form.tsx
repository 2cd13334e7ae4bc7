/** Opens an incident, or posts an update to one. */
import { Checkbox, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { modelsQuery, mutateAdmin } from '../../api/admin-queries.ts'
import type { Incident } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { showToast } from '../feedback/toast.tsx'
import { changedFields, namesFrom } from './field-values.ts'
import { SelectField, Form, useDraft } from './fields.tsx'
import { ModelsField } from './models-field.tsx'
import { useAction, useFieldError } from './use-action.ts'

const severities = ['minor', 'major', 'critical'] as const
const statuses = ['investigating', 'identified', 'monitoring', 'resolved'] as const

export interface IncidentFormProps {
  /** null opens a new incident. */
  readonly incident: Incident | null
  readonly close: () => void
}

export function IncidentForm({ incident, close }: IncidentFormProps) {
  const t = useMessages('operations').incidents
  const shell = useMessages('shell')
  const existing = useQuery(modelsQuery).data?.data ?? []
  const { draft, initialDraft, set, field } = useDraft({
    title: incident?.title ?? '',
    status: incident?.status ?? 'investigating',
    severity: incident?.severity ?? 'minor',
    models: incident?.models.join(', ') ?? '',
    public: incident?.public === false ? '' : 'yes',
    message: '',
  })
  const save = useAction(async () => {
    const bodyFrom = (each: typeof draft) => ({
      title: each.title.trim(),
      status: each.status,
      severity: each.severity,
      models: namesFrom(each.models),
      public: each.public !== '',
      ...(each.message.trim() === '' ? {} : { message: each.message.trim() }),
    })
    const body = bodyFrom(draft)
    if (incident === null) await mutateAdmin('POST', '/incidents', body)
    else await mutateAdmin('PATCH', `/incidents/${incident.id}`, changedFields(bodyFrom(initialDraft), body))
    showToast(shell.saved)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={incident === null ? t.add : t.postUpdate}
      cancel={close}
      inlineErrors={['title', 'models', 'message']}
    >
      <TextInput label={t.what} required autoComplete="off" error={fieldError('title')} {...field('title')} />
      <div className="fields">
        <SelectField
          label={t.status}
          options={statuses.map((value) => ({ value, label: t.statuses[value] }))}
          {...field('status')}
        />
        <SelectField
          label={t.severity}
          options={severities.map((value) => ({ value, label: t.severities[value] }))}
          {...field('severity')}
        />
      </div>
      <ModelsField
        label={t.models}
        description={t.modelsHint}
        models={existing.map(({ id }) => id)}
        value={namesFrom(draft.models)}
        onChange={(names) => set('models', names.join('\n'))}
        error={fieldError('models')}
      />
      <Textarea
        label={t.message}
        description={t.messageHint}
        rows={3}
        error={fieldError('message')}
        value={draft.message}
        onChange={(event) => set('message', event.currentTarget.value)}
      />
      <Checkbox
        label={t.public}
        checked={draft.public !== ''}
        onChange={(event) => set('public', event.currentTarget.checked ? 'yes' : '')}
      />
    </Form>
  )
}
