/** Sign in with a password and, where it is asked for, a second step; or with a passkey. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Session, SignInAnswer } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { submitting, useAction } from '../../components/forms/use-action.ts'
import { Entrance } from '../../components/layout/auth-layout.tsx'
import { Refused } from '../../components/feedback/empty-state.tsx'
import { canUsePasskeys, signInWithPasskey } from '../../api/passkeys.ts'
import { enter, usePlatform } from '../../api/session.ts'

const route = getRouteApi('/sign-in')

/** After signing in: to the page that was asked for, if it is one of ours. */
function useEntry(): (session: Session) => void {
  const navigate = useNavigate()
  const { next } = route.useSearch()
  return (session) => {
    enter(session)
    const isOurs = next !== undefined && /^\/(?![/\\])/.test(next)
    void navigate({ href: isOurs ? next : '/', replace: true })
  }
}

export function SignIn() {
  const [ticket, setTicket] = useState<string | null>(null)
  if (ticket !== null) return <SecondFactor ticket={ticket} back={() => setTicket(null)} />
  return <FirstFactor askCode={setTicket} />
}

function FirstFactor({ askCode }: { readonly askCode: (ticket: string) => void }) {
  const words = useWords('door')
  const come = useEntry()
  const platform = usePlatform()
  const { reason } = route.useSearch()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [isTurnedDown, setTurnedDown] = useState(false)
  const signIn = useAction(async () => {
    const answer = await call<SignInAnswer>('POST', '/console/sign-in', { email: email.trim(), password })
    if (answer.status === 'second_factor') askCode(answer.ticket)
    else come(answer.session)
  })
  const usePasskey = (): void => {
    setTurnedDown(false)
    signInWithPasskey().then(come, () => setTurnedDown(true))
  }
  const features = platform?.features
  return (
    <Entrance
      title={words.signIn.title}
      lead={features?.set_up_needed === true ? words.setUp.needed : undefined}
      below={
        features?.sign_up !== 'closed' && (
          <>
            {words.signIn.noAccount} <Link to="/sign-up">{words.signIn.signUp}</Link>
          </>
        )
      }
    >
      {reason === 'ended' && <p className="hint">{words.signIn.ended}</p>}
      <form className="stack" onSubmit={submitting(signIn.run)}>
        <TextInput
          label={words.email}
          type="email"
          autoComplete="username webauthn"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={words.password}
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {signIn.error && <Refused error={signIn.error} />}
        {isTurnedDown && <p className="hint">{words.signIn.passkeyFailed}</p>}
        <Button type="submit" size="sm" fullWidth loading={signIn.isRunning}>
          {words.signIn.submit}
        </Button>
        {canUsePasskeys() && (
          <Button variant="default" size="sm" fullWidth onClick={usePasskey}>
            {words.signIn.passkey}
          </Button>
        )}
        <Link to="/reset-password" className="quiet">
          {words.signIn.forgot}
        </Link>
      </form>
    </Entrance>
  )
}

function SecondFactor({ ticket, back }: { readonly ticket: string; readonly back: () => void }) {
  const words = useWords('door')
  const come = useEntry()
  const [code, setCode] = useState('')
  const verify = useAction(async () => {
    const body = { ticket, code: code.trim() }
    come((await call<{ session: Session }>('POST', '/console/sign-in/second-factor', body)).session)
  })
  return (
    <Entrance title={words.secondFactor.title} lead={words.secondFactor.lead}>
      <form className="stack" onSubmit={submitting(verify.run)}>
        <TextInput
          label={words.secondFactor.code}
          autoComplete="one-time-code"
          inputMode="numeric"
          required
          autoFocus
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        {verify.error && <Refused error={verify.error} />}
        <Button type="submit" size="sm" fullWidth loading={verify.isRunning}>
          {words.secondFactor.submit}
        </Button>
        <button type="button" className="link" onClick={back}>
          {words.back}
        </button>
      </form>
    </Entrance>
  )
}
