/** The form of a channel for notices. What it leads to and its secret go in and never come out again. */
import { Checkbox, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { change } from '../../api/admin-queries.ts'
import type { Channel, NewChannel } from '../../contract.ts'
import { language as currentLanguage, useWords } from '../../language.ts'
import { useAction, useFieldError } from './use-action.ts'
import { Choice, Form, useDraft } from './fields.tsx'
import { Secret } from '../feedback/one-time-secret.tsx'
import { say } from '../feedback/toast.tsx'

export type Kind = Channel['kind']

/** What the secret of each kind is for; where none is named there is none. */
const secretOf: Partial<Record<Kind, 'webhook' | 'sign' | 'token'>> = {
  webhook: 'webhook',
  feishu: 'sign',
  dingtalk: 'sign',
  telegram: 'token',
}
const kinds: readonly Kind[] = ['email', 'webhook', 'feishu', 'dingtalk', 'wecom', 'slack', 'telegram']
export const noticeKinds = ['incident', 'availability', 'address', 'backup', 'promotion'] as const

function draftOf(channel: Channel | null) {
  return {
    kind: channel?.kind ?? 'email',
    name: channel?.name ?? '',
    address: '',
    secret: '',
    server: '',
    language: channel?.language ?? currentLanguage(),
  }
}

type Draft = ReturnType<typeof draftOf>

function bodyOf(draft: Draft, isNew: boolean, chosen: readonly string[]): object {
  const given = (name: 'address' | 'secret' | 'server'): object =>
    draft[name].trim() === '' ? {} : { [name]: draft[name].trim() }
  return {
    name: draft.name.trim(),
    language: draft.language,
    notices: chosen.length === 0 ? null : chosen,
    ...given('address'),
    ...given('secret'),
    ...given('server'),
    ...(isNew ? { kind: draft.kind, address: draft.address.trim() } : {}),
  }
}

export interface ChannelFormProps {
  /** null for a new one. */
  readonly channel: Channel | null
  readonly close: () => void
}

export function ChannelForm({ channel, close }: ChannelFormProps) {
  const words = useWords('upkeep').channels
  const shell = useWords('shell')
  const { draft, field } = useDraft<Draft>(draftOf(channel))
  const [chosen, setChosen] = useState<readonly string[]>(channel?.notices ?? [])
  const [secret, setSecret] = useState<string | null>(null)
  const isNew = channel === null
  const save = useAction(async () => {
    const path = isNew ? '/channels' : `/channels/${channel.id}`
    const body = bodyOf(draft, isNew, chosen)
    const saved = await change<Partial<NewChannel>>(isNew ? 'POST' : 'PATCH', path, body)
    say(words.saved)
    if (saved.secret) setSecret(saved.secret)
    else close()
  })
  const errorOf = useFieldError(save.error)
  if (secret !== null) {
    return (
      <Secret secret={secret} close={close}>
        <p className="quiet">{words.secretLead}</p>
      </Secret>
    )
  }
  return (
    <Form
      action={save}
      verb={isNew ? words.add : shell.save}
      cancel={close}
      beside={['name', 'kind', 'address', 'secret', 'server']}
    >
      <div className="fields">
        {isNew && (
          <Choice
            label={words.kind}
            choices={kinds.map((value) => ({ value, label: words.kinds[value] }))}
            {...field('kind')}
          />
        )}
        <TextInput
          label={words.name}
          description={words.nameHint}
          required
          autoComplete="off"
          error={errorOf('name')}
          {...field('name')}
        />
      </div>
      <Target draft={draft} field={field} isNew={isNew} errorOf={errorOf} />
      <fieldset className="group">
        <legend>{words.what}</legend>
        <div className="stack">
          <p className="quiet">{words.whatHint}</p>
          {noticeKinds.map((kind) => (
            <Checkbox
              key={kind}
              label={words.notices[kind]}
              checked={chosen.includes(kind)}
              onChange={(event) => {
                const others = chosen.filter((each) => each !== kind)
                setChosen(event.currentTarget.checked ? [...others, kind] : others)
              }}
            />
          ))}
        </div>
      </fieldset>
      <Choice
        label={words.language}
        choices={(['en', 'zh-CN'] as const).map((value) => ({ value, label: words.languages[value] }))}
        {...field('language')}
      />
    </Form>
  )
}

interface TargetProps {
  readonly draft: Draft
  readonly field: ReturnType<typeof useDraft<Draft>>['field']
  readonly isNew: boolean
  readonly errorOf: (...params: string[]) => string | undefined
}

/** Where it leads, and what proves it: each kind asks for something else. */
function Target({ draft, field, isNew, errorOf }: TargetProps) {
  const words = useWords('upkeep').channels
  const secretKind = secretOf[draft.kind]
  const isChat = draft.kind === 'telegram'
  const isMail = draft.kind === 'email'
  const secretHints = {
    webhook: words.secretMade,
    sign: words.secretOptional,
    token: words.secretNever,
  }
  const addressHint = isChat ? words.chatHint : undefined
  return (
    <>
      <TextInput
        label={isMail ? words.addresses.email : words.addresses[isChat ? 'chat' : 'url']}
        description={isNew ? addressHint : words.addressKept}
        placeholder={isMail || isChat ? undefined : 'https://'}
        type={isMail ? 'email' : 'text'}
        required={isNew}
        autoComplete="off"
        error={errorOf('address')}
        {...field('address')}
      />
      {secretKind !== undefined && (
        <PasswordInput
          label={words.secrets[secretKind]}
          description={isNew ? secretHints[secretKind] : words.addressKept}
          required={isNew && secretKind === 'token'}
          autoComplete="off"
          error={errorOf('secret')}
          {...field('secret')}
        />
      )}
      {isChat && (
        <TextInput
          label={words.server}
          description={words.serverHint}
          autoComplete="off"
          error={errorOf('server')}
          {...field('server')}
        />
      )}
    </>
  )
}
