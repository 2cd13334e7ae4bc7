/** The forms of a customer's own API keys: create, edit, and rotate with a grace period. */
import { Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminApiKey, ApiKey, NewApiKey } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { mutateAccount, offeredModelsQuery, overviewQuery } from '../../api/account-queries.ts'
import { useBaseUrls } from '../../api/session.ts'
import { useAction, useFieldError } from './use-action.ts'
import { CodeSnippets } from '../code/code-block.tsx'
import { MoneyField, SelectField, Form, useDraft } from './fields.tsx'
import {
  changedFields,
  dateText,
  endOfDay,
  integerText,
  namesFrom,
  optionalInteger,
  optionalText,
  previousFields,
  undoOf,
} from './field-values.ts'
import { LimitFields, limitNames } from './limit-fields.tsx'
import { ModelsField } from './models-field.tsx'
import { AffectedKey } from '../feedback/affected-usage.tsx'
import { OneTimeSecret } from '../feedback/one-time-secret.tsx'
import { TestRequest } from '../code/test-request.tsx'
import { showToast } from '../feedback/toast.tsx'

/** A key as both APIs return it. */
export type EditableApiKey = Pick<
  ApiKey | AdminApiKey,
  'id' | 'name' | 'expires_at' | 'models' | 'ips' | 'caps' | 'limits'
>

function draftFrom(apiKey: EditableApiKey | null) {
  return {
    name: apiKey?.name ?? '',
    expires: dateText(apiKey?.expires_at),
    models: apiKey?.models?.join('\n') ?? '',
    ips: apiKey?.ips?.join('\n') ?? '',
    daily: apiKey?.caps.daily ?? '',
    monthly: apiKey?.caps.monthly ?? '',
    total: apiKey?.caps.total ?? '',
    rpm: integerText(apiKey?.limits.rpm),
    tpm: integerText(apiKey?.limits.tpm),
    rpd: integerText(apiKey?.limits.rpd),
    concurrency: integerText(apiKey?.limits.concurrency),
  }
}

type Draft = ReturnType<typeof draftFrom>

function bodyFrom(draft: Draft) {
  const names = (text: string): string[] | null => (text.trim() === '' ? null : namesFrom(text))
  return {
    name: draft.name.trim(),
    expires_at: endOfDay(draft.expires),
    models: names(draft.models),
    ips: names(draft.ips),
    caps: {
      daily: optionalText(draft.daily),
      monthly: optionalText(draft.monthly),
      total: optionalText(draft.total),
    },
    limits: Object.fromEntries(limitNames.map((name) => [name, optionalInteger(draft[name])])) as object,
  }
}

export interface ApiKeyFormProps {
  /** null creates a new one. */
  readonly apiKey: EditableApiKey | null
  /** The ids of the models to pick from. */
  readonly models: readonly string[]
  readonly close: () => void
  /** Called with the new key and its secret. */
  readonly onCreated?: (key: NewApiKey) => void
  /** The mutation of the account API or of the admin API. */
  readonly mutate: <Data>(method: 'POST' | 'PATCH', path: string, body: unknown) => Promise<Data>
}

export function ApiKeyForm({ apiKey, models, close, onCreated, mutate }: ApiKeyFormProps) {
  const t = useMessages('account').keys
  const shell = useMessages('shell')
  const { draft, initialDraft, set, field } = useDraft(draftFrom(apiKey))
  const save = useAction(async () => {
    if (apiKey === null) {
      onCreated?.(await mutate<NewApiKey>('POST', '/keys', bodyFrom(draft)))
      return
    }
    const changes = changedFields(bodyFrom(initialDraft), bodyFrom(draft))
    const patch = (body: unknown): Promise<unknown> => mutate('PATCH', `/keys/${apiKey.id}`, body)
    await patch(changes)
    showToast(shell.saved, { undo: undoOf(changes, () => patch(previousFields(apiKey, changes))) })
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={apiKey === null ? t.create : shell.save}
      cancel={close}
      inlineErrors={['name', 'expires_at', 'models', 'ips', 'caps', 'limits']}
    >
      <TextInput
        label={t.name}
        description={t.nameHint}
        required
        maxLength={100}
        autoComplete="off"
        error={fieldError('name')}
        {...field('name')}
      />
      <div className="fields">
        <MoneyField
          label={t.dailyCap}
          description={t.capHint}
          placeholder={shell.none}
          error={fieldError('caps.daily')}
          {...field('daily')}
        />
        <MoneyField
          label={t.monthlyCap}
          placeholder={shell.none}
          error={fieldError('caps.monthly')}
          {...field('monthly')}
        />
        <MoneyField
          label={t.totalCap}
          placeholder={shell.none}
          error={fieldError('caps.total')}
          {...field('total')}
        />
      </div>
      <details className="disclosure">
        <summary>{t.moreOptions}</summary>
        <div className="fields">
          <TextInput
            label={t.expires}
            description={t.expiresHint}
            type="date"
            error={fieldError('expires_at')}
            {...field('expires')}
          />
          <LimitFields
            placeholder={shell.none}
            field={field}
            fieldError={(name) => fieldError(`limits.${name}`)}
          />
          <ModelsField
            className="full-width"
            label={t.models}
            description={t.modelsHint}
            models={models}
            value={namesFrom(draft.models)}
            onChange={(names) => set('models', names.join('\n'))}
            allowPrefixes
            error={fieldError('models')}
          />
          <Textarea
            className="full-width"
            label={t.ips}
            description={t.ipsHint}
            rows={2}
            error={fieldError('ips')}
            value={draft.ips}
            onChange={(event) => set('ips', event.currentTarget.value)}
          />
        </div>
      </details>
    </Form>
  )
}

/** The form for the signed-in customer. */
export function OwnApiKeyForm(props: Omit<ApiKeyFormProps, 'models' | 'mutate'>) {
  const offered = useQuery(offeredModelsQuery).data?.data ?? []
  return <ApiKeyForm {...props} models={offered.map(({ id }) => id)} mutate={mutateAccount} />
}

/** The form, then the secret with a snippet to paste and a test request. */
export function CreateApiKey({ close }: { readonly close: () => void }) {
  const [created, setCreated] = useState<NewApiKey | null>(null)
  if (created === null) return <OwnApiKeyForm apiKey={null} close={close} onCreated={setCreated} />
  return <NewKeySecret secret={created.secret} close={close} />
}

interface NewKeySecretProps {
  readonly secret: string
  readonly close: () => void
}

function NewKeySecret({ secret, close }: NewKeySecretProps) {
  const model = useQuery(overviewQuery).data?.example_model ?? null
  const [baseUrl] = useBaseUrls()
  return (
    <OneTimeSecret secret={secret} close={close}>
      {model !== null && (
        <>
          <CodeSnippets baseUrl={baseUrl} model={model} secret={secret} />
          <TestRequest model={model} />
        </>
      )}
    </OneTimeSecret>
  )
}

export interface RotateApiKeyProps {
  readonly apiKey: ApiKey
  readonly close: () => void
}

export function RotateApiKey({ apiKey, close }: RotateApiKeyProps) {
  const t = useMessages('account').keys
  const [secret, setSecret] = useState<string | null>(null)
  const { draft, field } = useDraft({ grace: '24' })
  const rotate = useAction(async () => {
    const body = { grace_hours: Number(draft.grace) }
    const { key } = await mutateAccount<{ key: NewApiKey }>('POST', `/keys/${apiKey.id}/rotate`, body)
    setSecret(key.secret)
  })
  if (secret !== null) return <NewKeySecret secret={secret} close={close} />
  const hours = ['0', '1', '24', '72', '168']
  return (
    <Form action={rotate} submitLabel={t.rotate} cancel={close}>
      <p>{t.rotateEffect}</p>
      <AffectedKey id={apiKey.id} usage="/console/usage/by" />
      <SelectField
        label={t.grace}
        options={hours.map((value) => ({ value, label: t.graceHours(Number(value)) }))}
        {...field('grace')}
      />
    </Form>
  )
}
