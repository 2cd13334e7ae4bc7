/** The second factor: an authenticator app, set up by a picture or by typing, and recovery codes for its loss. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useWords } from '../../language.ts'
import { useSession } from '../../api/session.ts'
import { submitting, useAction } from './use-action.ts'
import { Dialog, useDraft } from './fields.tsx'
import { Refused } from '../feedback/empty-state.tsx'
import { Copyable, State } from '../tables/format-cells.tsx'
import { say } from '../feedback/toast.tsx'

interface Begun {
  readonly secret: string
  readonly uri: string
  /** An SVG. */
  readonly qr: string
}

type Doing = 'begin' | 'end' | 'codes'

export function TwoFactor({ changed }: { readonly changed: () => Promise<void> }) {
  const words = useWords('customer').profile
  const { person } = useSession()
  const [doing, setDoing] = useState<Doing | null>(null)
  if (person === null) return null
  return (
    <div className="panel row spread">
      <State tone={person.totp ? 'good' : 'warn'}>{person.totp ? words.totpOn : words.totpOff}</State>
      {person.totp ? (
        <div className="row">
          <span className="quiet">{words.codesLeft(person.recovery_codes_left)}</span>
          <Button variant="default" onClick={() => setDoing('codes')}>
            {words.newCodes}
          </Button>
          <Button variant="default" color="red" onClick={() => setDoing('end')}>
            {words.endTotp}
          </Button>
        </div>
      ) : (
        <Button onClick={() => setDoing('begin')}>{words.beginTotp}</Button>
      )}
      <Dialog title={words.twoFactor} opened={doing !== null} close={() => setDoing(null)}>
        {doing !== null && <Steps doing={doing} changed={changed} close={() => setDoing(null)} />}
      </Dialog>
    </div>
  )
}

interface StepsProps {
  readonly doing: Doing
  readonly changed: () => Promise<void>
  readonly close: () => void
}

function Steps({ doing, changed, close }: StepsProps) {
  const words = useWords('customer').profile
  const { draft, field } = useDraft({ password: '' })
  const [begun, setBegun] = useState<Begun | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const next = useAction(async () => {
    const proof = { password: draft.password }
    if (doing === 'begin') {
      setBegun(await call<Begun>('POST', '/console/me/totp', proof))
    } else if (doing === 'codes') {
      const answer = await call<{ recovery_codes: string[] }>('POST', '/console/me/recovery-codes', proof)
      setCodes(answer.recovery_codes)
    } else {
      await call('POST', '/console/me/totp/end', proof)
      await changed()
      say(words.totpEnded)
      close()
    }
  })
  if (codes !== null) return <RecoveryCodes codes={codes} changed={changed} close={close} />
  if (begun !== null) return <Confirm begun={begun} told={setCodes} />
  return (
    <form className="stack" onSubmit={submitting(next.run)}>
      <p>{words.proof}</p>
      <PasswordInput
        label={words.current}
        autoComplete="current-password"
        required
        data-autofocus
        {...field('password')}
      />
      {next.error && <Refused error={next.error} />}
      <Button type="submit" loading={next.isRunning}>
        {words.goOn}
      </Button>
    </form>
  )
}

interface ConfirmProps {
  readonly begun: Begun
  readonly told: (codes: readonly string[]) => void
}

function Confirm({ begun, told }: ConfirmProps) {
  const words = useWords('customer').profile
  const { draft, field } = useDraft({ code: '' })
  const check = useAction(async () => {
    const body = { code: draft.code.trim() }
    told((await call<{ recovery_codes: string[] }>('POST', '/console/me/totp/confirm', body)).recovery_codes)
  })
  return (
    <form className="stack" onSubmit={submitting(check.run)}>
      <p>{words.scan}</p>
      <img className="qr" alt={words.qr} src={`data:image/svg+xml,${encodeURIComponent(begun.qr)}`} />
      <p>
        {words.orType} <Copyable text={begun.secret} />
      </p>
      <TextInput
        label={words.code}
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        {...field('code')}
      />
      {check.error && <Refused error={check.error} />}
      <Button type="submit" loading={check.isRunning}>
        {words.turnOn}
      </Button>
    </form>
  )
}

interface CodesProps {
  readonly codes: readonly string[]
  readonly changed: () => Promise<void>
  readonly close: () => void
}

function RecoveryCodes({ codes, changed, close }: CodesProps) {
  const words = useWords('customer').profile
  const done = async (): Promise<void> => {
    close()
    await changed()
  }
  return (
    <div className="stack">
      <p className="hint warn">{words.codesOnce}</p>
      <div className="secret codes">
        {codes.map((code) => (
          <div key={code}>{code}</div>
        ))}
      </div>
      <div className="row end">
        <Copyable text={codes.join('\n')}>{words.copyCodes}</Copyable>
        <Button onClick={() => void done()}>{words.codesKept}</Button>
      </div>
    </div>
  )
}
