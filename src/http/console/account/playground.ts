/**
 * Authenticates the chat requests of the console's playground by session instead of API key. They run with the account's
 * console key, whose secret nobody has, so checks and charges are those of any other caller.
 */
import { consoleKeyId, ensureConsoleKey } from '../../../accounts/console-key.ts'
import type { Caller } from '../../../accounts/directory.ts'
import { apiError } from '../../../errors.ts'
import type { AppContext } from '../../app-context.ts'
import { authorize, getActiveAccountId, type RequestOrigin } from '../auth/authorize.ts'

/**
 * Requests and responses are those of `/v1/chat/completions`, including streams, but charged to the account of the
 * session. Non-streaming responses carry `x-request-id` and `x-sluice-cost`.
 */
export const playgroundPath = '/api/console/chat/completions'

/** Throws 401 and 403 like other console endpoints. */
export async function authenticateBySession(ctx: AppContext, request: RequestOrigin): Promise<Caller> {
  const { db, directory } = ctx
  const signedIn = await authorize(ctx, { audience: 'customer', endsImpersonation: false }, request)
  const accountId = signedIn && getActiveAccountId(signedIn)
  if (accountId === null) throw apiError('no_account')
  const existing = directory.callerByKeyId(consoleKeyId(accountId))
  if (existing !== undefined) return existing
  const { value, changes } = await ensureConsoleKey(db, accountId)
  await ctx.publishChanges(changes)
  const caller = directory.callerByKeyId(value)
  if (caller === undefined) throw apiError('no_account')
  return caller
}
