/** The form of an upstream. A new one is saved switched off and tested; only then it may be switched on. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { change, providersQuery } from '../../api/admin-queries.ts'
import type { Upstream, UpstreamModels, UpstreamTrial } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { submitting, useAction, useFieldError } from './use-action.ts'
import { AmountField, Choice, Form, isDecimal, useDraft, WholeField } from './fields.tsx'
import { durationText } from '../format.ts'
import { Refused } from '../feedback/empty-state.tsx'
import { State } from '../tables/format-cells.tsx'
import { say } from '../feedback/toast.tsx'

export interface UpstreamFormProps {
  /** null for a new one. */
  readonly upstream: Upstream | null
  readonly close: () => void
}

const timeoutNames = ['connect_ms', 'first_token_ms', 'idle_ms', 'answer_ms'] as const

function draftOf(upstream: Upstream | null) {
  const text = (value: number | undefined): string => (value === undefined ? '' : String(value))
  const prices = upstream?.prices ?? null
  return {
    name: upstream?.name ?? '',
    provider: upstream?.provider ?? 'openai-compatible',
    base_url: upstream?.base_url ?? '',
    credential: '',
    priority: text(upstream?.priority ?? 1),
    weight: text(upstream?.weight ?? 1),
    on_abort: upstream?.on_abort ?? 'cancel',
    connect_ms: text(upstream?.timeouts.connect_ms),
    first_token_ms: text(upstream?.timeouts.first_token_ms),
    idle_ms: text(upstream?.timeouts.idle_ms),
    answer_ms: text(upstream?.timeouts.answer_ms),
    cost_input: prices?.input ?? '',
    cost_output: prices?.output ?? '',
    cost_cached: prices?.cached_input ?? '',
    currency: prices?.currency ?? '',
    rate: prices?.rate ?? '',
  }
}

type Draft = ReturnType<typeof draftOf>

function bodyOf(draft: Draft, isNew: boolean): Record<string, unknown> {
  const timeouts = timeoutNames.flatMap((name) =>
    draft[name].trim() === '' ? [] : [[name, Number(draft[name])]],
  )
  const costs = {
    input: draft.cost_input.trim(),
    output: draft.cost_output.trim(),
    ...(draft.cost_cached.trim() === '' ? {} : { cached_input: draft.cost_cached.trim() }),
    ...(draft.currency.trim() === '' ? {} : { currency: draft.currency.trim(), rate: draft.rate.trim() }),
  }
  const noCosts = isNew ? {} : { prices: null }
  return {
    name: draft.name.trim(),
    provider: draft.provider,
    ...(draft.base_url.trim() === '' ? {} : { base_url: draft.base_url.trim() }),
    ...(draft.credential === '' && !isNew ? {} : { credential: draft.credential.trim() }),
    priority: Number(draft.priority),
    weight: Number(draft.weight),
    on_abort: draft.on_abort,
    ...(timeouts.length > 0 ? { timeouts: Object.fromEntries(timeouts) as object } : {}),
    ...(costs.input === '' && costs.output === '' ? noCosts : { prices: costs }),
    ...(isNew ? { enabled: false } : {}),
  }
}

export function UpstreamForm({ upstream, close }: UpstreamFormProps) {
  const words = useWords('offer').upstreams
  const shell = useWords('shell')
  const providers = useQuery(providersQuery).data?.data ?? []
  const { draft, set, field } = useDraft(draftOf(upstream))
  const [saved, setSaved] = useState<Upstream | null>(null)
  const isNew = upstream === null
  const save = useAction(async () => {
    const body = bodyOf(draft, isNew)
    const path = isNew ? '/upstreams' : `/upstreams/${upstream.id}`
    const answer = await change<Upstream>(isNew ? 'POST' : 'PATCH', path, body)
    setSaved(answer)
  })
  const errorOf = useFieldError(save.error)
  const usual = providers.find(({ name }) => name === draft.provider)?.base_url ?? null
  if (saved !== null) return <UpstreamTest upstream={saved} close={close} />
  const hints: Readonly<Record<string, string>> = words.credentialHints
  return (
    <Form
      action={save}
      verb={isNew ? words.addAndTest : shell.save}
      cancel={close}
      beside={['name', 'provider', 'base_url', 'credential']}
    >
      {isNew && <p className="hint">{words.addOff}</p>}
      <div className="fields">
        <Choice
          label={words.provider}
          choices={providers.map(({ name, title }) => ({ value: name, label: title }))}
          error={errorOf('provider')}
          {...field('provider')}
        />
        <TextInput
          label={words.name}
          description={words.nameHint}
          required
          autoComplete="off"
          error={errorOf('name')}
          {...field('name')}
        />
        <TextInput
          className="whole"
          label={words.baseUrl}
          description={words.baseUrlHint}
          placeholder={usual ?? 'https://'}
          required={usual === null}
          autoComplete="off"
          inputMode="url"
          error={errorOf('base_url')}
          {...field('base_url')}
        />
        <PasswordInput
          className="whole"
          label={words.credential}
          description={hints[draft.provider] ?? (isNew ? words.credentialHint : words.credentialKept)}
          autoComplete="off"
          error={errorOf('credential')}
          {...field('credential')}
        />
      </div>
      <UpstreamCosts draft={draft} field={field} />
      <details className="more">
        <summary>{words.advanced}</summary>
        <div className="fields">
          <WholeField label={words.priority} description={words.priorityHint} {...field('priority')} />
          <WholeField label={words.weight} description={words.weightHint} {...field('weight')} />
          {timeoutNames.map((name) => (
            <WholeField key={name} label={words.timeouts[name]} placeholder={words.usual} {...field(name)} />
          ))}
          <Choice
            label={words.onAbort}
            choices={[
              { value: 'cancel', label: words.cancel },
              { value: 'drain', label: words.drain },
            ]}
            name="on_abort"
            value={draft.on_abort}
            onChange={(event) => set('on_abort', event.currentTarget.value)}
          />
        </div>
      </details>
    </Form>
  )
}

interface CostsProps {
  readonly draft: Draft
  readonly field: ReturnType<typeof useDraft<Draft>>['field']
}

function UpstreamCosts({ draft, field }: CostsProps) {
  const words = useWords('offer').upstreams
  const isOpen = draft.cost_input !== '' || draft.cost_output !== ''
  return (
    <details className="more" open={isOpen}>
      <summary>{words.costs}</summary>
      <p className="quiet">{words.costsLead}</p>
      <div className="fields">
        <AmountField label={words.costInput} {...field('cost_input')} />
        <AmountField label={words.costOutput} {...field('cost_output')} />
        <AmountField label={words.costCached} {...field('cost_cached')} />
        <TextInput label={words.costCurrency} placeholder="CNY" autoComplete="off" {...field('currency')} />
        {draft.currency !== '' && (
          <AmountField
            label={words.costRate}
            description={words.costRateHint}
            required
            error={isDecimal(draft.rate) ? undefined : ' '}
            {...field('rate')}
          />
        )}
      </div>
    </details>
  )
}

export interface UpstreamTestProps {
  readonly upstream: Upstream
  readonly close: () => void
}

/** One real, cheap call, and what it told; then the switch. */
export function UpstreamTest({ upstream, close }: UpstreamTestProps) {
  const words = useWords('offer').upstreams
  const shell = useWords('shell')
  const { draft, field } = useDraft({ model: '' })
  const [trial, setTrial] = useState<UpstreamTrial | null>(null)
  const [known, setKnown] = useState<UpstreamModels | null>(null)
  const fetchModels = useAction(async () => {
    setKnown(await change<UpstreamModels>('POST', `/upstreams/${upstream.id}/fetch-models`))
  })
  const test = useAction(async () => {
    setTrial(null)
    const body = draft.model.trim() === '' ? {} : { model: draft.model.trim() }
    setTrial(await change<UpstreamTrial>('POST', `/upstreams/${upstream.id}/test`, body))
  })
  const use = useAction(async () => {
    await change('PATCH', `/upstreams/${upstream.id}`, { enabled: true })
    say(words.enabled)
    close()
  })
  const errorOf = useFieldError(test.error)
  return (
    <div className="stack">
      <form className="row test-row" onSubmit={submitting(test.run)}>
        <TextInput
          label={words.testModel}
          description={words.testModelHint}
          autoComplete="off"
          data-autofocus
          list="its-models"
          error={errorOf('model')}
          {...field('model')}
        />
        <Button type="submit" variant="default" loading={test.isRunning}>
          {words.test}
        </Button>
      </form>
      <div className="row">
        <Button variant="default" loading={fetchModels.isRunning} onClick={() => void fetchModels.run()}>
          {words.fetchModels}
        </Button>
        {known !== null && (
          <span role="status">
            {known.ok ? words.hasModels(known.models.length) : <span lang="en">{known.message}</span>}
          </span>
        )}
      </div>
      <datalist id="its-models">
        {known?.models.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
      {fetchModels.error && <Refused error={fetchModels.error} />}
      {test.error && test.error.param !== 'model' && <Refused error={test.error} />}
      {trial !== null && (
        <div className={trial.ok ? 'hint' : 'hint warn'} role="status">
          <State tone={trial.ok ? 'good' : 'bad'}>
            {trial.ok ? words.passed(durationText(trial.duration_ms)) : words.failedTest}
          </State>
          {!trial.ok && (
            <p lang="en">
              {trial.status !== null && <code>{trial.status} </code>}
              {trial.message}
            </p>
          )}
        </div>
      )}
      {use.error && <Refused error={use.error} />}
      <div className="row end">
        <Button variant="default" onClick={close}>
          {shell.close}
        </Button>
        {!upstream.enabled && (
          <Button loading={use.isRunning} disabled={trial?.ok !== true} onClick={() => void use.run()}>
            {words.useNow}
          </Button>
        )}
      </div>
    </div>
  )
}
