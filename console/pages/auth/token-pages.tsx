/** The pages that links lead to: set-up, confirming an address, a new password. Their token is behind `#`. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Session } from '../../contract.ts'
import { language, useWords } from '../../language.ts'
import { submitting, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { Entrance } from '../../components/layout/auth-layout.tsx'
import { Loading, Refused } from '../../components/feedback/empty-state.tsx'
import { enter, usePlatform } from '../../api/session.ts'

/** The token; taken out of the address at once, so that it stays in no history. A link may be opened in a page that is open. */
function useToken(): string {
  const [token, setToken] = useState(() => window.location.hash.slice(1))
  useEffect(() => {
    const take = (): void => {
      if (window.location.hash.length < 2) return
      setToken(window.location.hash.slice(1))
      window.history.replaceState(window.history.state, '', window.location.pathname)
    }
    take()
    window.addEventListener('hashchange', take)
    return () => window.removeEventListener('hashchange', take)
  }, [])
  return token
}

export function SetUp() {
  const words = useWords('door')
  const token = useToken()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const setUp = useAction(async () => {
    const body = { token, email: email.trim(), password, language: language() }
    enter((await call<{ session: Session }>('POST', '/console/set-up', body)).session)
    await navigate({ to: '/', replace: true })
  })
  const errorOf = useFieldError(setUp.error)
  if (token === '') {
    return (
      <Entrance title={words.setUp.title} lead={words.setUp.noToken}>
        <Link to="/sign-in">{words.signIn.title}</Link>
      </Entrance>
    )
  }
  const isBeside = ['email', 'password'].includes(setUp.error?.param ?? '')
  return (
    <Entrance title={words.setUp.title} lead={words.setUp.lead}>
      <form className="stack" onSubmit={submitting(setUp.run)}>
        <TextInput
          label={words.email}
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          error={errorOf('email')}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={words.password}
          description={words.passwordRule}
          autoComplete="new-password"
          minLength={10}
          required
          value={password}
          error={errorOf('password')}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {setUp.error && !isBeside && <Refused error={setUp.error} />}
        <Button type="submit" size="sm" fullWidth loading={setUp.isRunning}>
          {words.setUp.submit}
        </Button>
      </form>
    </Entrance>
  )
}

export function VerifyEmail() {
  const token = useToken()
  return <Verify key={token} token={token} />
}

function Verify({ token }: { readonly token: string }) {
  const words = useWords('door')
  const navigate = useNavigate()
  const [hasFailed, setFailed] = useState(token === '')
  useEffect(() => {
    if (token === '') return
    call<{ session: Session }>('POST', '/console/verify-email', { token }).then(
      ({ session }) => {
        enter(session)
        void navigate({ to: '/', replace: true })
      },
      () => setFailed(true),
    )
  }, [token, navigate])
  return (
    <Entrance title={words.verify.title} lead={hasFailed ? words.verify.failed : undefined}>
      {hasFailed ? <Link to="/sign-in">{words.signIn.title}</Link> : <Loading />}
    </Entrance>
  )
}

export function ResetPassword() {
  const token = useToken()
  return token === '' ? <AskReset /> : <ChoosePassword key={token} token={token} />
}

function AskReset() {
  const words = useWords('door')
  const platform = usePlatform()
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const ask = useAction(async () => {
    await call('POST', '/console/password-reset', { email: email.trim() })
    setSent(true)
  })
  const below = <Link to="/sign-in">{words.signIn.title}</Link>
  if (isSent || platform?.features.mail === false) {
    return (
      <Entrance title={words.reset.title} lead={isSent ? words.reset.sent : words.reset.noMail} below={below}>
        {null}
      </Entrance>
    )
  }
  return (
    <Entrance title={words.reset.title} lead={words.reset.lead} below={below}>
      <form className="stack" onSubmit={submitting(ask.run)}>
        <TextInput
          label={words.email}
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        {ask.error && <Refused error={ask.error} />}
        <Button type="submit" size="sm" fullWidth loading={ask.isRunning}>
          {words.reset.submit}
        </Button>
      </form>
    </Entrance>
  )
}

function ChoosePassword({ token }: { readonly token: string }) {
  const words = useWords('door')
  const [password, setPassword] = useState('')
  const [isSaved, setSaved] = useState(false)
  const reset = useAction(async () => {
    await call('POST', '/console/password-reset/confirm', { token, password })
    setSaved(true)
  })
  const errorOf = useFieldError(reset.error)
  if (isSaved) {
    return (
      <Entrance title={words.reset.choose} lead={words.reset.saved}>
        <Link to="/sign-in">{words.signIn.title}</Link>
      </Entrance>
    )
  }
  return (
    <Entrance title={words.reset.choose} lead={words.reset.chooseLead}>
      <form className="stack" onSubmit={submitting(reset.run)}>
        <PasswordInput
          label={words.newPassword}
          description={words.passwordRule}
          autoComplete="new-password"
          minLength={10}
          required
          autoFocus
          value={password}
          error={errorOf('password')}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {reset.error && reset.error.param !== 'password' && <Refused error={reset.error} />}
        <Button type="submit" size="sm" fullWidth loading={reset.isRunning}>
          {words.reset.save}
        </Button>
      </form>
    </Entrance>
  )
}
