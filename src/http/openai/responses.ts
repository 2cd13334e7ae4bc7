/**
 * `POST /v1/responses` and `/v1/responses/input_tokens`, OpenAI's Responses API: parses and validates the request, then
 * passes it to the relay. No response is stored, so none is found.
 */
import { ApiError, apiError } from '../../errors.ts'
import { withCallerField } from '../../formats/responses-error.ts'
import { estimateMark } from '../../relay/count-tokens.ts'
import { readResponsesRequest } from '../../relay/request/responses-request.ts'
import type { HttpRequestContext, IncomingRequest } from '../incoming-request.ts'
import { sendTokenCount } from '../token-counts.ts'
import { relayRequest, type ChatDeps } from './chat-completions.ts'

/** Throws an `ApiError` if nothing has been sent. */
export async function responses(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  const request = readResponsesRequest(context.body)
  try {
    await relayRequest(deps, context, request)
  } catch (error) {
    throw error instanceof ApiError ? withCallerField(error) : error
  }
}

/** Throws an `ApiError` if nothing has been sent. */
export function responseTokens(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  return sendTokenCount(deps, context, {
    request: readResponsesRequest(context.body, { isTokenCount: true }),
    encode: ({ tokens, bytes }) => {
      const body = { object: 'response.input_tokens', input_tokens: tokens }
      return JSON.stringify(bytes ? body : { ...body, ...estimateMark })
    },
  })
}

/** A response, or the list of its input items; with POST, the cancellation of a response. */
const storedPath = /^\/responses\/([^/]+)(?:\/input_items)?$/
const cancelPath = /^\/responses\/([^/]+)\/cancel$/

/** The error for a path that names a stored response; `null`: it is no such path. */
export function storedResponseError(method: string, path: string): ApiError | null {
  const [, id] = (method === 'POST' ? cancelPath : storedPath).exec(path) ?? []
  if (id === undefined) return null
  const message = `No response with the id ${JSON.stringify(id.slice(0, 100))} is stored: this API stores none.`
  return apiError('response_not_found', { param: 'response_id', message })
}

/** Codex opens a WebSocket first, and uses HTTP at once if it gets this error. */
export function isWebSocket(incoming: IncomingRequest): boolean {
  return incoming.header('upgrade')?.toLowerCase() === 'websocket'
}

/** Codex asks for a catalog of its own form; an empty one makes it use the one that it has. */
export function isCodexCatalog(query: string): boolean {
  return query.includes('client_version=') && new URLSearchParams(query).has('client_version')
}
