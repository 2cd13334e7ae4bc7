/**
 * `POST /v1/responses`, `/v1/responses/compact` and `/v1/responses/input_tokens`, OpenAI's Responses API: parses and
 * validates the request, then passes it to the relay. Requests about stored responses go to the provider that holds them.
 */
import { allowsModel } from '../../accounts/allowlists.ts'
import { ApiError, apiError } from '../../errors.ts'
import { withCallerField } from '../../formats/responses-error.ts'
import { emptyResponse } from '../../formats/responses-stream.ts'
import { estimateMark } from '../../relay/count-tokens.ts'
import { rateLimitHeaders } from '../../relay/rate-headers.ts'
import {
  createSummarySeal,
  readConversation,
  type CompactionOptions,
  type ConversationRequest,
} from '../../relay/request/compaction-request.ts'
import { referencedIds, withItems } from '../../relay/request/item-references.ts'
import { previousNotFound } from '../../relay/routing/storing-routes.ts'
import {
  callPinnedResponse,
  responseNotFound,
  type PinnedResponseRequest,
} from '../../relay/pinned-response.ts'
import { streamHeaders } from '../../relay/streaming/stream-writer.ts'
import type { HttpRequestContext } from '../incoming-request.ts'
import { decodePathSegment } from '../request-target.ts'
import { sendTokenCount } from '../token-counts.ts'
import { addRequest, relayRequest, type ChatDeps } from './chat-completions.ts'

async function readRequest(
  { relay, catalog, bodies }: ChatDeps,
  context: HttpRequestContext,
  kind: Pick<CompactionOptions, 'isCompaction' | 'isTokenCount' | 'isWarmUp'> = {},
): Promise<ConversationRequest> {
  const { body, caller } = context
  const account = caller?.accountId ?? ''
  const options = {
    ...kind,
    seal: createSummarySeal(relay.sealer, account),
    modelMaximum: (name: string) => catalog.model(name)?.maxOutputTokens ?? null,
  }
  const request = readConversation(body, options)
  const ids = referencedIds(request.parsed())
  if (!ids) return request
  let reserved = 0
  const reserve = (bytes: number): void => {
    bodies.check(body.length + bytes)
    bodies.reserve(account, bytes, body.length + bytes)
    reserved += bytes
  }
  try {
    const items = await relay.responseItems.find(account, ids, { now: relay.now(), reserve })
    const whole = withItems(body, request.parsed()['input'], items)
    reserve(Math.max(0, whole.length - body.length - reserved))
    // The router releases what the context holds at the end.
    context.body = whole
    bodies.release(account, body.length + reserved - whole.length)
    return readConversation(whole, options)
  } catch (error) {
    if (context.body === body) bodies.release(account, reserved)
    throw error
  }
}

/** Throws an `ApiError` if nothing has been sent. */
export async function responses(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  const { isWarmUp = false } = context.incoming
  const request = await readRequest(deps, context, { isWarmUp })
  if (isWarmUp) {
    await findPrevious(deps, context, request)
    return warmUp(deps, context, request)
  }
  await relayResponses(deps, context, request)
}

/** `POST /v1/responses/compact`. Throws an `ApiError` if nothing has been sent. */
export async function compactResponse(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  await relayResponses(deps, context, await readRequest(deps, context, { isCompaction: true }))
}

async function relayResponses(
  deps: ChatDeps,
  context: HttpRequestContext,
  request: ConversationRequest,
): Promise<void> {
  await findPrevious(deps, context, request)
  try {
    await relayRequest(deps, context, request)
  } catch (error) {
    throw error instanceof ApiError ? withCallerField(error) : error
  }
}

/** Finds the stored response that the request continues. Throws 400 if the account has none with this id. */
async function findPrevious(
  { relay }: ChatDeps,
  { caller }: HttpRequestContext,
  request: ConversationRequest,
): Promise<void> {
  const { previousId } = request
  if (previousId === null || !caller) return
  const pin = await relay.responsePins.find(caller.accountId, previousId)
  if (!pin) throw previousNotFound(previousId)
  request.previous = pin
}

/** A response without output, from which the caller continues. It is free, and no model is called. Throws 403 or 404. */
function warmUp({ catalog }: ChatDeps, context: HttpRequestContext, request: ConversationRequest): void {
  addRequest(catalog, context, request)
  const { response } = context
  response.start(200, [...streamHeaders, ...context.headers])
  response.write(emptyResponse(request.parsed()))
  response.end()
}

/** Throws an `ApiError` if nothing has been sent. */
export async function responseTokens(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  const request = await readRequest(deps, context, { isTokenCount: true })
  await findPrevious(deps, context, request)
  return sendTokenCount(deps, context, {
    request,
    encode: ({ tokens, bytes }) => {
      const body = { object: 'response.input_tokens', input_tokens: tokens }
      return JSON.stringify(bytes ? body : { ...body, ...estimateMark })
    },
  })
}

/** A response, the list of its input items, or its cancellation. */
const storedPath = /^\/responses\/(?<id>[^/]+)(?<rest>\/input_items|\/cancel)?$/

/** Whether the path names a stored response. */
export function isPinnedResponsePath(method: string, path: string): boolean {
  const { groups } = storedPath.exec(path) ?? {}
  if (!groups) return false
  return groups['rest'] === '/cancel'
    ? method === 'POST'
    : method === 'GET' || (method === 'DELETE' && groups['rest'] === undefined)
}

/** Throws an `ApiError` if nothing has been sent. */
export async function pinnedResponse(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  const { caller, path, incoming, id: requestId, response } = context
  const { id = '', rest = '' } = storedPath.exec(path)?.groups ?? {}
  if (!caller) throw new Error('Only an authenticated caller has stored responses.')
  const name = decodePathSegment(id)
  const rates = await deps.relay.ledger.takeTokenCount(requestId, caller.keyId)
  const pin = await deps.relay.responsePins.find(caller.accountId, name)
  if (!pin) throw responseNotFound(name)
  if (!allowsModel(caller.models, pin.model)) throw apiError('model_not_allowed', { param: 'model' })
  const query = new URLSearchParams(incoming.query)
  if (query.getAll('stream').some((value) => value !== 'false')) {
    const message = 'Invalid `stream`: a stored response is complete. Remove it.'
    throw apiError('invalid_request', { param: 'stream', message })
  }
  const bytes = await callPinnedResponse(deps.relay, deps.catalog, pin, {
    method: incoming.method as PinnedResponseRequest['method'],
    rest: query.size === 0 ? rest : `${rest}?${query.toString()}`,
  })
  const headers = ['content-type', 'application/json', ...rateLimitHeaders(rates), ...context.headers]
  response.send(200, headers, bytes)
}

/** Codex asks for a catalog of its own form; an empty one makes it use the one that it has. */
export function isCodexCatalog(query: string): boolean {
  return query.includes('client_version=') && new URLSearchParams(query).has('client_version')
}
