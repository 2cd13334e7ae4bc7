/**
 * Contract of authentication: session, set-up, sign-up, sign-in with a second factor or a passkey, password reset. Links
 * carry their token after `#`, which browsers do not send to servers: `/set-up#…`, `/verify-email#…`,
 * `/reset-password#…`.
 */
import { z } from 'zod'
import { defineEndpoint, type ResponseOf } from './endpoint.ts'
import { done, emailInput, language, passwordInput, time } from '../../api/json-schemas.ts'

export const role = z.enum(['customer', 'operator'])

const user = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role,
  language,
  email_verified: z.boolean(),
  /** Sign-in requires a code of an authenticator app. */
  totp: z.boolean(),
  passkeys: z.int(),
  recovery_codes_left: z.int(),
  created_at: time,
})

/** This deployment and its features; the same for every user. */
const platform = z.object({
  version: z.string(),
  /** ISO 4217. */
  currency: z.string(),
  /** null: not configured; the browser knows the address better than the server. */
  public_url: z.string().nullable(),
  /** The base URLs for API clients, including `/v1`; empty: none configured. */
  base_urls: z.array(z.string()),
  languages: z.array(language),
  features: z.object({
    /** Who can sign up: anyone, those with an invite code, or nobody. */
    sign_up: z.enum(['open', 'invite', 'closed']),
    /** E-mail is configured: addresses are verified and passwords are reset by e-mail, otherwise by an operator's link. */
    mail: z.boolean(),
    /** Demonstration mode: the upstream responds with fixed text. */
    demo: z.boolean(),
    /** No operator is set up yet: the relay created a set-up link when it started. */
    set_up_needed: z.boolean(),
  }),
})

const session = z.object({
  /** null: not signed in. */
  person: user.nullable(),
  /** The account whose pages these are: the user's own, or the one that an operator impersonates. */
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
  /** An operator impersonates this account. Must be visible on every page. */
  acting: z.boolean(),
  session: z.object({ id: z.string(), created_at: time, expires_at: time }).nullable(),
  platform,
})

/** `second_factor`: send the ticket with a code to `/sign-in/second-factor`. `signed_in` sets the cookie. */
const signInResponse = z.discriminatedUnion('status', [
  z.object({ status: z.literal('signed_in'), session }),
  z.object({ status: z.literal('second_factor'), ticket: z.string(), expires_at: time }),
])
const signedInResponse = z.object({ status: z.literal('signed_in'), session })
const tokenInput = z.string().max(200)
/** Input and output of the browser's WebAuthn functions, passed through unchanged (@simplewebauthn/browser). */
export const webauthn = z.record(z.string(), z.unknown())

const signUpBody = z.strictObject({
  email: emailInput,
  password: passwordInput,
  name: z.string().max(200).default(''),
  language: language.default('en'),
  timezone: z.string().max(100).optional(),
  /** An invite code; required if `features.sign_up` is `invite`. */
  invite: z.string().max(100).optional(),
  /** A promotion code. Without one, a running promotion that requires no code applies. */
  promotion: z.string().max(100).optional(),
})

export const authContract = {
  session: defineEndpoint(['GET', '/session', 'anyone'], { response: session }),
  signIn: defineEndpoint(['POST', '/sign-in', 'anyone'], {
    body: z.strictObject({ email: emailInput, password: passwordInput }),
    response: signInResponse,
  }),
  /** `code`: six digits of the app, or a recovery code. The ticket is void after five wrong codes. */
  secondFactor: defineEndpoint(['POST', '/sign-in/second-factor', 'anyone'], {
    body: z.strictObject({ ticket: tokenInput, code: z.string().max(50) }),
    response: signedInResponse,
  }),
  passkeyOptions: defineEndpoint(['POST', '/sign-in/passkey/options', 'anyone'], {
    response: z.object({ ticket: z.string(), options: webauthn }),
  }),
  passkeySignIn: defineEndpoint(['POST', '/sign-in/passkey', 'anyone'], {
    body: z.strictObject({ ticket: tokenInput, response: webauthn }),
    response: signedInResponse,
  }),
  signOut: defineEndpoint(['POST', '/sign-out', 'anyone'], { response: done }),
  /** `verify_email`: a link was sent by e-mail. The response does not reveal whether the address is known. */
  signUp: defineEndpoint(['POST', '/sign-up', 'anyone'], {
    body: signUpBody,
    response: z.discriminatedUnion('status', [
      signedInResponse,
      z.object({ status: z.literal('verify_email') }),
    ]),
  }),
  verifyEmail: defineEndpoint(['POST', '/verify-email', 'anyone'], {
    body: z.strictObject({ token: tokenInput }),
    response: signedInResponse,
  }),
  /** Always `done`, whether the user exists or not. 404 if e-mail is not configured. */
  requestPasswordReset: defineEndpoint(['POST', '/password-reset', 'anyone'], {
    body: z.strictObject({ email: emailInput }),
    response: done,
  }),
  /** Ends all sessions of the user. */
  resetPassword: defineEndpoint(['POST', '/password-reset/confirm', 'anyone'], {
    body: z.strictObject({ token: tokenInput, password: passwordInput }),
    response: done,
  }),
  /** Creates the operator of a set-up link. */
  setUp: defineEndpoint(['POST', '/set-up', 'anyone'], {
    body: z.strictObject({
      token: tokenInput,
      email: emailInput,
      password: passwordInput,
      name: z.string().max(200).default(''),
      language: language.default('en'),
    }),
    response: signedInResponse,
  }),
} as const

export const impersonationContract = {
  /** Until `stop` or sign-out, the customer pages are those of this account. Audited. */
  start: defineEndpoint(['POST', '/operator/accounts/:id/act', 'operator'], { response: session }),
  stop: defineEndpoint(['POST', '/operator/act/end', 'operator'], { response: session }),
} as const

export type Session = ResponseOf<typeof authContract.session>
export type SessionUser = NonNullable<Session['person']>
export type Platform = Session['platform']
export type SignInResponse = ResponseOf<typeof authContract.signIn>
