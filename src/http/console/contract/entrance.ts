/**
 * How one comes in: who am I, set-up, sign-up, sign-in with a second factor or a passkey, and what to do when the
 * password is lost. Links that are printed or mailed carry their token behind `#`, where no server sees it:
 * `/set-up#…`, `/verify-email#…`, `/reset-password#…`.
 */
import { z } from 'zod'
import { call, type AnswerOf } from './call.ts'
import { done, emailIn, language, passwordIn, time } from '../../api/json-schemas.ts'

export const role = z.enum(['customer', 'operator'])

const person = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role,
  language,
  email_verified: z.boolean(),
  /** A code of an authenticator app is asked for. */
  totp: z.boolean(),
  passkeys: z.int(),
  recovery_codes_left: z.int(),
  created_at: time,
})

/** What this deployment is and offers; the same for everybody. */
const platform = z.object({
  version: z.string(),
  /** ISO 4217. */
  currency: z.string(),
  /** Where the console is reached. */
  public_url: z.string(),
  /** What an application is given, with its `/v1`. */
  base_urls: z.array(z.string()),
  languages: z.array(language),
  features: z.object({
    /** Who may sign up: anyone, whoever has an invite code, nobody. */
    sign_up: z.enum(['open', 'invite', 'closed']),
    /** E-mail is sent: addresses are verified, and a lost password is reset by mail; else by an operator's link. */
    mail: z.boolean(),
    /** This is a demonstration: its upstream writes fixed text. */
    demo: z.boolean(),
    /** Nobody runs this relay yet: the start has printed a link to set it up. */
    set_up_needed: z.boolean(),
  }),
})

const session = z.object({
  /** null: nobody is signed in. */
  person: person.nullable(),
  /** Whose pages these are: the person's own account, or the one that an operator looks at. */
  account: z
    .object({
      id: z.string(),
      email: z.string(),
      name: z.string(),
      tier: z.string(),
      status: z.enum(['active', 'suspended']),
      timezone: z.string(),
    })
    .nullable(),
  /** An operator has signed in as this account. Has to be visible on every page. */
  acting: z.boolean(),
  session: z.object({ id: z.string(), created_at: time, expires_at: time }).nullable(),
  platform,
})

/** `second_factor`: send the ticket with a code to `/sign-in/second-factor`. The cookie comes with `signed_in`. */
const signedIn = z.discriminatedUnion('status', [
  z.object({ status: z.literal('signed_in'), session }),
  z.object({ status: z.literal('second_factor'), ticket: z.string(), expires_at: time }),
])
const came = z.object({ status: z.literal('signed_in'), session })
const tokenIn = z.string().max(200)
/** What the browser's WebAuthn calls take and give, passed on as it is (@simplewebauthn/browser). */
export const webauthn = z.record(z.string(), z.unknown())

const signUpBody = z.strictObject({
  email: emailIn,
  password: passwordIn,
  name: z.string().max(200).default(''),
  language: language.default('en'),
  timezone: z.string().max(100).optional(),
  /** An invite code, where `features.sign_up` is `invite`. */
  invite: z.string().max(100).optional(),
  /** A promotion's code; without one the promotion that is open to all counts, if there is one. */
  promotion: z.string().max(100).optional(),
})

export const entranceCalls = {
  session: call(['GET', '/session', 'anyone'], { answer: session }),
  signIn: call(['POST', '/sign-in', 'anyone'], {
    body: z.strictObject({ email: emailIn, password: passwordIn }),
    answer: signedIn,
  }),
  /** `code`: six digits of the app, or a recovery code. After five wrong ones the ticket is void. */
  secondFactor: call(['POST', '/sign-in/second-factor', 'anyone'], {
    body: z.strictObject({ ticket: tokenIn, code: z.string().max(50) }),
    answer: came,
  }),
  passkeyOptions: call(['POST', '/sign-in/passkey/options', 'anyone'], {
    answer: z.object({ ticket: z.string(), options: webauthn }),
  }),
  passkeySignIn: call(['POST', '/sign-in/passkey', 'anyone'], {
    body: z.strictObject({ ticket: tokenIn, response: webauthn }),
    answer: came,
  }),
  signOut: call(['POST', '/sign-out', 'anyone'], { answer: done }),
  /** `verify_email`: a link was mailed; whether the address was new is not told. */
  signUp: call(['POST', '/sign-up', 'anyone'], {
    body: signUpBody,
    answer: z.discriminatedUnion('status', [came, z.object({ status: z.literal('verify_email') })]),
  }),
  verifyEmail: call(['POST', '/verify-email', 'anyone'], {
    body: z.strictObject({ token: tokenIn }),
    answer: came,
  }),
  /** Always `done`, whether there is such a person or not. 404 where no mail is sent. */
  askReset: call(['POST', '/password-reset', 'anyone'], {
    body: z.strictObject({ email: emailIn }),
    answer: done,
  }),
  /** Ends every session of the person; sign in anew. */
  reset: call(['POST', '/password-reset/confirm', 'anyone'], {
    body: z.strictObject({ token: tokenIn, password: passwordIn }),
    answer: done,
  }),
  /** Makes the operator that the link was printed for. */
  setUp: call(['POST', '/set-up', 'anyone'], {
    body: z.strictObject({
      token: tokenIn,
      email: emailIn,
      password: passwordIn,
      name: z.string().max(200).default(''),
      language: language.default('en'),
    }),
    answer: came,
  }),
} as const

export type Session = AnswerOf<typeof entranceCalls.session>
export type Person = NonNullable<Session['person']>
export type Platform = Session['platform']
export type SignInAnswer = AnswerOf<typeof entranceCalls.signIn>
