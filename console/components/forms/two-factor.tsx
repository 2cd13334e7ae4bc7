/** The second factor: an authenticator app, set up by a picture or by typing, and recovery codes for its loss. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useMessages } from '../../locales/messages.ts'
import { useSession } from '../../api/session.ts'
import { submitHandler, useAction } from './use-action.ts'
import { Dialog } from './dialog.tsx'
import { useDraft } from './fields.tsx'
import { ErrorMessage } from '../feedback/empty-state.tsx'
import { OneTimeSecret } from '../feedback/one-time-secret.tsx'
import { CopyButton, StatusLabel } from '../tables/format-cells.tsx'
import { showToast } from '../feedback/toast.tsx'

interface TotpSetUp {
  readonly secret: string
  readonly uri: string
  /** An SVG. */
  readonly qr: string
}

type TwoFactorFlow = 'begin' | 'end' | 'codes'

export function TwoFactor({ onChanged }: { readonly onChanged: () => Promise<void> }) {
  const t = useMessages('portal').profile
  const { person } = useSession()
  const [flow, setFlow] = useState<TwoFactorFlow | null>(null)
  if (person === null) return null
  return (
    <div className="panel row spread">
      <StatusLabel tone={person.totp ? 'success' : 'warning'}>
        {person.totp ? t.totpOn : t.totpOff}
      </StatusLabel>
      {person.totp ? (
        <div className="row">
          <span className="muted">{t.codesLeft(person.recovery_codes_left)}</span>
          <Button variant="default" onClick={() => setFlow('codes')}>
            {t.newCodes}
          </Button>
          <Button variant="default" color="red" onClick={() => setFlow('end')}>
            {t.turnOffTotp}
          </Button>
        </div>
      ) : (
        <Button onClick={() => setFlow('begin')}>{t.setUpTotp}</Button>
      )}
      <Dialog title={t.twoFactor} opened={flow !== null} close={() => setFlow(null)}>
        {flow !== null && <TwoFactorSteps flow={flow} onChanged={onChanged} close={() => setFlow(null)} />}
      </Dialog>
    </div>
  )
}

interface TwoFactorStepsProps {
  readonly flow: TwoFactorFlow
  readonly onChanged: () => Promise<void>
  readonly close: () => void
}

function TwoFactorSteps({ flow, onChanged, close }: TwoFactorStepsProps) {
  const t = useMessages('portal').profile
  const { draft, field } = useDraft({ password: '' })
  const [setUp, setSetUp] = useState<TotpSetUp | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const next = useAction(async () => {
    const proof = { password: draft.password }
    if (flow === 'begin') {
      setSetUp(await call<TotpSetUp>('POST', '/console/me/totp', proof))
    } else if (flow === 'codes') {
      const result = await call<{ recovery_codes: string[] }>('POST', '/console/me/recovery-codes', proof)
      setCodes(result.recovery_codes)
    } else {
      await call('POST', '/console/me/totp/end', proof)
      await onChanged()
      showToast(t.totpTurnedOff)
      close()
    }
  })
  if (codes !== null) return <RecoveryCodes codes={codes} onChanged={onChanged} close={close} />
  if (setUp !== null) return <ConfirmTotp setUp={setUp} onCodes={setCodes} />
  return (
    <form className="stack" onSubmit={submitHandler(next.run)}>
      <p>{t.proof}</p>
      <PasswordInput
        label={t.current}
        autoComplete="current-password"
        required
        data-autofocus
        {...field('password')}
      />
      {next.error && <ErrorMessage error={next.error} />}
      <Button type="submit" loading={next.isRunning}>
        {t.next}
      </Button>
    </form>
  )
}

interface ConfirmTotpProps {
  readonly setUp: TotpSetUp
  readonly onCodes: (codes: readonly string[]) => void
}

function ConfirmTotp({ setUp, onCodes }: ConfirmTotpProps) {
  const t = useMessages('portal').profile
  const { draft, field } = useDraft({ code: '' })
  const check = useAction(async () => {
    const body = { code: draft.code.trim() }
    onCodes(
      (await call<{ recovery_codes: string[] }>('POST', '/console/me/totp/confirm', body)).recovery_codes,
    )
  })
  return (
    <form className="stack" onSubmit={submitHandler(check.run)}>
      <p>{t.scan}</p>
      <img className="qr" alt={t.qr} src={`data:image/svg+xml,${encodeURIComponent(setUp.qr)}`} />
      <p>
        {t.orType} <CopyButton text={setUp.secret} />
      </p>
      <TextInput
        label={t.code}
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        {...field('code')}
      />
      {check.error && <ErrorMessage error={check.error} />}
      <Button type="submit" loading={check.isRunning}>
        {t.turnOn}
      </Button>
    </form>
  )
}

interface RecoveryCodesProps {
  readonly codes: readonly string[]
  readonly onChanged: () => Promise<void>
  readonly close: () => void
}

function RecoveryCodes({ codes, onChanged, close }: RecoveryCodesProps) {
  const t = useMessages('portal').profile
  const done = async (): Promise<void> => {
    close()
    await onChanged()
  }
  return <OneTimeSecret secret={codes} notice={t.codesOnce} close={() => void done()} />
}
