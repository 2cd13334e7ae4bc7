/** `POST /v1/chat/completions`: parses and validates the request, then passes it to the relay. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { factsOf, pathsFor, type RequestOperation } from '../../catalog/operations.ts'
import { apiError } from '../../errors.ts'
import type { RelayContext, RelayDeps } from '../../relay/request-context.ts'
import type { CallerRequest } from '../../relay/request/caller-format.ts'
import { createClaim } from '../../relay/idempotency.ts'
import { relayChat } from '../../relay/relay.ts'
import type { BodyBudget } from '../body.ts'
import type { HttpRequestContext } from '../incoming-request.ts'
import { fallbackModels } from '../../relay/routing/fallbacks.ts'
import { restrictRoutes } from '../../relay/routing/restricted-routes.ts'
import { keepStoringRoutes } from '../../relay/routing/storing-routes.ts'
import { readCompletionRequest } from '../../relay/request/completion-request.ts'
import { readEmbeddingRequest } from '../../relay/request/embedding-request.ts'
import { readChatRequest } from '../../relay/request/request-body.ts'

export interface ChatDeps {
  readonly relay: RelayDeps
  readonly catalog: Catalog
  /** For what requests hold in memory. */
  readonly bodies: BodyBudget
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

function canServe({ operations }: PricedModel, operation: RequestOperation): boolean {
  return operations.includes(factsOf(operation).model)
}

function canFallBack(fallback: PricedModel, operation: RequestOperation): boolean {
  return factsOf(operation).hasNoFallbacks !== true && canServe(fallback, operation)
}

/** Throws 404 naming the endpoints of the model if it is for other requests. */
function requireOperation(model: PricedModel, operation: RequestOperation): void {
  if (canServe(model, operation)) return
  const { id, operations } = model
  const paths = pathsFor(operations).map((path) => `\`POST ${path}\``)
  const message = `The model ${JSON.stringify(id)} is not for this endpoint. Use ${paths.join(', ')}.`
  throw apiError('model_not_found', { param: 'model', message })
}

/** Throws an `ApiError` if nothing has been sent. */
export function chatCompletions(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  return relayRequest(deps, context, readChatRequest(context.body))
}

/** `POST /v1/completions`. Throws an `ApiError` if nothing has been sent. */
export function completions(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  return relayRequest(deps, context, readCompletionRequest(context.body))
}

/** `POST /v1/embeddings`. Throws an `ApiError` if nothing has been sent. */
export function embeddings(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  return relayRequest(deps, context, readEmbeddingRequest(context.body))
}

/** Common to all API formats: checks the model, then relays the request. */
export function relayRequest(
  deps: ChatDeps,
  context: HttpRequestContext,
  request: CallerRequest,
): Promise<void> {
  addRequest(deps.catalog, context, request)
  const { incoming, model, caller } = context
  const key = incoming.header('idempotency-key')
  if (key !== undefined) context.claim = createClaim(key, incoming.path, context.body)
  const fallbacks = fallbackModels(deps.catalog, model, caller)
  const { operation } = request.format
  context.fallbacks =
    fallbacks.length === 0 ? fallbacks : fallbacks.filter((each) => canFallBack(each, operation))
  keepStoringRoutes(context, request)
  if (request.restricted.length > 0) restrictRoutes(context, request.restricted)
  return relayChat(deps.relay, context)
}

/** Adds the request to the context, and the model if the caller's key may use it. Throws 403 or 404 otherwise. */
export function addRequest(
  catalog: Catalog,
  context: HttpRequestContext,
  request: CallerRequest,
): asserts context is HttpRequestContext & RelayContext {
  context.request = request
  if (!context.caller) throw new Error('Only the request of an authenticated caller can be relayed.')
  const model = requireModel(catalog, context.caller, request.model)
  requireOperation(model, request.format.operation)
  context.model = model
}
