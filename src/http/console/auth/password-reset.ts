/** Password reset by a one-time link: by e-mail if it is configured, otherwise from an operator. */
import { z } from 'zod'
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
import { done, emailInput, passwordInput } from '../../api/json-schemas.ts'
import { sendEmail, anyone } from '../context.ts'
import { tokenInput } from './sign-in.ts'

export const passwordResetEndpoints = {
  /** Always `done`, whether the user exists or not. 404 if e-mail is not configured. */
  requestPasswordReset: anyone.post('/password-reset', {
    body: z.strictObject({ email: emailInput }),
    response: done,
    handle: async ({ ctx, deps, body, address }) => {
      const { db, authThrottle, config } = ctx
      if (deps.emailSender === null)
        throw apiError('not_found', { message: 'E-mail is not configured. Ask an operator for a link.' })
      const { normalised } = cleanEmail(body.email)
      await authThrottle.count('mail-address', { address })
      await authThrottle.count('mail-email', { id: normalised })
      const user = await userByEmail(db, normalised)
      if (user === undefined || user.disabledAt !== null) return { done: true as const }
      const input = { kind: 'reset-password', userId: user.id, replacesOthers: true } as const
      const { token } = await issueOneTimeToken(db, input)
      const link = consoleLink(config, 'reset-password', token)
      sendEmail(
        deps,
        { to: user.email, ...renderEmail('reset-password', user.language, link) },
        user.language,
      )
      return { done: true as const }
    },
  }),
  /** Ends all sessions of the user. */
  resetPassword: anyone.post('/password-reset/confirm', {
    body: z.strictObject({ token: tokenInput, password: passwordInput }),
    response: done,
    handle: async ({ ctx, body, address }) => {
      const { db, authThrottle } = ctx
      await authThrottle.count('link-address', { address })
      const token = await findOneTimeToken(db, body.token, 'reset-password', 'access')
      const user = await userById(db, token.userId ?? '')
      if (user === undefined) throw apiError('link_invalid')
      const { id } = user
      checkNewPassword(body.password, user.email)
      const passwordHash = await authThrottle.hashOfPassword(body.password)
      const { kind, detail } = await consumeOneTimeToken(db, body.token, 'reset-password', 'access')
      const extraStatements = [deleteSessionsStatement(id)]
      if (detail['forgetSecondFactor'] === true)
        extraStatements.push(...disableTotpStatements(id), deletePasskeysStatement(id))
      // A link that arrived by e-mail proves the address; a link from an operator does not.
      const isVerified = kind === 'reset-password' ? true : undefined
      await updateUser(db, id, { passwordHash, isVerified }, { by: actorOf(user), extraStatements })
      return { done: true as const }
    },
  }),
}
