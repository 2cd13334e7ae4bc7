/** The form of a notification channel. Its address and secret are write-only. */
import { Checkbox, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { Channel, NewChannel } from '../../api/contract.ts'
import { currentLanguage, useMessages } from '../../locales/messages.ts'
import { useAction, useFieldError } from './use-action.ts'
import { changedFields } from './field-values.ts'
import { SelectField, Form, useDraft } from './fields.tsx'
import { OneTimeSecret } from '../feedback/one-time-secret.tsx'
import { showToast } from '../feedback/toast.tsx'

export type ChannelKind = Channel['kind']

/** What the secret of each kind is; kinds not listed have none. */
const secretKinds: Partial<Record<ChannelKind, 'webhook' | 'sign' | 'token'>> = {
  webhook: 'webhook',
  feishu: 'sign',
  dingtalk: 'sign',
  telegram: 'token',
}
const channelKinds: readonly ChannelKind[] = [
  'email',
  'webhook',
  'feishu',
  'dingtalk',
  'wecom',
  'slack',
  'telegram',
]
export const notificationKinds = [
  'incident',
  'availability',
  'model_mismatch',
  'maximum_exceeded',
  'unknown_finish',
  'address',
  'backup',
  'payment',
  'promotion',
] as const

function draftFrom(channel: Channel | null) {
  return {
    kind: channel?.kind ?? 'email',
    name: channel?.name ?? '',
    address: '',
    secret: '',
    server: '',
    language: channel?.language ?? currentLanguage(),
  }
}

type Draft = ReturnType<typeof draftFrom>

function bodyFrom(draft: Draft, isNew: boolean, selectedKinds: readonly string[]) {
  const ifFilled = (name: 'address' | 'secret' | 'server'): object =>
    draft[name].trim() === '' ? {} : { [name]: draft[name].trim() }
  return {
    name: draft.name.trim(),
    language: draft.language,
    notices: selectedKinds.length === 0 ? null : selectedKinds,
    ...ifFilled('address'),
    ...ifFilled('secret'),
    ...ifFilled('server'),
    ...(isNew ? { kind: draft.kind, address: draft.address.trim() } : {}),
  }
}

export interface ChannelFormProps {
  /** null creates a new one. */
  readonly channel: Channel | null
  readonly close: () => void
}

export function ChannelForm({ channel, close }: ChannelFormProps) {
  const t = useMessages('maintenance').channels
  const shell = useMessages('shell')
  const { draft, initialDraft, field } = useDraft<Draft>(draftFrom(channel))
  const [initialKinds] = useState<readonly string[]>(channel?.notices ?? [])
  const [selectedKinds, setSelectedKinds] = useState(initialKinds)
  const [secret, setSecret] = useState<string | null>(null)
  const isNew = channel === null
  const save = useAction(async () => {
    const body = bodyFrom(draft, isNew, selectedKinds)
    const saved = isNew
      ? await mutateAdmin<Partial<NewChannel>>('POST', '/channels', body)
      : await mutateAdmin<Partial<NewChannel>>(
          'PATCH',
          `/channels/${channel.id}`,
          changedFields(bodyFrom(initialDraft, isNew, initialKinds), body),
        )
    showToast(t.saved)
    if (saved.secret) setSecret(saved.secret)
    else close()
  })
  const fieldError = useFieldError(save.error)
  if (secret !== null) {
    return (
      <OneTimeSecret secret={secret} close={close}>
        <p className="muted">{t.secretLead}</p>
      </OneTimeSecret>
    )
  }
  return (
    <Form
      action={save}
      submitLabel={isNew ? t.add : shell.save}
      cancel={close}
      inlineErrors={['name', 'kind', 'address', 'secret', 'server']}
    >
      <div className="fields">
        {isNew && (
          <SelectField
            label={t.kind}
            options={channelKinds.map((value) => ({ value, label: t.kinds[value] }))}
            {...field('kind')}
          />
        )}
        <TextInput
          label={t.name}
          description={t.nameHint}
          required
          autoComplete="off"
          error={fieldError('name')}
          {...field('name')}
        />
      </div>
      <TargetFields draft={draft} field={field} isNew={isNew} fieldError={fieldError} />
      <fieldset className="field-group">
        <legend>{t.content}</legend>
        <div className="stack">
          <p className="muted">{t.contentHint}</p>
          {notificationKinds.map((kind) => (
            <Checkbox
              key={kind}
              label={t.notificationKinds[kind]}
              checked={selectedKinds.includes(kind)}
              onChange={(event) => {
                const others = selectedKinds.filter((item) => item !== kind)
                setSelectedKinds(event.currentTarget.checked ? [...others, kind] : others)
              }}
            />
          ))}
        </div>
      </fieldset>
      <SelectField
        label={t.language}
        options={(['en', 'zh-CN'] as const).map((value) => ({ value, label: t.languages[value] }))}
        {...field('language')}
      />
    </Form>
  )
}

interface TargetFieldsProps {
  readonly draft: Draft
  readonly field: ReturnType<typeof useDraft<Draft>>['field']
  readonly isNew: boolean
  readonly fieldError: (...params: string[]) => string | undefined
}

/** The address and the secret, which differ by kind. */
function TargetFields({ draft, field, isNew, fieldError }: TargetFieldsProps) {
  const t = useMessages('maintenance').channels
  const secretKind = secretKinds[draft.kind]
  const isChat = draft.kind === 'telegram'
  const isMail = draft.kind === 'email'
  const secretHints = {
    webhook: t.secretGenerated,
    sign: t.secretOptional,
    token: t.secretHidden,
  }
  const addressHint = isChat ? t.chatHint : undefined
  return (
    <>
      <TextInput
        label={isMail ? t.addresses.email : t.addresses[isChat ? 'chat' : 'url']}
        description={isNew ? addressHint : t.addressUnchanged}
        placeholder={isMail || isChat ? undefined : 'https://'}
        type={isMail ? 'email' : 'text'}
        required={isNew}
        autoComplete="off"
        error={fieldError('address')}
        {...field('address')}
      />
      {secretKind !== undefined && (
        <PasswordInput
          label={t.secrets[secretKind]}
          description={isNew ? secretHints[secretKind] : t.addressUnchanged}
          required={isNew && secretKind === 'token'}
          autoComplete="off"
          error={fieldError('secret')}
          {...field('secret')}
        />
      )}
      {isChat && (
        <TextInput
          label={t.server}
          description={isNew ? t.serverHint : t.serverUnchanged}
          autoComplete="off"
          error={fieldError('server')}
          {...field('server')}
        />
      )}
    </>
  )
}
