/**
 * Requests about a response that a provider stores: reading, deleting and cancelling it, and listing its input. They go
 * to the credential that holds it, cost nothing, and count in the rate limit of token counts.
 */
import type { Catalog } from '../catalog/catalog.ts'
import type { ResponsePinsTable } from '../db/schema/schema.ts'
import { apiError, type ApiError } from '../errors.ts'
import { withAddedHeaders } from '../providers/added-fields.ts'
import { findProvider } from '../providers/registry.ts'
import type { RelayDeps } from './request-context.ts'
import { addHolderTo } from './request/responses-encoding.ts'
import { holderOf } from './routing/affinity.ts'
import { sendAuxiliaryRequest, type AuxiliaryResponse } from './routing/auxiliary-request.ts'
import { secretsOf } from './routing/secrets.ts'
import { routeToHolder } from './routing/storing-routes.ts'
import { apiErrorFromUpstream, upstreamErrorFromResponse } from './routing/upstream-error.ts'
import { upstreamErrorFromException } from './routing/upstream-transport.ts'
import { renameModel } from './streaming/model-renaming.ts'

export interface PinnedResponseRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** After `/responses/{id}`, such as `/cancel`, with its query. */
  readonly rest: string
}

export function responseNotFound(id: string): ApiError {
  const message = `No response with the id ${JSON.stringify(id.slice(0, 100))} is stored for this account.`
  return apiError('response_not_found', { param: 'response_id', message })
}

/** The provider's response as JSON. Throws an `ApiError`: 404 if no route leads to the provider, or it has deleted it. */
export async function callPinnedResponse(
  deps: Pick<RelayDeps, 'client' | 'maxResponseBytes' | 'now' | 'responsePins'>,
  catalog: Catalog,
  pin: ResponsePinsTable,
  { method, rest }: PinnedResponseRequest,
): Promise<Buffer> {
  const model = catalog.model(pin.model)
  const route = model && routeToHolder(model, pin)
  const provider = findProvider(route?.upstream.provider ?? '')
  const credential = route?.upstream.credentials.find(({ id }) => id === pin.credential_id)
  if (!route || !provider?.buildStoredRequest || !credential) throw responseNotFound(pin.response_id)
  const { upstream, returnedModel } = route
  const path = `/${encodeURIComponent(pin.response_id)}${rest}`
  const call = { baseUrl: upstream.baseUrl, credential: credential.credential }
  const { url, headers } = provider.buildStoredRequest(call, path)
  const request = {
    url,
    headers: withAddedHeaders(headers, upstream.added),
    body: [],
    method,
    maxBytes: deps.maxResponseBytes,
  }
  let response: AuxiliaryResponse
  try {
    response = await sendAuxiliaryRequest(deps.client, request, upstream)
  } catch (error) {
    throw apiErrorFromUpstream(upstreamErrorFromException(error))
  }
  const { status, bytes } = response
  const isGone = status === 404 || (method === 'DELETE' && status === 200)
  if (isGone) await deps.responsePins.remove(pin)
  if (status === 404) throw responseNotFound(pin.response_id)
  if (status !== 200) {
    const about = { credential: secretsOf({ ...upstream, ...call }), now: deps.now(), provider }
    throw apiErrorFromUpstream(upstreamErrorFromResponse({ ...response, errorType: null }, about))
  }
  return addHolderTo(renameModel(bytes, returnedModel), { holder: holderOf(upstream, credential) })
}
