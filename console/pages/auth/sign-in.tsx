/** Sign-in with a password and, if enabled, a second factor; or with a passkey. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Session, SignInResponse } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { submitHandler, useAction } from '../../components/forms/use-action.ts'
import { AuthLayout } from '../../components/layout/auth-layout.tsx'
import { ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { supportsPasskeys, signInWithPasskey } from '../../api/passkeys.ts'
import { startSession, usePlatform } from '../../api/session.ts'

const route = getRouteApi('/sign-in')

/** After sign-in, opens the requested page if it belongs to the console. */
function useSignedIn(): (session: Session) => void {
  const navigate = useNavigate()
  const { next } = route.useSearch()
  return (session) => {
    startSession(session)
    const isOurs = next !== undefined && /^\/(?![/\\])/.test(next)
    void navigate({ href: isOurs ? next : '/', replace: true })
  }
}

export function SignIn() {
  const [ticket, setTicket] = useState<string | null>(null)
  if (ticket !== null) return <SecondFactorStep ticket={ticket} back={() => setTicket(null)} />
  return <PasswordStep onSecondFactor={setTicket} />
}

function PasswordStep({ onSecondFactor }: { readonly onSecondFactor: (ticket: string) => void }) {
  const t = useMessages('auth')
  const onSignedIn = useSignedIn()
  const platform = usePlatform()
  const { reason } = route.useSearch()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [hasPasskeyFailed, setPasskeyFailed] = useState(false)
  const signIn = useAction(async () => {
    const result = await call<SignInResponse>('POST', '/console/sign-in', { email: email.trim(), password })
    if (result.status === 'second_factor') onSecondFactor(result.ticket)
    else onSignedIn(result.session)
  })
  const usePasskey = (): void => {
    setPasskeyFailed(false)
    signInWithPasskey().then(onSignedIn, () => setPasskeyFailed(true))
  }
  const features = platform?.features
  return (
    <AuthLayout
      title={t.signIn.title}
      lead={features?.set_up_needed === true ? t.setUp.needed : undefined}
      footer={
        features?.sign_up !== 'closed' && (
          <>
            {t.signIn.noAccount} <Link to="/sign-up">{t.signIn.signUp}</Link>
          </>
        )
      }
    >
      {reason === 'ended' && <p className="callout">{t.signIn.ended}</p>}
      <form className="stack" onSubmit={submitHandler(signIn.run)}>
        <TextInput
          label={t.email}
          type="email"
          autoComplete="username webauthn"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={t.password}
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {signIn.error && <ErrorMessage error={signIn.error} />}
        {hasPasskeyFailed && <p className="callout">{t.signIn.passkeyFailed}</p>}
        <Button type="submit" size="sm" fullWidth loading={signIn.isRunning}>
          {t.signIn.submit}
        </Button>
        {supportsPasskeys() && (
          <Button variant="default" size="sm" fullWidth onClick={usePasskey}>
            {t.signIn.passkey}
          </Button>
        )}
        <Link to="/reset-password" className="muted">
          {t.signIn.forgot}
        </Link>
      </form>
    </AuthLayout>
  )
}

function SecondFactorStep({ ticket, back }: { readonly ticket: string; readonly back: () => void }) {
  const t = useMessages('auth')
  const onSignedIn = useSignedIn()
  const [code, setCode] = useState('')
  const verify = useAction(async () => {
    const body = { ticket, code: code.trim() }
    onSignedIn((await call<{ session: Session }>('POST', '/console/sign-in/second-factor', body)).session)
  })
  return (
    <AuthLayout title={t.secondFactor.title} lead={t.secondFactor.lead}>
      <form className="stack" onSubmit={submitHandler(verify.run)}>
        <TextInput
          label={t.secondFactor.code}
          autoComplete="one-time-code"
          inputMode="numeric"
          required
          autoFocus
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        {verify.error && <ErrorMessage error={verify.error} />}
        <Button type="submit" size="sm" fullWidth loading={verify.isRunning}>
          {t.secondFactor.submit}
        </Button>
        <button type="button" className="link" onClick={back}>
          {t.back}
        </button>
      </form>
    </AuthLayout>
  )
}
