/**
 * Sign-in and sign-out. A wrong password, an unknown address and a disabled user get the same response after the same
 * work. Attempts are counted by the client's network, and by e-mail address, whether it exists or not.
 */
import { z } from 'zod'
import { cleanEmail } from '../../../accounts/fields.ts'
import { apiError, asApiError } from '../../../errors.ts'
import { startPasskeySignIn, userByPasskey } from '../../../users/passkeys.ts'
import { userByEmail, userById, type User } from '../../../users/users.ts'
import { consumeRecoveryCode, consumeTotpCode } from '../../../users/two-factor.ts'
import { confirmSession } from '../../../users/session-confirmation.ts'
import { endSession, openSession, type SignedInUser } from '../../../users/sessions.ts'
import {
  issueOneTimeToken,
  consumeOneTimeToken,
  attemptOneTimeToken,
} from '../../../users/one-time-tokens.ts'
import { done, emailInput, passwordInput, time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { publicUrlOf } from '../../public-urls.ts'
import { buildSessionCookie, buildExpiredSessionCookie } from './session-cookie.ts'
import { serializeSession, sessionSchema } from './serialize-session.ts'
import { anyone, type ConsoleContext, type ContextWithBody } from '../context.ts'

export const signedInResponse = z.object({ status: z.literal('signed_in'), session: sessionSchema })
type SignedInResponse = z.infer<typeof signedInResponse>
/** `second_factor`: send the ticket with a code to `/sign-in/second-factor`. `signed_in` sets the cookie. */
const signInResponse = z.discriminatedUnion('status', [
  signedInResponse,
  z.object({ status: z.literal('second_factor'), ticket: z.string(), expires_at: time }),
])
export type SignInResponse = z.infer<typeof signInResponse>
const credentials = z.strictObject({ email: emailInput, password: passwordInput })
export const tokenInput = z.string().max(200)
const secondFactor = z.strictObject({ ticket: tokenInput, code: z.string().max(50) })
/** Input and output of the browser's WebAuthn functions, passed through unchanged (@simplewebauthn/browser). */
const webauthn = z.record(z.string(), z.unknown())
export const passkeyOptions = z.object({ ticket: z.string(), options: webauthn })
export const passkeyResponse = z.strictObject({ ticket: tokenInput, response: webauthn })

/** Starts a session, ends the previous one, sets the cookie and returns the new session. */
export async function startSession(
  context: ConsoleContext,
  user: User,
  method: string,
): Promise<SignedInResponse> {
  const { deps, c, ctx } = context
  const { db, config } = ctx
  const agent = c.req.header('user-agent') ?? ''
  const { address } = context
  const { session, token } = await openSession(db, user, { address, agent, method })
  const signedIn: SignedInUser = { session, user }
  // The first operator adds an upstream next, and has chosen the password a moment ago.
  if (method === 'set-up') await confirmSession(db, signedIn)
  await ctx.authThrottle.reset('sign-in-email', { id: normalizeEmail(user.email), address })
  if (context.signedIn !== null) await endSession(db, context.signedIn.user, context.signedIn.session.id)
  c.header('set-cookie', buildSessionCookie(config, token, session.expiresAt))
  return { status: 'signed_in', session: await serializeSession(deps, signedIn) }
}

/** Normalizes an address for lookups. An invalid address matches no user. */
function normalizeEmail(text: string): string {
  try {
    return cleanEmail(text).normalised
  } catch {
    return text.trim().toLowerCase()
  }
}

/** Reports an attempt whose password, code or passkey is wrong. Returns the error. */
function signInFailed({ deps, address }: ConsoleContext, method: string, error: unknown): unknown {
  if (asApiError(error).status === 401) deps.onSignInFailed(address, method)
  return error
}

async function signIn(context: ContextWithBody<typeof credentials>): Promise<SignInResponse> {
  const { ctx, body } = context
  const { db, authThrottle } = ctx
  const email = normalizeEmail(body.email)
  await authThrottle.count('sign-in-address', { address: context.address })
  await authThrottle.count('sign-in-email', { id: email, address: context.address })
  const user = await userByEmail(db, email)
  const isCorrect = await authThrottle.verifyPassword(body.password, user?.passwordHash ?? null)
  if (!isCorrect || user === undefined || user.disabledAt !== null)
    throw signInFailed(context, 'password', apiError('wrong_credentials'))
  if (!user.hasTotp) return startSession(context, user, 'password')
  const { token, expiresAt } = await issueOneTimeToken(db, { kind: 'second-factor', userId: user.id })
  return { status: 'second_factor', ticket: token, expires_at: formatTime(expiresAt) }
}

async function verifySecondFactor(context: ContextWithBody<typeof secondFactor>): Promise<SignedInResponse> {
  const { ctx, body } = context
  const { db, authThrottle, sealer } = ctx
  await authThrottle.count('sign-in-address', { address: context.address })
  const { userId } = await attemptOneTimeToken(db, body.ticket, 'second-factor')
  const user = await userById(db, userId ?? '')
  if (user === undefined || user.disabledAt !== null) throw apiError('wrong_credentials')
  const isTotpCode = await consumeTotpCode(db, user, sealer, body.code)
  if (!isTotpCode && !(await consumeRecoveryCode(db, user, body.code)))
    throw signInFailed(context, 'totp', apiError('wrong_code', { param: 'code' }))
  await consumeOneTimeToken(db, body.ticket, 'second-factor')
  return startSession(context, user, isTotpCode ? 'totp' : 'recovery-code')
}

/** The origin that a passkey belongs to: the page's, which `checkSameSite` has checked. */
export function getPageOrigin(context: ConsoleContext): string {
  return context.c.req.header('origin') ?? new URL(publicUrlOf(context.ctx.config)).origin
}

export const signInEndpoints = {
  session: anyone.get('/session', {
    response: sessionSchema,
    handle: (context) => serializeSession(context.deps, context.signedIn),
  }),
  signIn: anyone.post('/sign-in', {
    body: credentials,
    response: signInResponse,
    handle: signIn,
  }),
  /** `code`: six digits of the app, or a recovery code. The ticket is void after five wrong codes. */
  secondFactor: anyone.post('/sign-in/second-factor', {
    body: secondFactor,
    response: signedInResponse,
    handle: verifySecondFactor,
  }),
  passkeyOptions: anyone.post('/sign-in/passkey/options', {
    response: passkeyOptions,
    handle: async (context) => {
      await context.ctx.authThrottle.count('sign-in-address', { address: context.address })
      return startPasskeySignIn(context.ctx.db, { origin: getPageOrigin(context) })
    },
  }),
  passkeySignIn: anyone.post('/sign-in/passkey', {
    body: passkeyResponse,
    response: signedInResponse,
    handle: async (context) => {
      await context.ctx.authThrottle.count('sign-in-address', { address: context.address })
      const user = await userByPasskey(context.ctx.db, context.body).catch((error: unknown) => {
        throw signInFailed(context, 'passkey', error)
      })
      return startSession(context, user, 'passkey')
    },
  }),
  signOut: anyone.post('/sign-out', {
    response: done,
    endsImpersonation: true,
    handle: async ({ signedIn, ctx, c }) => {
      if (signedIn !== null) await endSession(ctx.db, signedIn.user, signedIn.session.id)
      c.header('set-cookie', buildExpiredSessionCookie(ctx.config))
      return { done: true as const }
    },
  }),
}
