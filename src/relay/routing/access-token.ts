/**
 * Access tokens for providers that need one. There is one per credential: the first request that needs it fetches it,
 * and it is cached until shortly before it expires or until the provider rejects it.
 */
import type { UpstreamCall, TokenRequest } from '../../providers/provider.ts'
import type { AttemptDeps } from '../request-context.ts'
import type { AttemptCall } from './attempt-call.ts'
import { sendAuxiliaryRequest } from './auxiliary-request.ts'
import { UpstreamCallError } from './upstream-transport.ts'
import { upstreamError, upstreamErrorFromResponse } from './upstream-error.ts'

interface AccessToken {
  readonly token: string
  readonly lifetimeMs: number
}

interface CachedToken {
  readonly token: Promise<AccessToken>
  /** Milliseconds since the epoch; Infinity while the token is being fetched. */
  expiresAtMs: number
}

/** By credential. The token of a credential that was replaced is removed when it expires. */
const tokens = new Map<string, CachedToken>()
const maxResponseBytes = 65_536
/** A token is not used in its last minute, so that it does not expire during a call. */
const expiryMarginMs = 60_000

/** The token for a call; `null` if the credential needs none. Rejects with what `upstreamErrorFromException` reads. */
export async function getAccessToken(deps: AttemptDeps, call: AttemptCall): Promise<string | null> {
  const now = deps.now()
  const cached = tokens.get(call.credential)
  if (cached && cached.expiresAtMs > now) return (await cached.token).token
  const tokenRequest = call.provider.buildTokenRequest?.(call)
  if (!tokenRequest) return null
  for (const [credential, { expiresAtMs }] of tokens) if (expiresAtMs <= now) tokens.delete(credential)
  const created: CachedToken = { token: requestToken(tokenRequest, deps, call), expiresAtMs: Infinity }
  tokens.set(call.credential, created)
  try {
    const { token, lifetimeMs } = await created.token
    created.expiresAtMs = now + lifetimeMs - expiryMarginMs
    return token
  } catch (error) {
    if (tokens.get(call.credential) === created) tokens.delete(call.credential)
    throw error
  }
}

/** Call when the provider rejects the token: the next call fetches a new one. */
export function discardAccessToken(call: UpstreamCall): void {
  tokens.delete(call.credential)
}

async function requestToken(
  tokenRequest: TokenRequest,
  deps: AttemptDeps,
  { credential, timeouts, proxy }: AttemptCall,
): Promise<AccessToken> {
  const request = { ...tokenRequest.request, method: 'POST', maxBytes: maxResponseBytes } as const
  const response = await sendAuxiliaryRequest(deps.client, request, { timeouts, proxy })
  if (response.status !== 200) {
    const error = upstreamErrorFromResponse({ ...response, errorType: null }, { credential, now: deps.now() })
    // The caller has no part in this request: if it is invalid, the credential is.
    const kind = error.kind === 'request' || error.kind === 'missing' ? 'credential' : error.kind
    throw new UpstreamCallError({ ...error, kind })
  }
  try {
    return tokenRequest.parseToken(JSON.parse(response.bytes.toString('utf8')))
  } catch {
    throw new UpstreamCallError(upstreamError('garbage', 'The provider sent no access token.', 200))
  }
}
