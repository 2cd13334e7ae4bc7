/** The forms of an account's own keys: a new one with its snippet, its terms, a successor with a grace period. */
import { Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { OwnKey, OwnNewKey } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { changeOwn, offeredQuery, overviewQuery } from '../../api/account-queries.ts'
import { useSession } from '../../api/session.ts'
import { useAction, useFieldError } from './use-action.ts'
import { Snippets } from '../../parts/code.tsx'
import { AmountField, Choice, Form, useDraft } from './fields.tsx'
import { LimitFields, limitNames } from './limit-fields.tsx'
import { Secret } from '../feedback/one-time-secret.tsx'
import { TestRequest } from '../../parts/test-request.tsx'
import { say } from '../feedback/toast.tsx'

function draftOf(its: OwnKey | null) {
  const text = (value: number | null | undefined): string => (typeof value === 'number' ? String(value) : '')
  return {
    name: its?.name ?? '',
    expires: its?.expires_at?.slice(0, 10) ?? '',
    models: its?.models?.join('\n') ?? '',
    ips: its?.ips?.join('\n') ?? '',
    daily: its?.caps.daily ?? '',
    monthly: its?.caps.monthly ?? '',
    total: its?.caps.total ?? '',
    rpm: text(its?.limits.rpm),
    tpm: text(its?.limits.tpm),
    rpd: text(its?.limits.rpd),
    concurrency: text(its?.limits.concurrency),
  }
}

type Draft = ReturnType<typeof draftOf>

function bodyOf(draft: Draft) {
  const lines = (text: string): string[] | null => {
    const all = text.split(/[\s,]+/).filter((line) => line !== '')
    return all.length === 0 ? null : all
  }
  const amount = (text: string): string | null => (text.trim() === '' ? null : text.trim())
  const count = (text: string): number | null => (text.trim() === '' ? null : Number(text))
  return {
    name: draft.name.trim(),
    expires_at: draft.expires === '' ? null : new Date(`${draft.expires}T23:59:59`).toISOString(),
    models: lines(draft.models),
    ips: lines(draft.ips),
    caps: { daily: amount(draft.daily), monthly: amount(draft.monthly), total: amount(draft.total) },
    limits: Object.fromEntries(limitNames.map((name) => [name, count(draft[name])])) as object,
  }
}

export interface OwnKeyFormProps {
  /** null for a new one. */
  readonly its: OwnKey | null
  readonly close: () => void
  /** Told a new key with its secret. */
  readonly made?: (key: OwnNewKey) => void
}

export function OwnKeyForm({ its, close, made }: OwnKeyFormProps) {
  const words = useWords('account').keys
  const shell = useWords('shell')
  const models = useQuery(offeredQuery).data?.data ?? []
  const { draft, set, field } = useDraft(draftOf(its))
  const save = useAction(async () => {
    if (its === null) {
      made?.(await changeOwn<OwnNewKey>('POST', '/keys', bodyOf(draft)))
      return
    }
    await changeOwn('PATCH', `/keys/${its.id}`, bodyOf(draft))
    say(shell.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      action={save}
      verb={its === null ? words.create : shell.save}
      cancel={close}
      beside={['name', 'expires_at', 'models', 'ips', 'caps', 'limits']}
    >
      <TextInput
        label={words.name}
        description={words.nameHint}
        required
        maxLength={100}
        autoComplete="off"
        error={errorOf('name')}
        {...field('name')}
      />
      <div className="fields">
        <AmountField
          label={words.dailyCap}
          description={words.capHint}
          placeholder={shell.none}
          error={errorOf('caps.daily')}
          {...field('daily')}
        />
        <AmountField
          label={words.monthlyCap}
          placeholder={shell.none}
          error={errorOf('caps.monthly')}
          {...field('monthly')}
        />
        <AmountField
          label={words.totalCap}
          placeholder={shell.none}
          error={errorOf('caps.total')}
          {...field('total')}
        />
      </div>
      <details className="more">
        <summary>{words.moreTerms}</summary>
        <div className="fields">
          <TextInput
            label={words.expires}
            description={words.expiresHint}
            type="date"
            error={errorOf('expires_at')}
            {...field('expires')}
          />
          <LimitFields placeholder={shell.none} field={field} errorOf={(name) => errorOf(`limits.${name}`)} />
          <Textarea
            className="whole"
            label={words.models}
            description={words.modelsHint(
              models
                .map(({ id }) => id)
                .slice(0, 3)
                .join(', '),
            )}
            rows={2}
            error={errorOf('models')}
            value={draft.models}
            onChange={(event) => set('models', event.currentTarget.value)}
          />
          <Textarea
            className="whole"
            label={words.ips}
            description={words.ipsHint}
            rows={2}
            error={errorOf('ips')}
            value={draft.ips}
            onChange={(event) => set('ips', event.currentTarget.value)}
          />
        </div>
      </details>
    </Form>
  )
}

/** The form, then the secret with a call to paste and a button that tries it. */
export function NewOwnKey({ close }: { readonly close: () => void }) {
  const [made, setMade] = useState<OwnNewKey | null>(null)
  if (made === null) return <OwnKeyForm its={null} close={close} made={setMade} />
  return <ShownOnce secret={made.secret} close={close} />
}

interface ShownOnceProps {
  readonly secret: string
  readonly close: () => void
}

function ShownOnce({ secret, close }: ShownOnceProps) {
  const { platform } = useSession()
  const model = useQuery(overviewQuery).data?.example_model ?? null
  const [baseUrl = ''] = platform.base_urls
  return (
    <Secret secret={secret} close={close}>
      {model !== null && (
        <>
          <Snippets baseUrl={baseUrl} model={model} secret={secret} />
          <TestRequest model={model} />
        </>
      )}
    </Secret>
  )
}

export interface RotateKeyProps {
  readonly its: OwnKey
  readonly close: () => void
}

export function RotateKey({ its, close }: RotateKeyProps) {
  const words = useWords('account').keys
  const [secret, setSecret] = useState<string | null>(null)
  const { draft, field } = useDraft({ grace: '24' })
  const rotate = useAction(async () => {
    const body = { grace_hours: Number(draft.grace) }
    const { key } = await changeOwn<{ key: OwnNewKey }>('POST', `/keys/${its.id}/rotate`, body)
    setSecret(key.secret)
  })
  if (secret !== null) return <ShownOnce secret={secret} close={close} />
  const hours = ['0', '1', '24', '72', '168']
  return (
    <Form action={rotate} verb={words.rotate} cancel={close}>
      <p>{words.rotateEffect}</p>
      <Choice
        label={words.grace}
        choices={hours.map((value) => ({ value, label: words.graceHours(Number(value)) }))}
        {...field('grace')}
      />
    </Form>
  )
}
