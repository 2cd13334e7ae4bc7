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
import type { ResponseWriter } from '../relay/response-writer.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { BodyBudget } from './body.ts'
import { ApiKeyAuth } from './api-key-auth.ts'
import { isConsolePath } from './static-files.ts'
import { authenticateBySession } from './console/account/playground.ts'
import { corsHeaders } from './cors.ts'
import type { AppContext } from './app-context.ts'
import { decodePathSegment, endpointPath, requireValidTarget } from './request-target.ts'
import { NodeRequest } from './server/node-request.ts'
import { statusPathOf } from './status/paths.ts'
import { balanceBody, billingUsageBody, requestBody, subscriptionBody } from './openai/account.ts'
import type { RequestProgress } from '../relay/relay-request.ts'
import { chatCompletions, type ChatDeps } from './openai/chat-completions.ts'
import { messages, messageTokens } from './anthropic/messages.ts'
import { anthropicModelBody, anthropicModelListBody } from './anthropic/models.ts'
import { modelBody, modelListBody } from './openai/models.ts'

export interface RouterDeps extends ChatDeps {
  readonly ctx: AppContext
  /** Serves `/api`, `/openapi.json` and the status page; created on first use, to keep the start fast. */
  readonly honoListener: () => (incoming: IncomingMessage, outgoing: ServerResponse) => void
  /** Serves the console's files; created on first use. */
  readonly consoleListener: () => (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
  /** Called with errors that are bugs. */
  readonly onInternalError: (error: unknown, requestId: string) => void
  /** Called for each chat request of an authenticated caller that was rejected before it was admitted. */
  readonly onRejected: (error: ApiError, request: RejectedRequest) => void
  /** Called for each request without a valid API key, with the caller's address. */
  readonly onUnauthenticated: (address: string) => void
  readonly isDraining: () => boolean
}

export interface RejectedRequest {
  readonly id: string
  readonly caller: Caller
  readonly progress: RequestProgress
}

interface RequestContext {
  readonly id: string
  readonly request: IncomingRequest
  /** Without its version: see `endpointPath`. */
  readonly path: string
  readonly response: ResponseWriter
  /** Headers of every response, such as the request's id. */
  readonly commonHeaders: string[]
  readonly headers: string[]
  readonly progress: RequestProgress
  /** The caller uses Anthropic's API: errors have its format. */
  readonly isAnthropic: boolean
  /** `null` until authenticated. */
  caller: Caller | null
}

const jsonHeaders = ['content-type', 'application/json']
const noGeminiFormat =
  "This API does not speak Gemini's format. Use /v1/chat/completions (OpenAI) or /v1/messages (Anthropic)."
/** Called by the console's pages with their session. */
const playgroundPath = '/api/console/chat/completions'

export class Router {
  readonly #deps: RouterDeps
  readonly bodies: BodyBudget
  readonly apiKeys: ApiKeyAuth

  constructor(deps: RouterDeps) {
    this.#deps = deps
    const { config, directory } = deps.ctx
    this.bodies = new BodyBudget(config)
    this.apiKeys = new ApiKeyAuth(directory, config.trustProxy)
  }

  /** Handles a request of node:http; never throws. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // Some proxies send the absolute form (RFC 9112, 3.2.2).
    if (!incoming.url?.startsWith('/')) incoming.url = incoming.url?.replace(/^https?:\/\/[^/?#]*\/?/i, '/')
    const { url = '/' } = incoming
    if (this.#deps.isDraining()) outgoing.setHeader('connection', 'close')
    const isApi = url.startsWith('/api') && url !== playgroundPath
    if (isApi || url === '/openapi.json' || this.#isStatus(url)) {
      return this.#deps.honoListener()(incoming, outgoing)
    }
    if (isConsolePath(url)) return this.#deps.consoleListener()(incoming, outgoing)
    await this.handleRequest(new NodeRequest(incoming, outgoing, this.#deps.isDraining))
  }

  #isStatus(url: string): boolean {
    return statusPathOf(url) !== undefined && this.#deps.ctx.config.statusPage
  }

  /** Handles a request to the public API; never throws. */
  async handleRequest(request: IncomingRequest): Promise<void> {
    const id = newId('req')
    const { corsOrigins } = this.#deps.ctx.config
    const commonHeaders = ['x-request-id', id]
    if (corsOrigins.length > 0) commonHeaders.push(...corsHeaders(corsOrigins, request))
    if (this.#deps.isDraining()) commonHeaders.push('connection', 'close')
    const progress: RequestProgress = { model: '', stream: false, isAdmitted: false }
    const path = endpointPath(request.path)
    const isAnthropic = isAnthropicRequest(request, path)
    if (isAnthropic) commonHeaders.push('request-id', id)
    const response = request.respond(commonHeaders)
    const context: RequestContext = {
      id,
      request,
      path,
      response,
      commonHeaders,
      headers: [],
      progress,
      isAnthropic,
      caller: null,
    }
    try {
      if (!(await this.#handleProbe(context))) await this.#route(context)
    } catch (error) {
      this.#sendError(context, error)
    }
  }

  /** Health probes and metrics. False: the path is another one. */
  async #handleProbe({ request, response }: RequestContext): Promise<boolean> {
    const { ctx } = this.#deps
    switch (request.path) {
      case '/healthz':
        response.send(200, jsonHeaders, '{"status":"ok"}')
        return true
      case '/readyz':
        if (!ctx.isReady()) throw apiError('service_unavailable', { retryAfterMs: 1000 })
        response.send(200, jsonHeaders, '{"status":"ready"}')
        return true
      case '/metrics':
        response.send(200, ['content-type', 'text/plain; version=0.0.4'], await ctx.metrics())
        return true
      default:
        return false
    }
  }

  async #route(context: RequestContext): Promise<void> {
    const { ctx } = this.#deps
    const { request, response } = context
    const { method } = request
    requireValidTarget(request.path)
    requireValidTarget(request.query)
    const { path } = context
    if (method === 'OPTIONS' && ctx.config.corsOrigins.length > 0) return response.send(204, [], '')
    switch (path) {
      case '/chat/completions':
        requireMethod(context, 'POST')
        return this.#relayRequest(context, chatCompletions)
      case playgroundPath:
        requireMethod(context, 'POST')
        context.caller = await authenticateBySession(ctx, request)
        return this.#relayRequest(context, chatCompletions)
      case '/messages':
        requireMethod(context, 'POST')
        return this.#relayRequest(context, messages)
      case '/messages/count_tokens':
        requireMethod(context, 'POST')
        return this.#relayRequest(context, messageTokens)
      case '/models': {
        requireMethod(context, 'GET')
        if (!context.isAnthropic)
          return this.#sendJson(context, (caller) => modelListBody(ctx.catalog, caller))
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
      const body = context.isAnthropic ? anthropicModelBody : modelBody
      return this.#sendJson(context, (caller) => body(ctx.catalog, caller, name))
    }
    if (path.startsWith('/requests/')) {
      requireMethod(context, 'GET')
      const requestId = decodePathSegment(path.slice('/requests/'.length))
      return this.#sendJson(context, (caller) => requestBody(ctx, caller, requestId))
    }
    throw apiError('not_found', { message: `Unknown endpoint: ${request.path.slice(0, 200)}.` })
  }

  /** Throws 401, or 503 if this node cannot know whether the key exists. */
  async #authenticate(context: RequestContext): Promise<Caller> {
    const { request } = context
    const find = (): Caller | null =>
      this.apiKeys.authenticateEither(request.header('x-api-key'), request.header('authorization'))
    // A page of the console is already authenticated by its session.
    context.caller ??= find()
    if (!context.caller) {
      if (!(await this.#deps.ctx.isCurrent())) throw apiError('service_unavailable', { retryAfterMs: 1000 })
      context.caller = find()
    }
    const { caller } = context
    if (!caller) throw apiError('invalid_api_key')
    this.apiKeys.authorize(caller, request.peer, request.header('x-forwarded-for'))
    return caller
  }

  async #sendJson(context: RequestContext, body: (caller: Caller) => unknown): Promise<void> {
    const caller = await this.#authenticate(context)
    context.response.send(200, jsonHeaders, JSON.stringify(await body(caller)))
  }

  async #relayRequest(context: RequestContext, handle: typeof chatCompletions): Promise<void> {
    const { request, id, response, commonHeaders, headers, progress } = context
    const caller = await this.#authenticate(context)
    const type = request.header('content-type')
    if (type !== undefined && !/^(?:application\/(?:[\w.+-]+\+)?json|text\/plain)\b/i.test(type)) {
      throw apiError('unsupported_media_type')
    }
    if (!this.#deps.ctx.isReady() && !this.#deps.isDraining())
      throw apiError('service_unavailable', { retryAfterMs: 1000 })
    const body = await request.body(this.bodies, caller.accountId)
    try {
      const startedMs = performance.now()
      const chatContext = {
        id,
        caller,
        httpRequest: request,
        body,
        commonHeaders,
        headers,
        progress,
        startedMs,
      }
      await handle(this.#deps, chatContext, response)
    } finally {
      this.bodies.release(caller.accountId, body.length)
    }
  }

  #onUnauthenticated(request: IncomingRequest): void {
    const address = this.apiKeys.clientAddress(request.peer, request.header('x-forwarded-for'))
    this.#deps.onUnauthenticated(address)
  }

  #sendError(context: RequestContext, thrown: unknown): void {
    const error = toApiError(thrown)
    if (error !== thrown && !isUnavailable(thrown)) this.#deps.onInternalError(thrown, context.id)
    const { request, path, response, id, caller, progress } = context
    if (error.code === 'invalid_api_key') this.#onUnauthenticated(request)
    const isRelayed = /\/(?:chat\/completions|messages)$/.test(path)
    if (isRelayed && caller && !progress.isAdmitted) this.#deps.onRejected(error, { id, caller, progress })
    if (response.isStarted || response.isDisconnected) return
    const headers = [...jsonHeaders, ...context.headers, ...errorHeaders(error)]
    const { isComplete } = request
    if (!isComplete) headers.push('connection', 'close')
    const body = context.isAnthropic ? messagesErrorBody(error, id) : error.toBody()
    response.send(error.status, headers, JSON.stringify(body))
    if (!isComplete) request.linger()
  }
}

/** Anthropic's clients send `anthropic-version` with every request. */
function isAnthropicRequest(request: IncomingRequest, path: string): boolean {
  if (path.endsWith('/chat/completions')) return false
  return /^\/messages(?:\/|$)/.test(path) || request.header('anthropic-version') !== undefined
}

function requireMethod({ request: { method }, headers }: RequestContext, allowed: 'GET' | 'POST'): void {
  if (method === allowed || (method === 'HEAD' && allowed === 'GET')) return
  headers.push('allow', allowed === 'GET' ? 'GET, HEAD' : allowed)
  throw apiError('method_not_allowed', { message: `Method not allowed. Use ${allowed}.` })
}

/** The authentication scheme, and whether and when to retry. */
function errorHeaders(error: ApiError): string[] {
  const headers: string[] = error.status === 401 ? ['www-authenticate', 'Bearer'] : []
  const { retryAfterMs } = error.detail
  if (error.final) headers.push('x-should-retry', 'false')
  if (retryAfterMs === undefined) return headers
  const ms = Math.max(1, Math.ceil(retryAfterMs))
  return [...headers, 'retry-after', String(Math.ceil(ms / 1000)), 'retry-after-ms', String(ms)]
}
