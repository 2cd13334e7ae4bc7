/** A user's own settings. Changing how to sign in requires the current password. */
import { renderSVG } from 'uqr'
import { cleanName, cleanRequiredName } from '../../../accounts/fields.ts'
import { apiError } from '../../../errors.ts'
import {
  finishPasskeyRegistration,
  startPasskeyRegistration,
  deletePasskey,
  listPasskeys,
  type Passkey,
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
import { profileContract } from '../contract/profile.ts'
import { confirmPassword } from './confirmation.ts'
import { buildExpiredSessionCookie } from './session-cookie.ts'
import { serializeSession } from './serialize-session.ts'
import { getPageOrigin } from './sign-in.ts'
import { endpoint, type Endpoint, type ConsoleContext } from '../context.ts'

const done = { done: true } as const

async function updateProfile(context: ConsoleContext<typeof profileContract.update>) {
  const { body, deps, authenticated, user, by } = context
  const name = body.name === undefined ? undefined : cleanName(body.name)
  const changed = await updateUser(deps.ctx.db, user.id, { name, language: body.language }, { by })
  return serializeSession(deps, { ...authenticated, user: changed })
}

async function changePassword(context: ConsoleContext<typeof profileContract.changePassword>) {
  const { body, ctx, user, session, by } = context
  await confirmPassword(context, body.current)
  checkNewPassword(body.password, user.email)
  const passwordHash = await ctx.authThrottle.hashOfPassword(body.password)
  const extraStatements = [deleteSessionsStatement(user.id, session.id)]
  await updateUser(ctx.db, user.id, { passwordHash }, { by, extraStatements })
  return done
}

async function listOpenSessions({ ctx, user, session }: ConsoleContext) {
  const open = await listSessions(ctx.db, user)
  return {
    data: open.map((openSession) => ({
      id: openSession.id,
      current: openSession.id === session.id,
      address: openSession.address,
      agent: openSession.agent,
      acting: openSession.impersonatedAccount !== null,
      created_at: formatTime(openSession.createdAt),
      seen_at: formatTime(openSession.seenAt),
      expires_at: formatTime(openSession.expiresAt),
    })),
  }
}

async function endSessionById(context: ConsoleContext) {
  const { ctx, user, session, c } = context
  const id = context.param('id')
  if (!(await endSession(ctx.db, user, id))) throw apiError('not_found')
  if (id === session.id) c.header('set-cookie', buildExpiredSessionCookie(ctx.config))
  return done
}

function serializePasskey({ id, name, createdAt, lastUsedAt }: Passkey) {
  return { id, name, created_at: formatTime(createdAt), last_used_at: formatTime(lastUsedAt) }
}

const secondFactorEndpoints: readonly Endpoint[] = [
  endpoint(profileContract.beginTotp, async (context) => {
    await confirmPassword(context, context.body.password)
    const { secret, uri } = await startTotpEnrollment(context.ctx.db, context.user, context.ctx.sealer)
    return { secret, uri, qr: renderSVG(uri, { border: 2 }) }
  }),
  endpoint(profileContract.confirmTotp, async ({ ctx, user, body }) => {
    await ctx.authThrottle.count('proof-person', { id: user.id })
    const { sealer } = ctx
    return { recovery_codes: await finishTotpEnrollment(ctx.db, user, { sealer, code: body.code }) }
  }),
  endpoint(profileContract.endTotp, async (context) => {
    await confirmPassword(context, context.body.password)
    await disableTotp(context.ctx.db, context.user)
    return done
  }),
  endpoint(profileContract.renewRecoveryCodes, async (context) => {
    await confirmPassword(context, context.body.password)
    return { recovery_codes: await renewRecoveryCodes(context.ctx.db, context.user) }
  }),
]

const passkeyEndpoints: readonly Endpoint[] = [
  endpoint(profileContract.listPasskeys, async ({ ctx, user }) => {
    return { data: (await listPasskeys(ctx.db, user.id)).map(serializePasskey) }
  }),
  endpoint(profileContract.passkeyOptions, async (context) => {
    await confirmPassword(context, context.body.password)
    return startPasskeyRegistration(context.ctx.db, context.user, { origin: getPageOrigin(context) })
  }),
  endpoint(profileContract.createPasskey, async ({ ctx, user, body }) => {
    const { ticket, response } = body
    const name = cleanRequiredName(body.name)
    return serializePasskey(await finishPasskeyRegistration(ctx.db, user, { ticket, response, name }))
  }),
  endpoint(profileContract.deletePasskey, async (context) => {
    if (!(await deletePasskey(context.ctx.db, context.user, context.param('id')))) throw apiError('not_found')
    return done
  }),
]

export const profileEndpoints: readonly Endpoint[] = [
  endpoint(profileContract.update, updateProfile),
  endpoint(profileContract.changePassword, changePassword),
  endpoint(profileContract.listSessions, listOpenSessions),
  endpoint(profileContract.endSession, endSessionById),
  endpoint(profileContract.endOtherSessions, async ({ ctx, authenticated }) => ({
    ended: await endOtherSessions(ctx.db, authenticated),
  })),
  ...secondFactorEndpoints,
  ...passkeyEndpoints,
]
