/** A new account: an address and a password, and a code where one is needed. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Session } from '../../contract.ts'
import { language, useWords } from '../../language.ts'
import { submitting, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { Entrance } from '../../components/layout/auth-layout.tsx'
import { Refused } from '../../components/feedback/empty-state.tsx'
import { enter, useSession } from '../../api/session.ts'

type Answer = { status: 'signed_in'; session: Session } | { status: 'verify_email' }

const route = getRouteApi('/sign-up')

export function SignUp() {
  const words = useWords('door')
  const { platform } = useSession()
  const [sentTo, setSentTo] = useState<string | null>(null)
  const below = (
    <>
      {words.signUp.haveAccount} <Link to="/sign-in">{words.signIn.title}</Link>
    </>
  )
  if (platform.features.sign_up === 'closed') {
    return (
      <Entrance title={words.signUp.title} lead={words.signUp.closed} below={below}>
        {null}
      </Entrance>
    )
  }
  if (sentTo !== null) {
    return (
      <Entrance title={words.signUp.checkMail} lead={words.signUp.checkMailLead(sentTo)} below={below}>
        {null}
      </Entrance>
    )
  }
  return (
    <Entrance title={words.signUp.title} below={below}>
      <SignUpForm isByInvite={platform.features.sign_up === 'invite'} onMailed={setSentTo} />
    </Entrance>
  )
}

interface FormProps {
  readonly isByInvite: boolean
  readonly onMailed: (email: string) => void
}

function SignUpForm({ isByInvite, onMailed }: FormProps) {
  const words = useWords('door')
  const navigate = useNavigate()
  const search = route.useSearch()
  const [given, setGiven] = useState({
    email: '',
    password: '',
    name: '',
    invite: search.invite ?? '',
    promotion: search.promotion ?? '',
  })
  const [hasPromotion, setHasPromotion] = useState(given.promotion !== '')
  const signUp = useAction(async () => {
    const { invite, promotion, ...rest } = given
    const body = {
      ...rest,
      email: given.email.trim(),
      language: language(),
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      ...(invite.trim() === '' ? {} : { invite: invite.trim() }),
      ...(promotion.trim() === '' ? {} : { promotion: promotion.trim() }),
    }
    const answer = await call<Answer>('POST', '/console/sign-up', body)
    if (answer.status === 'verify_email') return onMailed(body.email)
    enter(answer.session)
    await navigate({ to: '/', replace: true })
  })
  const errorOf = useFieldError(signUp.error)
  const field = (name: keyof typeof given) => ({
    value: given[name],
    error: errorOf(name),
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget
      setGiven((before) => ({ ...before, [name]: value }))
    },
  })
  const isBeside = signUp.error !== null && signUp.error.param !== null && signUp.error.param in given
  return (
    <form className="stack" onSubmit={submitting(signUp.run)}>
      <TextInput
        label={words.email}
        type="email"
        autoComplete="username"
        required
        autoFocus
        {...field('email')}
      />
      <PasswordInput
        label={words.password}
        description={words.passwordRule}
        autoComplete="new-password"
        minLength={10}
        required
        {...field('password')}
      />
      {isByInvite && (
        <TextInput
          label={words.signUp.invite}
          description={words.signUp.inviteHint}
          required
          {...field('invite')}
        />
      )}
      {hasPromotion ? (
        <TextInput
          label={words.signUp.promotion}
          description={words.signUp.promotionHint}
          {...field('promotion')}
        />
      ) : (
        <button type="button" className="link" onClick={() => setHasPromotion(true)}>
          {words.signUp.havePromotion}
        </button>
      )}
      {signUp.error && !isBeside && <Refused error={signUp.error} />}
      <Button type="submit" size="sm" fullWidth loading={signUp.isRunning}>
        {words.signUp.submit}
      </Button>
    </form>
  )
}
