/** Password reset by a one-time link: by e-mail if it is configured, otherwise from an operator. */
import { cleanEmail } from '../../../accounts/fields.ts'
import { apiError } from '../../../errors.ts'
import { renderEmail } from '../../../users/emails.ts'
import { deletePasskeysStatement } from '../../../users/passkeys.ts'
import { checkNewPassword } from '../../../users/password.ts'
import { actorOf, userByEmail, userById, updateUser } from '../../../users/users.ts'
import { disableTotpStatements } from '../../../users/two-factor.ts'
import { deleteSessionsStatement } from '../../../users/sessions.ts'
import { issueOneTimeToken, consumeOneTimeToken, findOneTimeToken } from '../../../users/one-time-tokens.ts'
import { consoleLink } from '../../public-urls.ts'
import { authContract } from '../contract/auth.ts'
import { sendEmail, endpoint, type Endpoint, type ConsoleContext } from '../context.ts'

async function requestReset(
  context: ConsoleContext<typeof authContract.requestPasswordReset>,
): Promise<{ done: true }> {
  const { ctx, deps, body } = context
  const { db, authThrottle, config } = ctx
  if (deps.emailSender === null)
    throw apiError('not_found', { message: 'E-mail is not configured. Ask an operator for a link.' })
  const { normalised } = cleanEmail(body.email)
  await authThrottle.count('mail-address', { address: context.address })
  await authThrottle.count('mail-email', { id: normalised })
  const user = await userByEmail(db, normalised)
  if (user === undefined || user.disabledAt !== null) return { done: true }
  const { token } = await issueOneTimeToken(db, {
    kind: 'reset-password',
    userId: user.id,
    replacesOthers: true,
  })
  const link = consoleLink(config, 'reset-password', token)
  sendEmail(deps, { to: user.email, ...renderEmail('reset-password', user.language, link) })
  return { done: true }
}

async function resetPassword(
  context: ConsoleContext<typeof authContract.resetPassword>,
): Promise<{ done: true }> {
  const { ctx, body } = context
  const { db, authThrottle } = ctx
  await authThrottle.count('link-address', { address: context.address })
  const token = await findOneTimeToken(db, body.token, 'reset-password', 'access')
  const user = await userById(db, token.userId ?? '')
  if (user === undefined) throw apiError('link_invalid')
  checkNewPassword(body.password, user.email)
  const passwordHash = await authThrottle.hashOfPassword(body.password)
  const { kind, detail } = await consumeOneTimeToken(db, body.token, 'reset-password', 'access')
  const removesSecondFactor = detail['forgetSecondFactor'] === true
  // A link that arrived by e-mail proves the address; a link from an operator does not.
  const isVerified = kind === 'reset-password' ? true : undefined
  await updateUser(
    db,
    user.id,
    { passwordHash, isVerified },
    {
      by: actorOf(user),
      extraStatements: [
        deleteSessionsStatement(user.id),
        ...(removesSecondFactor ? [...disableTotpStatements(user.id), deletePasskeysStatement(user.id)] : []),
      ],
    },
  )
  return { done: true }
}

export const passwordResetEndpoints: readonly Endpoint[] = [
  endpoint(authContract.requestPasswordReset, requestReset),
  endpoint(authContract.resetPassword, resetPassword),
]
