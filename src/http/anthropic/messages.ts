/**
 * `POST /v1/messages` and `/v1/messages/count_tokens`, Anthropic's API: parses and validates the request, then passes
 * it to the relay.
 */
import { countTokens } from '../../relay/count-tokens.ts'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import { readMessagesRequest, type MessagesHeaders } from '../../relay/request/messages-request.ts'
import { rateLimitHeaders } from '../../relay/rate-headers.ts'
import {
  relayRequest,
  requireModel,
  type ChatRequestContext,
  type ChatDeps,
} from '../openai/chat-completions.ts'

function headersOf({ httpRequest }: ChatRequestContext): MessagesHeaders {
  return { version: httpRequest.header('anthropic-version'), beta: httpRequest.header('anthropic-beta') }
}

/** Throws an `ApiError` if nothing has been sent. */
export async function messages(
  deps: ChatDeps,
  context: ChatRequestContext,
  response: ResponseWriter,
): Promise<void> {
  const request = readMessagesRequest(context.body, { headers: headersOf(context), isTokenCount: false })
  await relayRequest(deps, context, request, response)
}

/** Throws an `ApiError` if nothing has been sent. */
export async function messageTokens(
  deps: ChatDeps,
  context: ChatRequestContext,
  response: ResponseWriter,
): Promise<void> {
  const request = readMessagesRequest(context.body, { headers: headersOf(context), isTokenCount: true })
  const { caller } = context
  const model = requireModel(deps.catalog, caller, request.model)
  const rates = await deps.relay.ledger.takeTokenCount(context.id, caller.keyId)
  const body = await countTokens(deps.relay, { caller, model, request }, response)
  const headers = ['content-type', 'application/json', ...rateLimitHeaders(rates), ...context.headers]
  response.send(200, headers, body)
}
