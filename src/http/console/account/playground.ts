/**
 * Authenticates the chat requests of the console's playground by session instead of API key. They run with the account's
 * console key, whose secret nobody has, so checks and charges are those of any other caller.
 */
import { consoleKeyId, ensureConsoleKey } from '../../../accounts/console-key.ts'
import type { Caller } from '../../../accounts/directory.ts'
import { apiError } from '../../../errors.ts'
import { userBySessionToken } from '../../../users/sessions.ts'
import type { IncomingRequest } from '../../incoming-request.ts'
import type { AppContext } from '../../app-context.ts'
import { readSessionToken } from '../auth/session-cookie.ts'
import { checkSameSite } from '../auth/csrf.ts'

/** Throws 401 and 403 like other console endpoints. An operator who impersonates an account cannot spend its money. */
export async function authenticateBySession(ctx: AppContext, request: IncomingRequest): Promise<Caller> {
  const { config, db, directory } = ctx
  checkSameSite(config, { method: request.method, header: (name) => request.header(name) })
  const token = readSessionToken(config, request.header('cookie'))
  const signedIn = token === undefined ? undefined : await userBySessionToken(db, token)
  if (signedIn === undefined) throw apiError('session_required')
  const { user, session } = signedIn
  if (session.impersonatedAccount !== null) {
    throw apiError('permission_denied', {
      message: 'You cannot spend the money of an account that you impersonate.',
    })
  }
  if (user.accountId === null) throw apiError('no_account')
  const existing = directory.callerByKeyId(consoleKeyId(user.accountId))
  if (existing !== undefined) return existing
  const { value, changes } = await ensureConsoleKey(db, user.accountId)
  await ctx.publishChanges(changes)
  const caller = directory.callerByKeyId(value)
  if (caller === undefined) throw apiError('no_account')
  return caller
}
