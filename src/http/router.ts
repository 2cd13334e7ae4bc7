/**
 * All endpoints on one screen: the public API itself, and the listeners of everything else. No rules live here: a
 * handler parses, calls and responds.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../accounts/directory.ts'
import { isUnavailable, toApiError } from '../db/store-error.ts'
import { apiError, type ApiError } from '../errors.ts'
import { messagesErrorBody } from '../formats/messages-error.ts'
import { newId } from '../lib/ids.ts'
import type { AuthenticatedContext, HttpRequestContext, IncomingRequest } from './incoming-request.ts'
import { BodyBudget } from './body.ts'
import { ApiKeyAuth } from './api-key-auth.ts'
import { isConsolePath } from './static-files.ts'
import { authenticateBySession, playgroundPath } from './console/account/playground.ts'
import { corsHeaders } from './cors.ts'
import { hasFunds } from './funds.ts'
import { requireKnownHeaders } from './relay-headers.ts'
import type { AppContext } from './app-context.ts'
import { decodePathSegment, endpointPath, requireValidTarget } from './request-target.ts'
import { NodeRequest } from './server/node-request.ts'
import { publicPathOf } from './public-pages/paths.ts'
import { balanceBody, billingUsageBody, requestBody, subscriptionBody } from './openai/account.ts'
import { isCallPath, operationEndpoints, type EndpointHandler } from './operation-endpoints.ts'
import { chatCompletions, type ChatDeps } from './openai/chat-completions.ts'
import { isCodexCatalog, isPinnedResponsePath, pinnedResponse } from './openai/responses.ts'
import { noModels } from '../relay/routing/fallbacks.ts'
import { isAnthropicRequest } from './anthropic/messages.ts'
import { anthropicModelBody, anthropicModelListBody } from './anthropic/models.ts'
import { modelBody, modelListBody } from './openai/models.ts'

export interface RouterDeps extends Omit<ChatDeps, 'bodies'> {
  readonly ctx: AppContext
  /** Serves `/api`, `/openapi.json` and the public pages; created on first use, to keep the start fast. */
  readonly honoListener: () => (incoming: IncomingMessage, outgoing: ServerResponse) => void
  /** Serves the console's files; created on first use. */
  readonly consoleListener: () => (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
  /** Called with errors that are bugs. */
  readonly onInternalError: (error: unknown, requestId: string) => void
  /** Called for each chat request of an authenticated caller that was rejected before it was admitted. */
  readonly onRejected: (error: ApiError, context: AuthenticatedContext) => void
  /** Called for each request without a valid API key, with the caller's address. */
  readonly onUnauthenticated: (address: string) => void
  readonly isDraining: () => boolean
  /** Whether every thread that a request needs responds. */
  readonly threadsRespond: () => Promise<boolean>
}

const jsonHeaders = ['content-type', 'application/json']
const emptyBody = Buffer.alloc(0)
const noGeminiFormat =
  "This API does not speak Gemini's format. Use /v1/chat/completions (OpenAI) or /v1/messages (Anthropic)."

export class Router {
  readonly #deps: RouterDeps & ChatDeps
  readonly bodies: BodyBudget
  readonly apiKeys: ApiKeyAuth

  constructor(deps: RouterDeps) {
    const { config, directory } = deps.ctx
    this.bodies = new BodyBudget(config)
    this.#deps = { ...deps, bodies: this.bodies }
    this.apiKeys = new ApiKeyAuth(directory, config.trustProxy)
  }

  hasFunds(caller: Caller): Promise<boolean> {
    const { catalog, relay } = this.#deps
    return hasFunds({ catalog, ledger: relay.ledger }, caller)
  }

  /** Handles a request of node:http; never throws. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // Some proxies send the absolute form (RFC 9112, 3.2.2).
    if (!incoming.url?.startsWith('/')) incoming.url = incoming.url?.replace(/^https?:\/\/[^/?#]*\/?/i, '/')
    const { url = '/' } = incoming
    if (this.#deps.isDraining()) outgoing.setHeader('connection', 'close')
    const isApi = url.startsWith('/api') && url !== playgroundPath
    const isPublicPage = publicPathOf(url, this.#deps.ctx.config) !== undefined
    if (isApi || url === '/openapi.json' || isPublicPage) {
      return this.#deps.honoListener()(incoming, outgoing)
    }
    if (isConsolePath(url)) return this.#deps.consoleListener()(incoming, outgoing)
    await this.handleRequest(new NodeRequest(incoming, outgoing, this.#deps.isDraining))
  }

  /** Handles a request to the public API; never throws. */
  async handleRequest(incoming: IncomingRequest): Promise<void> {
    const id = newId('req')
    const { corsOrigins } = this.#deps.ctx.config
    const commonHeaders = ['x-request-id', id]
    if (corsOrigins.length > 0) commonHeaders.push(...corsHeaders(corsOrigins, incoming))
    if (this.#deps.isDraining()) commonHeaders.push('connection', 'close')
    const path = endpointPath(incoming.path)
    const isAnthropic = isAnthropicRequest(incoming, path)
    if (isAnthropic) commonHeaders.push('request-id', id)
    const context: HttpRequestContext = {
      id,
      incoming,
      path,
      isAnthropic,
      response: incoming.respond(commonHeaders),
      commonHeaders,
      headers: [],
      caller: null,
      body: emptyBody,
      startedMs: 0,
      request: null,
      model: null,
      fallbacks: noModels,
      claim: null,
      isAdmitted: false,
    }
    try {
      await this.#route(context)
    } catch (error) {
      this.#sendError(context, error)
    }
  }

  #route(context: HttpRequestContext): void | Promise<void> {
    const { incoming: request, response } = context
    switch (request.path) {
      case '/healthz':
        return response.send(200, jsonHeaders, '{"status":"ok"}')
      case '/readyz':
        return this.#sendReadiness(context)
      case '/metrics':
        return this.#sendMetrics(context)
      default:
        return this.#callEndpoint(context)
    }
  }

  async #sendReadiness({ response }: HttpRequestContext): Promise<void> {
    const isReady = this.#deps.ctx.isReady() && (await this.#deps.threadsRespond())
    if (!isReady) throw apiError('service_unavailable', { retryAfterMs: 1000 })
    response.send(200, jsonHeaders, '{"status":"ready"}')
  }

  async #sendMetrics({ response }: HttpRequestContext): Promise<void> {
    const metrics = await this.#deps.ctx.metrics()
    response.send(200, ['content-type', 'text/plain; version=0.0.4'], metrics)
  }

  #callEndpoint(context: HttpRequestContext): void | Promise<void> {
    const { ctx } = this.#deps
    const { incoming: request, path, response } = context
    const { method } = request
    requireValidTarget(request.path)
    requireValidTarget(request.query)
    if (method === 'OPTIONS' && ctx.config.corsOrigins.length > 0) return response.send(204, [], '')
    const handle = operationEndpoints.get(path)
    if (handle) {
      if (request.openWebSocket) return this.#openWebSocket(context, request.openWebSocket)
      if (method !== 'POST') return this.#sendJson(context, () => requireMethod(context, 'POST'))
      return this.#relayRequest(context, handle)
    }
    switch (path) {
      case playgroundPath:
        requireMethod(context, 'POST')
        return this.#relayFromConsole(context)
      case '/models': {
        requireMethod(context, 'GET')
        if (isCodexCatalog(request.query)) return this.#sendJson(context, () => ({ models: [] }))
        if (!context.isAnthropic) return this.#sendJson(context, (caller) => modelListBody(ctx, caller))
        const query = new URLSearchParams(request.query)
        return this.#sendJson(context, (caller) => anthropicModelListBody(ctx.catalog, caller, query))
      }
      case '/balance':
        requireMethod(context, 'GET')
        return this.#sendJson(context, (caller) => balanceBody(ctx, caller))
      case '/dashboard/billing/subscription':
        requireMethod(context, 'GET')
        return this.#sendJson(context, (caller) => subscriptionBody(ctx, caller))
      case '/dashboard/billing/usage': {
        requireMethod(context, 'GET')
        const query = new URLSearchParams(request.query)
        return this.#sendJson(context, (caller) => billingUsageBody(ctx, caller, query))
      }
    }
    if (path.startsWith('/models/')) {
      if (method === 'POST' && path.includes(':')) throw apiError('not_found', { message: noGeminiFormat })
      requireMethod(context, 'GET')
      const name = decodePathSegment(path.slice('/models/'.length))
      return this.#sendJson(context, (caller) =>
        context.isAnthropic ? anthropicModelBody(ctx.catalog, caller, name) : modelBody(ctx, caller, name),
      )
    }
    if (path.startsWith('/requests/')) {
      requireMethod(context, 'GET')
      const requestId = decodePathSegment(path.slice('/requests/'.length))
      return this.#sendJson(context, (caller) => requestBody(ctx, caller, requestId))
    }
    if (isPinnedResponsePath(method, path)) return this.#relayRequest(context, pinnedResponse)
    throw apiError('not_found', { message: `Unknown endpoint: ${request.path.slice(0, 200)}.` })
  }

  async #relayFromConsole(context: HttpRequestContext): Promise<void> {
    context.caller = await authenticateBySession(this.#deps.ctx, context.incoming)
    await this.#relayRequest(context, chatCompletions)
  }

  async #openWebSocket(
    context: HttpRequestContext,
    open: NonNullable<IncomingRequest['openWebSocket']>,
  ): Promise<void> {
    const caller = this.#authenticate(context) ?? (await this.#authenticateOnceCurrent(context))
    requireKnownHeaders(context.incoming)
    if (!this.#deps.ctx.isReady()) throw apiError('service_unavailable', { retryAfterMs: 1000 })
    open(caller)
  }

  /** The caller, whom a page of the console has authenticated by its session. `null`: the key is unknown. */
  #authenticate(context: HttpRequestContext): Caller | null {
    const { incoming } = context
    context.caller ??= this.apiKeys.authenticateEither(
      incoming.header('x-api-key'),
      incoming.header('authorization'),
    )
    const { caller } = context
    if (caller) this.apiKeys.authorize(caller, incoming.peer, incoming.header('x-forwarded-for'))
    return caller
  }

  /** Throws 401 for an unknown key, or 503 if this node cannot know whether it exists. */
  async #authenticateOnceCurrent(context: HttpRequestContext): Promise<Caller> {
    if (!(await this.#deps.ctx.isCurrent())) throw apiError('service_unavailable', { retryAfterMs: 1000 })
    const caller = this.#authenticate(context)
    if (!caller) throw apiError('invalid_api_key')
    return caller
  }

  async #sendJson(context: HttpRequestContext, body: (caller: Caller) => unknown): Promise<void> {
    const caller = this.#authenticate(context) ?? (await this.#authenticateOnceCurrent(context))
    context.response.send(200, jsonHeaders, JSON.stringify(await body(caller)))
  }

  async #relayRequest(context: HttpRequestContext, handle: EndpointHandler): Promise<void> {
    const { incoming } = context
    const caller = this.#authenticate(context) ?? (await this.#authenticateOnceCurrent(context))
    const type = incoming.header('content-type')
    if (type !== undefined && !/^(?:application\/(?:[\w.+-]+\+)?json|text\/plain)\b/i.test(type)) {
      throw apiError('unsupported_media_type')
    }
    if (isCallPath(context.path) || context.path === playgroundPath) requireKnownHeaders(incoming)
    if (!this.#deps.ctx.isReady() && !this.#deps.isDraining())
      throw apiError('service_unavailable', { retryAfterMs: 1000 })
    const body = incoming.body(this.bodies, caller.accountId)
    context.body = body instanceof Promise ? await body : body
    try {
      context.startedMs = performance.now()
      await handle(this.#deps, context)
    } finally {
      this.bodies.release(caller.accountId, context.body.length)
    }
  }

  #sendError(context: HttpRequestContext, thrown: unknown): void {
    const error = toApiError(thrown)
    if (error !== thrown && !isUnavailable(thrown)) this.#deps.onInternalError(thrown, context.id)
    const { incoming, path, response, id, isAnthropic } = context
    if (error.code === 'invalid_api_key') {
      const address = this.apiKeys.clientAddress(incoming.peer, incoming.header('x-forwarded-for'))
      this.#deps.onUnauthenticated(address)
    }
    if (isCallPath(path) && isAuthenticated(context) && !context.isAdmitted)
      this.#deps.onRejected(error, context)
    if (response.isStarted || response.isDisconnected) return
    const headers = [...jsonHeaders, ...context.headers, ...errorHeaders(error)]
    const { isComplete } = incoming
    if (!isComplete) headers.push('connection', 'close')
    const body = isAnthropic ? messagesErrorBody(error, id) : error.toBody()
    response.send(error.status, headers, JSON.stringify(body))
    if (!isComplete) incoming.linger()
  }
}

function isAuthenticated(context: HttpRequestContext): context is AuthenticatedContext {
  return context.caller !== null
}

function requireMethod({ incoming: { method }, headers }: HttpRequestContext, allowed: 'GET' | 'POST'): void {
  if (method === allowed || (method === 'HEAD' && allowed === 'GET')) return
  headers.push('allow', allowed === 'GET' ? 'GET, HEAD' : allowed)
  throw apiError('method_not_allowed', { message: `Method not allowed. Use ${allowed}.` })
}

/** The authentication scheme, and whether and when to retry. */
function errorHeaders(error: ApiError): string[] {
  const headers: string[] = error.status === 401 ? ['www-authenticate', 'Bearer'] : []
  const { retryAfterMs, acceptEncoding } = error.detail
  if (acceptEncoding !== undefined) headers.push('accept-encoding', acceptEncoding)
  if (error.final) headers.push('x-should-retry', 'false')
  if (retryAfterMs === undefined) return headers
  const ms = Math.max(1, Math.ceil(retryAfterMs))
  return [...headers, 'retry-after', String(Math.ceil(ms / 1000)), 'retry-after-ms', String(ms)]
}
