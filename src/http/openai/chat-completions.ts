/** `POST /v1/chat/completions`: parses and validates the request, then passes it to the relay. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { apiError } from '../../errors.ts'
import type { RequestProgress, RelayDeps, ActiveRequest } from '../../relay/relay-request.ts'
import type { CallerRequest } from '../../relay/request/caller-format.ts'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { SlotMap } from '../../lib/slot-map.ts'
import { createClaim } from '../../relay/idempotency.ts'
import { relayChat } from '../../relay/relay.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { fallbackModels } from '../../relay/routing/fallbacks.ts'
import { readChatRequest } from '../../relay/request/request-body.ts'

export interface ChatDeps {
  readonly relay: RelayDeps
  readonly catalog: Catalog
  /** Active requests. */
  readonly running: SlotMap<ActiveRequest>
}

/** The model of this name, if the caller's key may use it. Throws 403 or 404 with `param: 'model'`. */
export function requireModel(catalog: Catalog, caller: Caller, name: string): PricedModel {
  const model = catalog.model(name)
  if (!model) {
    throw apiError('model_not_found', {
      param: 'model',
      message: `The model ${JSON.stringify(name)} does not exist.`,
    })
  }
  if (!allowsModel(caller.models, name)) throw apiError('model_not_allowed', { param: 'model' })
  return model
}

export interface ChatRequestContext {
  readonly id: string
  readonly caller: Caller
  readonly httpRequest: IncomingRequest
  readonly body: Buffer
  /** Headers of every response, such as the request's id. */
  readonly commonHeaders: string[]
  readonly headers: string[]
  readonly progress: RequestProgress
  /** `performance.now()` when the request was received. */
  readonly startedMs: number
}

/** Throws an `ApiError` if nothing has been sent. */
export async function chatCompletions(
  deps: ChatDeps,
  context: ChatRequestContext,
  response: ResponseWriter,
): Promise<void> {
  await relayRequest(deps, context, readChatRequest(context.body), response)
}

/** Common to all API formats: checks the model, then relays the request. */
export function relayRequest(
  deps: ChatDeps,
  context: ChatRequestContext,
  request: CallerRequest,
  response: ResponseWriter,
): Promise<void> {
  context.progress.model = request.model
  context.progress.stream = request.stream
  const model = requireModel(deps.catalog, context.caller, request.model)
  const { id, caller, httpRequest, commonHeaders, headers, progress, startedMs } = context
  const key = httpRequest.header('idempotency-key')
  const claim = key === undefined ? null : createClaim(key, httpRequest.path, context.body)
  const fallbacks = fallbackModels(deps.catalog, model, caller)
  const chatRequest = {
    id,
    caller,
    model,
    fallbacks,
    request,
    claim,
    commonHeaders,
    headers,
    progress,
    startedMs,
  }
  return relayChat(deps.relay, chatRequest, response, deps.running)
}
