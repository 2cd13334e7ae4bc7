/** A user's own settings. Changing how to sign in requires the current password. */
import { renderSVG } from 'uqr'
import { z } from 'zod'
import { cleanName, cleanRequiredName } from '../../../accounts/fields.ts'
import { serviceName } from '../../../branding/branding.ts'
import { apiError } from '../../../errors.ts'
import {
  finishPasskeyRegistration,
  startPasskeyRegistration,
  deletePasskey,
  listPasskeys,
  type Passkey as StoredPasskey,
} from '../../../users/passkeys.ts'
import { checkNewPassword } from '../../../users/password.ts'
import { updateUser } from '../../../users/users.ts'
import {
  startTotpEnrollment,
  finishTotpEnrollment,
  disableTotp,
  renewRecoveryCodes,
} from '../../../users/two-factor.ts'
import {
  deleteSessionsStatement,
  endOtherSessions,
  endSession,
  listSessions,
} from '../../../users/sessions.ts'
import { formatTime } from '../../api/json-values.ts'
import { done, language, passwordInput, time } from '../../api/json-schemas.ts'
import { confirmationEndpoints, confirmPassword } from './confirmation.ts'
import { buildExpiredSessionCookie } from './session-cookie.ts'
import { serializeSession, sessionSchema } from './serialize-session.ts'
import { getPageOrigin, passkeyOptions, passkeyResponse } from './sign-in.ts'
import { person } from '../context.ts'

const openSessionSchema = z.object({
  id: z.string(),
  /** The session of this request. */
  current: z.boolean(),
  address: z.string(),
  /** The browser's `User-Agent` header. */
  agent: z.string(),
  /** The operator impersonates an account. */
  acting: z.boolean(),
  created_at: time,
  seen_at: time,
  expires_at: time,
})
export type OpenSession = z.infer<typeof openSessionSchema>

const passkeySchema = z.object({
  id: z.string(),
  name: z.string(),
  created_at: time,
  last_used_at: time.nullable(),
})
export type Passkey = z.infer<typeof passkeySchema>

function serializePasskey({ id, name, createdAt, lastUsedAt }: StoredPasskey): Passkey {
  return { id, name, created_at: formatTime(createdAt), last_used_at: formatTime(lastUsedAt) }
}

/** `recovery_codes` are shown once. */
const recoveryCodes = z.object({ recovery_codes: z.array(z.string()) })
/** Changing how to sign in requires the password, unless the user has none. */
const passwordConfirmation = z.strictObject({ password: passwordInput.optional() })

export const profileEndpoints = {
  ...confirmationEndpoints,
  update: person.patch('/me', {
    body: z.strictObject({ name: z.string().max(200).optional(), language: language.optional() }),
    response: sessionSchema,
    handle: async ({ body, deps, authenticated, user, by }) => {
      const name = body.name === undefined ? undefined : cleanName(body.name)
      const changed = await updateUser(deps.ctx.db, user.id, { name, language: body.language }, { by })
      return serializeSession(deps, { ...authenticated, user: changed })
    },
  }),
  /** Ends all other sessions. */
  changePassword: person.post('/me/password', {
    body: z.strictObject({ current: passwordInput.optional(), password: passwordInput }),
    response: done,
    handle: async (context) => {
      const { body, ctx, user, session, by } = context
      await confirmPassword(context, body.current)
      checkNewPassword(body.password, user.email)
      const passwordHash = await ctx.authThrottle.hashOfPassword(body.password)
      const extraStatements = [deleteSessionsStatement(user.id, session.id)]
      await updateUser(ctx.db, user.id, { passwordHash }, { by, extraStatements })
      return { done: true as const }
    },
  }),
  listSessions: person.get('/me/sessions', {
    response: z.object({ data: z.array(openSessionSchema) }),
    handle: async ({ ctx, user, session }) => ({
      data: (await listSessions(ctx.db, user)).map((each) => ({
        id: each.id,
        current: each.id === session.id,
        address: each.address,
        agent: each.agent,
        acting: each.impersonatedAccount !== null,
        created_at: formatTime(each.createdAt),
        seen_at: formatTime(each.seenAt),
        expires_at: formatTime(each.expiresAt),
      })),
    }),
  }),
  endSession: person.remove('/me/sessions/{id}', {
    response: done,
    handle: async ({ ctx, user, session, c, params: { id } }) => {
      if (!(await endSession(ctx.db, user, id))) throw apiError('not_found')
      if (id === session.id) c.header('set-cookie', buildExpiredSessionCookie(ctx.config))
      return { done: true as const }
    },
  }),
  endOtherSessions: person.post('/me/sessions/end-others', {
    response: z.object({ ended: z.int() }),
    handle: async ({ ctx, authenticated }) => ({ ended: await endOtherSessions(ctx.db, authenticated) }),
  }),
  /** Takes effect when confirmed. `qr` is an SVG; `secret` is for manual entry. */
  beginTotp: person.post('/me/totp', {
    body: passwordConfirmation,
    response: z.object({ secret: z.string(), uri: z.string(), qr: z.string() }),
    handle: async (context) => {
      await confirmPassword(context, context.body.password)
      const { ctx, user } = context
      const service = serviceName(ctx.branding.current)
      const { secret, uri } = await startTotpEnrollment(ctx.db, user, { sealer: ctx.sealer, service })
      return { secret, uri, qr: renderSVG(uri, { border: 2 }) }
    },
  }),
  confirmTotp: person.post('/me/totp/confirm', {
    body: z.strictObject({ code: z.string().max(20) }),
    response: recoveryCodes,
    handle: async ({ ctx, user, body }) => {
      await ctx.authThrottle.count('proof-person', { id: user.id })
      const { sealer } = ctx
      return { recovery_codes: await finishTotpEnrollment(ctx.db, user, { sealer, code: body.code }) }
    },
  }),
  endTotp: person.post('/me/totp/end', {
    body: passwordConfirmation,
    response: done,
    handle: async (context) => {
      await confirmPassword(context, context.body.password)
      await disableTotp(context.ctx.db, context.user)
      return { done: true as const }
    },
  }),
  renewRecoveryCodes: person.post('/me/recovery-codes', {
    body: passwordConfirmation,
    response: recoveryCodes,
    handle: async (context) => {
      await confirmPassword(context, context.body.password)
      return { recovery_codes: await renewRecoveryCodes(context.ctx.db, context.user) }
    },
  }),
  listPasskeys: person.get('/me/passkeys', {
    response: z.object({ data: z.array(passkeySchema) }),
    handle: async ({ ctx, user }) => ({ data: (await listPasskeys(ctx.db, user.id)).map(serializePasskey) }),
  }),
  passkeyOptions: person.post('/me/passkeys/options', {
    body: passwordConfirmation,
    response: passkeyOptions,
    handle: async (context) => {
      await confirmPassword(context, context.body.password)
      const { ctx, user } = context
      const relyingParty = { origin: getPageOrigin(context), name: serviceName(ctx.branding.current) }
      return startPasskeyRegistration(ctx.db, user, relyingParty)
    },
  }),
  createPasskey: person.post('/me/passkeys', {
    body: passkeyResponse.extend({ name: z.string().max(200) }),
    response: passkeySchema,
    handle: async ({ ctx, user, body }) => {
      const name = cleanRequiredName(body.name)
      return serializePasskey(await finishPasskeyRegistration(ctx.db, user, { ...body, name }))
    },
  }),
  deletePasskey: person.remove('/me/passkeys/{id}', {
    response: done,
    handle: async ({ ctx, user, params }) => {
      if (!(await deletePasskey(ctx.db, user, params.id))) throw apiError('not_found')
      return { done: true as const }
    },
  }),
}
