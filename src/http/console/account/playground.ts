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
import { playgroundPath } from '../contract/account.ts'
import { readSessionToken } from '../auth/session-cookie.ts'
import { checkSameSite } from '../auth/csrf.ts'
import { rejectWhileImpersonating } from '../auth/read-only-impersonation.ts'

/** Throws 401 and 403 like other console endpoints. */
export async function authenticateBySession(ctx: AppContext, request: IncomingRequest): Promise<Caller> {
  const { config, db, directory } = ctx
  checkSameSite(config, { method: request.method, header: (name) => request.header(name) })
  const token = readSessionToken(config, request.header('cookie'))
  const signedIn = token === undefined ? undefined : await userBySessionToken(db, token)
  if (signedIn === undefined) throw apiError('session_required')
  const { user, session } = signedIn
  rejectWhileImpersonating(session, { method: request.method, path: playgroundPath })
  if (user.accountId === null) throw apiError('no_account')
  const existing = directory.callerByKeyId(consoleKeyId(user.accountId))
  if (existing !== undefined) return existing
  const { value, changes } = await ensureConsoleKey(db, user.accountId)
  await ctx.publishChanges(changes)
  const caller = directory.callerByKeyId(value)
  if (caller === undefined) throw apiError('no_account')
  return caller
}
