/**
 * `Idempotency-Key` on every POST of the admin API: for 24 hours, the same administrator gets the response of the first
 * call with the key, and the call takes effect once. The key is claimed before the call begins. A call that was rejected
 * (4xx) frees its key, and so does one that reached no payment provider (it may be repeated); after any other failure, and after a crash, nobody knows whether it took effect, so it is not
 * executed again.
 */
import type { Context, MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Query } from '../../db/db.ts'
import {
  claimCallStatement,
  releaseCallStatement,
  storeResponseStatement,
  type IdempotentCall,
} from '../../db/idempotent-calls.ts'
import { apiError, asApiError, type ApiError } from '../../errors.ts'
import { createClaim, headerName, requireSameBody } from '../../relay/idempotency.ts'
import { StoredResponses, type StoredResponse } from '../../usage/stored-responses.ts'
import { formatTime } from '../api/json-values.ts'
import type { AppContext } from '../app-context.ts'
import type { AdminEnv } from './admin-context.ts'

/** A call without a response has failed by then, or its process was killed. */
const inProgressMs = 60_000

/** A response as it is sealed. Its other headers are those of every response. */
interface Recorded {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** What is known of a call is its first request: nothing says whether it took effect. */
function outcomeUnknown({ requestId, at }: StoredResponse): ApiError {
  const message = `Request ${requestId} with this ${headerName}, received at ${formatTime(at)}, did not complete and may have taken effect. It is not executed again: check, then use a new key.`
  return apiError('idempotency_conflict', { message, final: true })
}

function stillInProgress({ requestId, at }: StoredResponse): ApiError {
  const message = `Request ${requestId} with this ${headerName}, received at ${formatTime(at)}, is still in progress, or was interrupted a moment ago.`
  return apiError('idempotency_conflict', { message, retryAfterMs: 1000 })
}

/** Throws 409 if the first call has not completed. */
function replay(c: Context, first: StoredResponse): Response {
  const { requestId, at, response } = first
  if (response === null) throw Date.now() - at < inProgressMs ? stillInProgress(first) : outcomeUnknown(first)
  const { status, type, body } = JSON.parse(response.toString()) as Recorded
  if (status >= 500) throw outcomeUnknown(first)
  c.header('x-request-id', requestId)
  c.header('idempotent-replayed', 'true')
  return c.body(body, status as ContentfulStatusCode, { 'content-type': type })
}

/** `onError` receives what prevented the end of a call from being stored; the caller gets the response nevertheless. */
export function idempotentPosts(
  { db, sealer }: Pick<AppContext, 'db' | 'sealer'>,
  onError: (error: unknown, requestId: string) => void,
): MiddlewareHandler<AdminEnv> {
  const storedResponses = new StoredResponses(db, sealer)

  /** Claims the key of a call. Returns the first call with the key if there is one. */
  async function claim(call: Omit<IdempotentCall, 'at'>): Promise<StoredResponse | null> {
    for (;;) {
      // A key that has just expired for the search below has also expired for the next claim.
      const [claimed] = await db.write(claimCallStatement({ ...call, at: Date.now() }))
      if (claimed?.changes === 1) return null
      const first = await storedResponses.find(call.administrator, call.keyHash)
      if (first !== undefined) return first
    }
  }

  async function end(requestId: string, statement: Query): Promise<void> {
    try {
      await db.write(statement)
    } catch (error) {
      onError(error, requestId)
    }
  }

  return async (c, next) => {
    const key = c.req.method === 'POST' ? c.req.header(headerName) : undefined
    if (key === undefined) return next()
    const { pathname, search } = new URL(c.req.url)
    const { key: keyHash, body: bodyHash } = createClaim(
      key,
      pathname + search,
      Buffer.from(await c.req.arrayBuffer()),
    )
    const requestId = c.res.headers.get('x-request-id') ?? ''
    const { by, session } = c.var.caller
    const call = { administrator: session?.userId ?? by, keyHash, bodyHash, requestId }
    const first = await claim(call)
    if (first !== null) {
      requireSameBody(first, bodyHash)
      return replay(c, first)
    }
    await next()
    const { status } = c.res
    const mayRepeat = c.error !== undefined && asApiError(c.error).code === 'payment_unavailable'
    if (mayRepeat || (status >= 400 && status < 500)) return end(requestId, releaseCallStatement(call))
    const type = c.res.headers.get('content-type') ?? 'application/json'
    const recorded: Recorded = { status, type, body: await c.res.clone().text() }
    const sealed = storedResponses.seal(Buffer.from(JSON.stringify(recorded)), requestId)
    return end(requestId, storeResponseStatement(call, sealed))
  }
}
