/** Proving again who the user is: with each change of how to sign in, or once for a few minutes of a session. */
import { z } from 'zod'
import { apiError } from '../../../errors.ts'
import { userByPasskey } from '../../../users/passkeys.ts'
import { confirmSession, isConfirmed } from '../../../users/session-confirmation.ts'
import { formatTime } from '../../api/json-values.ts'
import { passwordInput, time } from '../../api/json-schemas.ts'
import { passkeyResponse } from './sign-in.ts'
import { person, type ConsoleContext } from '../context.ts'

/** Throws 401 for a wrong password. A user without a password (invited by link, or passkey only) needs none. */
export async function confirmPassword(context: ConsoleContext, password: string | undefined): Promise<void> {
  const { user, ctx } = context
  await ctx.authThrottle.count('proof-person', { id: user.id })
  if (user.passwordHash === null) return
  if (!(await ctx.authThrottle.verifyPassword(password ?? '', user.passwordHash))) {
    throw apiError('wrong_credentials', { param: 'password', message: 'Incorrect password.' })
  }
  await ctx.authThrottle.reset('proof-person', { id: user.id })
}

export const confirmationEndpoints = {
  /** Whether this session may do what needs a confirmation, before a page navigates to it; else 403 `password_required`. */
  confirmed: person.get('/me/confirmation', {
    response: z.object({ confirmed: z.literal(true) }),
    async handle({ ctx, session }) {
      if (!(await isConfirmed(ctx.db, session, Date.now()))) throw apiError('password_required')
      return { confirmed: true as const }
    },
  }),
  /** Until `expires_at`, this session may do what is rejected with `password_required`. By password or passkey. */
  confirm: person.post('/me/confirm', {
    body: z.union([z.strictObject({ password: passwordInput }), passkeyResponse]),
    response: z.object({ expires_at: time }),
    handle: async (context) => {
      const { ctx, body, user, authenticated } = context
      if ('ticket' in body) {
        await ctx.authThrottle.count('proof-person', { id: user.id })
        const owner = await userByPasskey(ctx.db, body)
        if (owner.id !== user.id)
          throw apiError('wrong_credentials', { message: 'This passkey belongs to another user.' })
        await ctx.authThrottle.reset('proof-person', { id: user.id })
      } else if (user.passwordHash === null) {
        const message = 'You have no password. Use a passkey, or set a password in your profile first.'
        throw apiError('wrong_credentials', { param: 'password', message })
      } else await confirmPassword(context, body.password)
      return { expires_at: formatTime(await confirmSession(ctx.db, authenticated)) }
    },
  }),
}
