/**
 * Idempotency: a request with the same `Idempotency-Key` and body within 24 hours gets the response of the first one
 * and is not charged again. The hold claims the key in the same step; the settlement stores the response.
 */
import { createHash } from 'node:crypto'
import { apiError } from '../errors.ts'
import type { IdempotencyClaim } from '../ledger/events.ts'
import type { StoredResponse } from '../usage/stored-responses.ts'
import type { HoldResponse, HoldRequest } from './ledger-client.ts'
import type { DrainBounds, RelayDeps } from './request-context.ts'

export const headerName = 'Idempotency-Key'
/** 1 to 255 visible ASCII characters. */
const validKey = /^[\x21-\x7e]{1,255}$/

/** A response that the caller may request again is read to its end, however many tokens it has. */
export const idempotentDrain: DrainBounds = { tokens: Infinity, ms: 600_000 }

const digest = (...bytes: (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const piece of bytes) hash.update(piece)
  return hash.digest('base64url')
}

/** The claim of a request. `path` and `body`: as received; `/v1` does not count. Throws 400 naming the header. */
export function createClaim(key: string, path: string, body: Buffer): IdempotencyClaim {
  if (!validKey.test(key)) {
    const message = `${headerName} must be 1 to 255 visible ASCII characters.`
    throw apiError('invalid_request', { param: headerName, message })
  }
  return { key: digest(key), body: digest(path.replace(/^\/v1/, ''), body) }
}

/** Claims the key together with a hold, or finds the response of the first request with the key. */
export async function holdWithClaim(
  { ledger, storedResponses }: RelayDeps,
  account: string,
  request: HoldRequest,
  claim: IdempotencyClaim,
): Promise<HoldResponse | StoredResponse> {
  let seenCommit = ledger.lastDurableCommit
  for (;;) {
    const stored = await storedResponses.find(account, claim.key)
    if (stored) return stored
    const response = await ledger.hold({ ...request, claim: { ...claim, seenCommit } })
    if (response.granted || response.retryAfterCommit === undefined) return response
    seenCommit = response.retryAfterCommit
  }
}

/** Throws 422 unless this is the hash of the body of the first request with the key. */
export function requireSameBody({ requestId, body }: StoredResponse, bodyHash: string): void {
  if (body === bodyHash) return
  const message = `This ${headerName} was used by request ${requestId} with a different body. Use a new key.`
  throw apiError('idempotency_key_reused', { message })
}

/** The response to replay. Throws 422 if the body differs, 409 if the response was not stored. */
export function storedBody(stored: StoredResponse, claim: IdempotencyClaim): Buffer {
  requireSameBody(stored, claim.body)
  const { requestId, response } = stored
  if (response) return response
  const message = `Request ${requestId} with this ${headerName} was charged, but its response cannot be replayed: it was truncated or is larger than 1 MiB.`
  throw apiError('idempotency_conflict', { message, final: true })
}
