/** The form of an upstream. A new one is saved disabled and tested before it can be enabled. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { mutateAdmin, providersQuery } from '../../api/admin-queries.ts'
import type { Upstream, UpstreamModels, UpstreamTestResult } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { AdvancedFields, advancedDraftFrom, advancedFromDraft } from './advanced-upstream-fields.tsx'
import { ConfirmIdentity } from './confirm-identity.tsx'
import { submitHandler, useAction, useFieldError } from './use-action.ts'
import { CostFields, costDraftFrom, costsFromDraft, type CostDraft } from './cost-fields.tsx'
import { changedFields } from './field-values.ts'
import { SelectField, Form, useDraft } from './fields.tsx'
import { formatDuration } from '../format.ts'
import { ErrorMessage } from '../feedback/empty-state.tsx'
import { StatusLabel } from '../tables/format-cells.tsx'
import { ServerText, useServerText } from '../tables/server-text.tsx'
import { showToast } from '../feedback/toast.tsx'

export interface UpstreamFormProps {
  /** null creates a new one. */
  readonly upstream: Upstream | null
  readonly close: () => void
}

function draftFrom(upstream: Upstream | null) {
  return {
    name: upstream?.name ?? '',
    provider: upstream?.provider ?? 'openai-compatible',
    base_url: upstream?.base_url ?? '',
    credential: '',
    ...advancedDraftFrom(upstream),
  }
}

type Draft = ReturnType<typeof draftFrom>

function bodyFrom(draft: Draft, costs: CostDraft, isNew: boolean): Record<string, unknown> {
  return {
    name: draft.name.trim(),
    provider: draft.provider,
    ...(draft.base_url.trim() === '' ? {} : { base_url: draft.base_url.trim() }),
    ...(draft.credential === '' && !isNew ? {} : { credential: draft.credential.trim() }),
    ...advancedFromDraft(draft),
    prices: costsFromDraft(costs),
    ...(isNew ? { enabled: false } : {}),
  }
}

/** Another origin or provider: the relay deletes the stored credentials. */
function isMoved(upstream: Upstream, draft: Draft): boolean {
  const origin = (url: string): string => URL.parse(url.trim())?.origin ?? url
  const hasNewOrigin = draft.base_url.trim() !== '' && origin(draft.base_url) !== origin(upstream.base_url)
  return hasNewOrigin || draft.provider !== upstream.provider
}

export function UpstreamForm({ upstream, close }: UpstreamFormProps) {
  const t = useMessages('catalog').upstreams
  const shell = useMessages('shell')
  const serverText = useServerText()
  const providers = useQuery(providersQuery).data?.data ?? []
  const { draft, initialDraft, set, field } = useDraft(draftFrom(upstream))
  const costs = useDraft(costDraftFrom(upstream?.prices ?? null))
  const [saved, setSaved] = useState<Upstream | null>(null)
  const isNew = upstream === null
  const save = useAction(async () => {
    const body = bodyFrom(draft, costs.draft, isNew)
    const changes = changedFields(bodyFrom(initialDraft, costs.initialDraft, isNew), body)
    const savedUpstream = isNew
      ? await mutateAdmin<Upstream>('POST', '/upstreams', body)
      : await mutateAdmin<Upstream>('PATCH', `/upstreams/${upstream.id}`, changes)
    setSaved(savedUpstream)
  })
  const fieldError = useFieldError(save.error)
  const defaultBaseUrl = providers.find(({ name }) => name === draft.provider)?.base_url ?? null
  if (saved !== null) return <UpstreamTest upstream={saved} close={close} />
  if (save.error?.code === 'password_required')
    return <ConfirmIdentity onConfirmed={() => void save.run()} cancel={save.reset} />
  const hints: Readonly<Record<string, string>> = t.credentialHints
  return (
    <Form
      action={save}
      submitLabel={isNew ? t.addAndTest : shell.save}
      cancel={close}
      inlineErrors={['name', 'provider', 'base_url', 'credential', 'allowed_fields', 'headers', 'body']}
    >
      {isNew && <p className="callout">{t.addHint}</p>}
      <div className="fields two-columns">
        <SelectField
          label={t.provider}
          options={providers.map(({ name, title }) => ({ value: name, label: serverText(title) }))}
          error={fieldError('provider')}
          {...field('provider')}
        />
        <TextInput
          label={t.name}
          description={t.nameHint}
          required
          autoComplete="off"
          error={fieldError('name')}
          {...field('name')}
        />
        <TextInput
          className="full-width"
          label={t.baseUrl}
          description={t.baseUrlHint}
          placeholder={defaultBaseUrl ?? 'https://'}
          required={defaultBaseUrl === null}
          autoComplete="off"
          inputMode="url"
          error={fieldError('base_url')}
          {...field('base_url')}
        />
        <PasswordInput
          className="full-width"
          label={t.credential}
          description={hints[draft.provider] ?? (isNew ? t.credentialHint : t.credentialUnchanged)}
          autoComplete="off"
          error={fieldError('credential')}
          {...field('credential')}
        />
      </div>
      {upstream !== null && isMoved(upstream, draft) && (
        <p className="callout warning" role="status">
          {t.movedEffect}
        </p>
      )}
      <CostFields draft={costs.draft} set={costs.set} lead={t.costsLead} whenEmpty={shell.none} />
      <details className="disclosure">
        <summary>{t.advanced}</summary>
        <div className="fields">
          <AdvancedFields upstream={upstream} draft={draft} set={set} field={field} errorOf={fieldError} />
        </div>
      </details>
    </Form>
  )
}

export interface UpstreamTestProps {
  readonly upstream: Upstream
  readonly close: () => void
}

/** One real, cheap call and its result; then the upstream can be enabled. */
export function UpstreamTest({ upstream, close }: UpstreamTestProps) {
  const t = useMessages('catalog').upstreams
  const shell = useMessages('shell')
  const { draft, field } = useDraft({ model: '' })
  const [result, setResult] = useState<UpstreamTestResult | null>(null)
  const [fetched, setFetched] = useState<UpstreamModels | null>(null)
  const fetchModels = useAction(async () => {
    setFetched(await mutateAdmin<UpstreamModels>('POST', `/upstreams/${upstream.id}/fetch-models`))
  })
  const test = useAction(async () => {
    setResult(null)
    const body = draft.model.trim() === '' ? {} : { model: draft.model.trim() }
    setResult(await mutateAdmin<UpstreamTestResult>('POST', `/upstreams/${upstream.id}/test`, body))
  })
  const enable = useAction(async () => {
    await mutateAdmin('PATCH', `/upstreams/${upstream.id}`, { enabled: true })
    showToast(t.enabled)
    close()
  })
  const fieldError = useFieldError(test.error)
  return (
    <div className="stack">
      <form className="row inline-form" onSubmit={submitHandler(test.run)}>
        <TextInput
          label={t.testModel}
          description={t.testModelHint}
          autoComplete="off"
          data-autofocus
          list="upstream-models"
          error={fieldError('model')}
          {...field('model')}
        />
        <Button type="submit" variant="default" loading={test.isRunning}>
          {t.test}
        </Button>
      </form>
      <div className="row">
        <Button variant="default" loading={fetchModels.isRunning} onClick={() => void fetchModels.run()}>
          {t.fetchModels}
        </Button>
        {fetched !== null && (
          <span role="status">
            {fetched.ok ? t.fetchedModels(fetched.models.length) : <ServerText text={fetched.message} />}
          </span>
        )}
      </div>
      <datalist id="upstream-models">
        {fetched?.models.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
      {fetchModels.error && <ErrorMessage error={fetchModels.error} />}
      {test.error && test.error.param !== 'model' && <ErrorMessage error={test.error} />}
      {result !== null && (
        <div className={result.ok ? 'callout' : 'callout warning'} role="status">
          <StatusLabel tone={result.ok ? 'success' : 'danger'}>
            {result.ok ? t.passed(formatDuration(result.duration_ms)) : t.failedTest}
          </StatusLabel>
          {!result.ok && (
            <p>
              {result.status !== null && <code>{result.status} </code>}
              <ServerText text={result.message} />
            </p>
          )}
        </div>
      )}
      {enable.error && <ErrorMessage error={enable.error} />}
      <div className="row end">
        <Button variant="default" onClick={close}>
          {shell.close}
        </Button>
        {!upstream.enabled && (
          <Button loading={enable.isRunning} disabled={result?.ok !== true} onClick={() => void enable.run()}>
            {t.useNow}
          </Button>
        )}
      </div>
    </div>
  )
}
