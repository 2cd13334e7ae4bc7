/** Sign-up with e-mail and password, and with an invite code if one is required. */
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Session } from '../../api/contract.ts'
import { currentLanguage, useMessages } from '../../locales/messages.ts'
import { submitHandler, useAction, useFieldError } from '../../components/forms/use-action.ts'
import { AcceptedTexts } from '../../components/layout/branding.tsx'
import { AuthLayout } from '../../components/layout/auth-layout.tsx'
import { ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { startSession, useSession } from '../../api/session.ts'

type SignUpResult = { status: 'signed_in'; session: Session } | { status: 'verify_email' }

const route = getRouteApi('/sign-up')

export function SignUp() {
  const t = useMessages('auth')
  const { platform } = useSession()
  const [sentTo, setSentTo] = useState<string | null>(null)
  const footer = (
    <>
      {t.signUp.haveAccount} <Link to="/sign-in">{t.signIn.title}</Link>
    </>
  )
  if (platform.features.sign_up === 'closed') {
    return (
      <AuthLayout title={t.signUp.title} lead={t.signUp.closed} footer={footer}>
        {null}
      </AuthLayout>
    )
  }
  if (sentTo !== null) {
    return (
      <AuthLayout title={t.signUp.checkMail} lead={t.signUp.checkMailLead(sentTo)} footer={footer}>
        {null}
      </AuthLayout>
    )
  }
  return (
    <AuthLayout title={t.signUp.title} footer={footer}>
      <SignUpForm
        needsInvite={platform.features.sign_up === 'invite'}
        verifiesEmail={platform.features.mail}
        onEmailSent={setSentTo}
      />
    </AuthLayout>
  )
}

interface SignUpFormProps {
  readonly needsInvite: boolean
  readonly verifiesEmail: boolean
  readonly onEmailSent: (email: string) => void
}

function SignUpForm({ needsInvite, verifiesEmail, onEmailSent }: SignUpFormProps) {
  const t = useMessages('auth')
  const navigate = useNavigate()
  const search = route.useSearch()
  const [values, setValues] = useState({
    email: '',
    password: '',
    name: '',
    invite: search.invite ?? '',
    promotion: search.promotion ?? '',
    referral: search.referral ?? '',
  })
  // Unverified accounts get no credit of a promotion.
  const canGetCredit = verifiesEmail || needsInvite
  const [hasPromotion, setHasPromotion] = useState(canGetCredit && values.promotion !== '')
  const signUp = useAction(async () => {
    const { invite, promotion, referral, ...rest } = values
    const body = {
      ...rest,
      email: values.email.trim(),
      language: currentLanguage(),
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      ...(invite.trim() === '' ? {} : { invite: invite.trim() }),
      ...(promotion.trim() === '' ? {} : { promotion: promotion.trim() }),
      ...(referral.trim() === '' ? {} : { referral: referral.trim() }),
    }
    const result = await call<SignUpResult>('POST', '/console/sign-up', body)
    if (result.status === 'verify_email') return onEmailSent(body.email)
    startSession(result.session)
    await navigate({ to: '/', replace: true })
  })
  const fieldError = useFieldError(signUp.error)
  const field = (name: keyof typeof values) => ({
    value: values[name],
    error: fieldError(name),
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget
      setValues((before) => ({ ...before, [name]: value }))
    },
  })
  const isInline = signUp.error !== null && signUp.error.param !== null && signUp.error.param in values
  return (
    <form className="stack" onSubmit={submitHandler(signUp.run)}>
      <TextInput
        label={t.email}
        type="email"
        autoComplete="username"
        required
        autoFocus
        {...field('email')}
      />
      <PasswordInput
        label={t.password}
        description={t.passwordRule}
        autoComplete="new-password"
        minLength={10}
        required
        {...field('password')}
      />
      {needsInvite && (
        <TextInput label={t.signUp.invite} description={t.signUp.inviteHint} required {...field('invite')} />
      )}
      {canGetCredit && !hasPromotion && (
        <button type="button" className="link" onClick={() => setHasPromotion(true)}>
          {t.signUp.havePromotion}
        </button>
      )}
      {hasPromotion && (
        <TextInput label={t.signUp.promotion} description={t.signUp.promotionHint} {...field('promotion')} />
      )}
      {search.referral !== undefined && <TextInput label={t.signUp.referral} {...field('referral')} />}
      {signUp.error && !isInline && <ErrorMessage error={signUp.error} />}
      <AcceptedTexts />
      <Button type="submit" size="sm" fullWidth loading={signUp.isRunning}>
        {t.signUp.submit}
      </Button>
    </form>
  )
}
