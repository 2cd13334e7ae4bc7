/**
 * `POST /v1/messages` and `/v1/messages/count_tokens`, Anthropic's API: parses and validates the request, then passes
 * it to the relay.
 */
import { countTokens } from '../../relay/count-tokens.ts'
import { readMessagesRequest, type MessagesRequest } from '../../relay/request/messages-request.ts'
import { rateLimitHeaders } from '../../relay/rate-headers.ts'
import { restrictRoutes } from '../../relay/routing/restricted-routes.ts'
import { addRequest, relayRequest, type ChatDeps } from '../openai/chat-completions.ts'
import type { HttpRequestContext } from '../incoming-request.ts'

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
export async function messageTokens(deps: ChatDeps, context: HttpRequestContext): Promise<void> {
  const request = readRequest(context, true)
  addRequest(deps.catalog, context, request)
  // A count is free, whatever the request itself would cost.
  const state = request.restricted.filter(({ restriction }) => restriction === 'state')
  if (state.length > 0) restrictRoutes(context, state)
  const rates = await deps.relay.ledger.takeTokenCount(context.id, context.caller.keyId)
  const body = await countTokens(deps.relay, context, request)
  const headers = ['content-type', 'application/json', ...rateLimitHeaders(rates), ...context.headers]
  context.response.send(200, headers, body)
}
