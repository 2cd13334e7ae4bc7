/** Proves again who the user is, by password or passkey: a session alone must not be enough for some changes. */
import { Button, PasswordInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { confirmWithPasskey, supportsPasskeys } from '../../api/passkeys.ts'
import { useSession } from '../../api/session.ts'
import { useMessages } from '../../locales/messages.ts'
import { submitHandler, useAction } from './use-action.ts'
import { useDraft } from './fields.tsx'
import { ErrorMessage } from '../feedback/empty-state.tsx'

export interface ConfirmIdentityProps {
  /** Repeats what was rejected with `password_required`. */
  readonly onConfirmed: () => void
  readonly cancel: () => void
}

export function ConfirmIdentity({ onConfirmed, cancel }: ConfirmIdentityProps) {
  const auth = useMessages('auth')
  const t = auth.confirm
  const shell = useMessages('shell')
  const { person } = useSession()
  const { draft, field } = useDraft({ password: '' })
  const [hasPasskeyFailed, setPasskeyFailed] = useState(false)
  const submit = useAction(async () => {
    setPasskeyFailed(false)
    await call('POST', '/console/me/confirm', { password: draft.password })
    onConfirmed()
  })
  const usePasskey = (): void => {
    setPasskeyFailed(false)
    confirmWithPasskey().then(onConfirmed, () => setPasskeyFailed(true))
  }
  const isWrong = submit.error?.code === 'wrong_credentials'
  return (
    <form className="stack" onSubmit={submitHandler(submit.run)}>
      <p>{t.lead}</p>
      <PasswordInput
        label={auth.password}
        autoComplete="current-password"
        required
        autoFocus
        error={isWrong ? t.wrongPassword : undefined}
        {...field('password')}
      />
      {submit.error && !isWrong && <ErrorMessage error={submit.error} />}
      {hasPasskeyFailed && <p className="callout">{t.passkeyFailed}</p>}
      <div className="row end">
        {supportsPasskeys() && person !== null && person.passkeys > 0 && (
          <Button variant="default" onClick={usePasskey}>
            {t.passkey}
          </Button>
        )}
        <Button variant="default" onClick={cancel}>
          {shell.cancel}
        </Button>
        <Button type="submit" loading={submit.isRunning}>
          {t.submit}
        </Button>
      </div>
    </form>
  )
}
