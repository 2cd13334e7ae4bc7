/** Admission: holds money for a request, replays the response of a repeated request, or rejects the request. */
import { apiError } from '../errors.ts'
import type { StoredResponse } from '../usage/stored-responses.ts'
import type { RelayRequest, RelayDeps } from './relay-request.ts'
import type { HoldRequest, HoldGranted } from './ledger-client.ts'
import { inputEstimateForHold } from './request/token-estimate.ts'
import type { ResponseWriter } from './response-writer.ts'
import { storedBody, holdWithClaim } from './idempotency.ts'
import { rateLimitHeaders } from './rate-headers.ts'
import { replay } from './streaming/response-capture.ts'

/**
 * Sends a stored response again. Nothing is sent upstream, held or charged. Throws an `ApiError` if it was not stored, or
 * if the key has had too many replays.
 */
export async function replayResponse(
  deps: RelayDeps,
  relayRequest: RelayRequest,
  writer: ResponseWriter,
  stored: StoredResponse,
): Promise<void> {
  const { id, caller, claim, commonHeaders, progress, request } = relayRequest
  if (!claim) throw new Error('Only a request with an Idempotency-Key can be replayed.')
  const body = storedBody(stored, claim)
  await deps.ledger.takeReplay(id, caller.keyId)
  progress.isAdmitted = true
  for (const [index, value] of commonHeaders.entries()) {
    if (value === id) commonHeaders[index] = stored.requestId
  }
  replay(body, writer, {
    cost: stored.cost,
    format: request.format,
    headers: ['idempotent-replayed', 'true'],
  })
  deps.onReplay(relayRequest, stored.requestId)
}

/** Throws an `ApiError` if the request is rejected. `StoredResponse`: of the first request with its key. */
export async function admit(
  deps: RelayDeps,
  relayRequest: RelayRequest,
): Promise<HoldGranted | StoredResponse> {
  const { request, model, caller, claim } = relayRequest
  const holdRequest: HoldRequest = {
    id: relayRequest.id,
    keyId: caller.keyId,
    model: model.id,
    inputTokens: inputEstimateForHold(request.bytes, request.embedded),
    results: request.n,
    requestedTokens: request.maxOutputTokens,
    stream: request.stream,
  }
  const response = claim
    ? await holdWithClaim(deps, caller.accountId, holdRequest, claim)
    : await deps.ledger.hold(holdRequest)
  if ('requestId' in response) return response
  if (response.rates) relayRequest.headers.push(...rateLimitHeaders(response.rates))
  if (!response.granted) throw apiError(response.code, response.detail)
  return response
}
