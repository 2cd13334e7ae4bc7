/** Admission: holds money for a request, replays the response of a repeated request, or rejects the request. */
import { factsOf } from '../catalog/operations.ts'
import { apiError } from '../errors.ts'
import type { StoredResponse } from '../usage/stored-responses.ts'
import type { RelayContext, RelayDeps } from './request-context.ts'
import type { HoldGranted, HoldRequest, HoldResponse } from './ledger-client.ts'
import { holdTerms } from './hold-terms.ts'
import { inputTokensToHold } from './request/input-bound.ts'
import { storedBody, holdWithClaim } from './idempotency.ts'
import { rateLimitHeaders } from './rate-headers.ts'
import { searchesToHold } from './searches-to-hold.ts'
import { sentMaximumField } from '../providers/openai/maximum-field.ts'
import { providerFor } from '../providers/openai/spoken-apis.ts'
import { rejectsChat } from './routing/responses-quirks.ts'
import { replay } from './streaming/response-capture.ts'

/**
 * Sends a stored response again. Nothing is sent upstream, held or charged. Throws an `ApiError` if it was not stored, or
 * if the key has had too many replays.
 */
export async function replayResponse(
  deps: RelayDeps,
  context: RelayContext,
  stored: StoredResponse,
): Promise<void> {
  const { id, caller, claim, commonHeaders } = context
  if (!claim) throw new Error('Only a request with an Idempotency-Key can be replayed.')
  const body = storedBody(stored, claim)
  await deps.ledger.takeReplay(id, caller.keyId)
  context.isAdmitted = true
  for (const [index, value] of commonHeaders.entries()) {
    if (value === id) commonHeaders[index] = stored.requestId
  }
  replay(body, stored.cost, context.response, context.request.format)
  deps.onReplay(context, stored.requestId)
}

type RequestedMaximum = Pick<HoldRequest, 'requestedTokens' | 'maximumField'>

/** The maximum of output tokens that may leave the relay: the API of a route may raise the caller's. */
function requestedMaximum({ quirks, now }: RelayDeps, { request, model }: RelayContext): RequestedMaximum {
  const { maxOutputTokens, maxOutputField: callerField = null, format } = request
  if (maxOutputTokens === null) return { requestedTokens: null }
  const { api } = factsOf(format.operation)
  let requestedTokens = maxOutputTokens
  const fields = new Set<string>()
  for (const { upstream, upstreamModel, maximum, maximumField: own } of model.routes) {
    const withoutFields = quirks.rejectedFields(upstream.id, upstreamModel, now())
    const provider = providerFor(upstream, upstreamModel, api, rejectsChat(withoutFields, request))
    requestedTokens = Math.max(requestedTokens, provider?.minMaximumTokens ?? 0)
    if (own === null || provider?.maximumField === undefined) continue
    const { needsOwnField } = maximum
    fields.add(sentMaximumField(own, { withoutFields, needsOwnField, callerField }))
  }
  const [maximumField, ...others] = fields
  return {
    requestedTokens,
    ...(maximumField !== undefined && others.length === 0 ? { maximumField } : {}),
  }
}

/** Holds money for a request. `StoredResponse`: of the first request with its key. */
export function requestHold(deps: RelayDeps, context: RelayContext): Promise<HoldResponse | StoredResponse> {
  const { request, model, caller, claim } = context
  const terms = holdTerms(request, model.price)
  const holdRequest: HoldRequest = {
    id: context.id,
    keyId: caller.keyId,
    model: model.id,
    inputTokens: inputTokensToHold(request, model, model.routes),
    results: request.n,
    ...requestedMaximum(deps, context),
    searches: searchesToHold(context),
    stream: request.stream && request.isHeldWhole !== true,
    ...(factsOf(request.format.operation).holdsOwnMaximum ? { holdsOwnMaximum: true } : {}),
    ...(terms ? { terms } : {}),
  }
  if (claim) return holdWithClaim(deps, caller.accountId, holdRequest, claim)
  return deps.ledger.hold(holdRequest)
}

/** Admits the request, with its rate limits in the headers. Throws an `ApiError` if it is rejected. */
export function admit(context: RelayContext, hold: HoldResponse): HoldGranted {
  if (hold.rates) context.headers.push(...rateLimitHeaders(hold.rates))
  if (!hold.granted) throw apiError(hold.code, hold.detail)
  context.isAdmitted = true
  return hold
}
