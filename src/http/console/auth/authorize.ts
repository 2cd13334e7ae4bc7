/** Who may call an endpoint with a session: checked on every request, before its input is read. */
import type { Config } from '../../../config.ts'
import { apiError } from '../../../errors.ts'
import { actorOf } from '../../../users/users.ts'
import { userBySessionToken, type SignedInUser } from '../../../users/sessions.ts'
import type { Audience, Endpoint } from '../../api/endpoint.ts'
import type { AppContext } from '../../app-context.ts'
import { readSessionToken } from './session-cookie.ts'

/** A request as far as it shows where it comes from. */
export interface RequestOrigin {
  readonly method: string
  header(name: 'origin' | 'sec-fetch-site' | 'host' | 'cookie'): string | undefined
}

export function isRead({ method }: Pick<RequestOrigin, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD'
}

function isOwnOrigin(config: Config, origin: string, host: string | undefined): boolean {
  if (config.publicUrl !== null && origin === new URL(config.publicUrl).origin) return true
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

/**
 * Protection against cross-site request forgery: requests that change something must come from the console's own pages,
 * as `Sec-Fetch-Site` and `Origin` show. The cookie's SameSite attribute is the first defence; this is the second, and
 * the only one for sign-in itself. Throws 403 for cross-site requests, and for changes without any origin header.
 */
export function checkSameSite(config: Config, request: RequestOrigin): void {
  const site = request.header('sec-fetch-site')
  const origin = request.header('origin')
  const isReading = isRead(request)
  if (site !== undefined && site !== 'same-origin' && !(isReading && site === 'none'))
    throw apiError('cross_site')
  if (origin !== undefined && !isOwnOrigin(config, origin, request.header('host')))
    throw apiError('cross_site')
  if (!isReading && site === undefined && origin === undefined) throw apiError('cross_site')
}

/** The account whose pages a user sees: their own, or the one that an operator impersonates. */
export function getActiveAccountId({ user, session }: SignedInUser): string | null {
  return user.role === 'operator' && session.impersonatedAccount !== null
    ? session.impersonatedAccount
    : user.accountId
}

/** The actor as the audit log names it, including the impersonated account. */
export function getAuditActor(signedIn: SignedInUser): string {
  const actor = actorOf(signedIn.user)
  return signedIn.session.impersonatedAccount === null
    ? actor
    : `${actor} as ${signedIn.session.impersonatedAccount}`
}

/** Finds the session of a `Cookie` header. */
export async function sessionFromCookie(
  { config, db }: Pick<AppContext, 'config' | 'db'>,
  cookies: string | undefined,
): Promise<SignedInUser | null> {
  const token = readSessionToken(config, cookies)
  return token === undefined || token === '' ? null : ((await userBySessionToken(db, token)) ?? null)
}

/** Throws 401 if nobody is signed in, and 403 if the user has no access. */
function checkAudience(audience: Audience, signedIn: SignedInUser | null): void {
  if (audience === 'anyone') return
  if (signedIn === null) throw apiError('session_required')
  if (audience === 'operator' && signedIn.user.role !== 'operator') throw apiError('operators_only')
  if (audience === 'customer' && getActiveAccountId(signedIn) === null) throw apiError('no_account')
}

/** Counts a request that changes something. Throws 429 if the sessions of an account have made too many; operators may. */
export async function countWrite(
  { authThrottle }: Pick<AppContext, 'authThrottle'>,
  { user }: SignedInUser,
): Promise<void> {
  if (user.role === 'operator') return
  await authThrottle.count('session-write', { id: user.accountId ?? user.id })
}

/** Checks the origin, the session and the access. Null: not signed in, where anyone has access. */
export async function authorize(
  ctx: AppContext,
  { audience, endsImpersonation }: Pick<Endpoint, 'audience' | 'endsImpersonation'>,
  request: RequestOrigin,
): Promise<SignedInUser | null> {
  checkSameSite(ctx.config, request)
  const signedIn = await sessionFromCookie(ctx, request.header('cookie'))
  checkAudience(audience, signedIn)
  const isImpersonating = signedIn !== null && signedIn.session.impersonatedAccount !== null
  if (isImpersonating && !isRead(request) && !endsImpersonation) {
    const message =
      'You cannot change anything while you impersonate an account. End the impersonation first.'
    throw apiError('permission_denied', { message })
  }
  return signedIn
}
