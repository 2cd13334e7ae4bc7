/**
 * `POST /v1/messages` and `/v1/messages/count_tokens`, Anthropic's API: parses and validates the request, then passes
 * it to the relay.
 */
import { factsOf, requestOperationNames } from '../../catalog/operations.ts'
import { estimateMark } from '../../relay/count-tokens.ts'
import { readMessagesRequest, type MessagesRequest } from '../../relay/request/messages-request.ts'
import { relayRequest, type ChatDeps } from '../openai/chat-completions.ts'
import type { HttpRequestContext, IncomingRequest } from '../incoming-request.ts'
import { sendTokenCount } from '../token-counts.ts'

function readRequest({ incoming, body }: HttpRequestContext, isTokenCount: boolean): MessagesRequest {
  const version = incoming.header('anthropic-version')
  const beta = incoming.header('anthropic-beta')
  return readMessagesRequest(body, { headers: { version, beta }, isTokenCount })
}

/** Throws an `ApiError` if nothing has been sent. */
export function messages(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  return relayRequest(deps, context, readRequest(context, false))
}

/** Throws an `ApiError` if nothing has been sent. */
export function messageTokens(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  return sendTokenCount(deps, context, {
    request: readRequest(context, true),
    encode: ({ tokens, bytes }) => bytes ?? JSON.stringify({ input_tokens: tokens, ...estimateMark }),
  })
}

const otherPaths = requestOperationNames
  .filter((name) => name !== 'messages')
  .map((name) => factsOf(name).path.slice('/v1'.length))
const isBelow = (path: string, other: string): boolean => path === other || path.startsWith(`${other}/`)

/** Anthropic's clients send `anthropic-version` with every request. */
export function isAnthropicRequest(request: IncomingRequest, path: string): boolean {
  if (otherPaths.some((other) => isBelow(path, other))) return false
  return isBelow(path, '/messages') || request.header('anthropic-version') !== undefined
}
