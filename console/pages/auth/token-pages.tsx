/** The pages behind one-time links: set-up, e-mail verification, password reset. The token is in the URL fragment. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Session } from '../../api/contract.ts'
import { currentLanguage, useMessages } from '../../locales/messages.ts'
import { submitHandler, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { AuthLayout } from '../../components/layout/auth-layout.tsx'
import { Loading, ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { startSession, usePlatform } from '../../api/session.ts'

/** Removes the token from the URL at once, so that it stays in no history. A link may also be opened in this tab. */
function useUrlToken(): string {
  const [token, setToken] = useState(() => window.location.hash.slice(1))
  useEffect(() => {
    const readHash = (): void => {
      if (window.location.hash.length < 2) return
      setToken(window.location.hash.slice(1))
      window.history.replaceState(window.history.state, '', window.location.pathname)
    }
    readHash()
    window.addEventListener('hashchange', readHash)
    return () => window.removeEventListener('hashchange', readHash)
  }, [])
  return token
}

export function SetUp() {
  const t = useMessages('auth')
  const token = useUrlToken()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const setUp = useAction(async () => {
    const body = { token, email: email.trim(), password, language: currentLanguage() }
    startSession((await call<{ session: Session }>('POST', '/console/set-up', body)).session)
    await navigate({ to: '/', replace: true })
  })
  const fieldError = useFieldError(setUp.error)
  if (token === '') {
    return (
      <AuthLayout title={t.setUp.title} lead={t.setUp.noToken}>
        <Link to="/sign-in">{t.signIn.title}</Link>
      </AuthLayout>
    )
  }
  const isInline = ['email', 'password'].includes(setUp.error?.param ?? '')
  return (
    <AuthLayout title={t.setUp.title} lead={t.setUp.lead}>
      <form className="stack" onSubmit={submitHandler(setUp.run)}>
        <TextInput
          label={t.email}
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          error={fieldError('email')}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={t.password}
          description={t.passwordRule}
          autoComplete="new-password"
          minLength={10}
          required
          value={password}
          error={fieldError('password')}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {setUp.error && !isInline && <ErrorMessage error={setUp.error} />}
        <Button type="submit" size="sm" fullWidth loading={setUp.isRunning}>
          {t.setUp.submit}
        </Button>
      </form>
    </AuthLayout>
  )
}

export function VerifyEmail() {
  const token = useUrlToken()
  return <Verify key={token} token={token} />
}

function Verify({ token }: { readonly token: string }) {
  const t = useMessages('auth')
  const navigate = useNavigate()
  const [hasFailed, setFailed] = useState(token === '')
  useEffect(() => {
    if (token === '') return
    call<{ session: Session }>('POST', '/console/verify-email', { token }).then(
      ({ session }) => {
        startSession(session)
        void navigate({ to: '/', replace: true })
      },
      () => setFailed(true),
    )
  }, [token, navigate])
  return (
    <AuthLayout title={t.verify.title} lead={hasFailed ? t.verify.failed : undefined}>
      {hasFailed ? <Link to="/sign-in">{t.signIn.title}</Link> : <Loading />}
    </AuthLayout>
  )
}

export function ResetPassword() {
  const token = useUrlToken()
  return token === '' ? <RequestReset /> : <ChoosePassword key={token} token={token} />
}

function RequestReset() {
  const t = useMessages('auth')
  const platform = usePlatform()
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const send = useAction(async () => {
    await call('POST', '/console/password-reset', { email: email.trim() })
    setSent(true)
  })
  const footer = <Link to="/sign-in">{t.signIn.title}</Link>
  if (isSent || platform?.features.mail === false) {
    return (
      <AuthLayout title={t.reset.title} lead={isSent ? t.reset.sent : t.reset.noMail} footer={footer}>
        {null}
      </AuthLayout>
    )
  }
  return (
    <AuthLayout title={t.reset.title} lead={t.reset.lead} footer={footer}>
      <form className="stack" onSubmit={submitHandler(send.run)}>
        <TextInput
          label={t.email}
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        {send.error && <ErrorMessage error={send.error} />}
        <Button type="submit" size="sm" fullWidth loading={send.isRunning}>
          {t.reset.submit}
        </Button>
      </form>
    </AuthLayout>
  )
}

function ChoosePassword({ token }: { readonly token: string }) {
  const t = useMessages('auth')
  const [password, setPassword] = useState('')
  const [isSaved, setSaved] = useState(false)
  const reset = useAction(async () => {
    await call('POST', '/console/password-reset/confirm', { token, password })
    setSaved(true)
  })
  const fieldError = useFieldError(reset.error)
  if (isSaved) {
    return (
      <AuthLayout title={t.reset.choose} lead={t.reset.saved}>
        <Link to="/sign-in">{t.signIn.title}</Link>
      </AuthLayout>
    )
  }
  return (
    <AuthLayout title={t.reset.choose} lead={t.reset.chooseLead}>
      <form className="stack" onSubmit={submitHandler(reset.run)}>
        <PasswordInput
          label={t.newPassword}
          description={t.passwordRule}
          autoComplete="new-password"
          minLength={10}
          required
          autoFocus
          value={password}
          error={fieldError('password')}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {reset.error && reset.error.param !== 'password' && <ErrorMessage error={reset.error} />}
        <Button type="submit" size="sm" fullWidth loading={reset.isRunning}>
          {t.reset.save}
        </Button>
      </form>
    </AuthLayout>
  )
}
