/** Responds to requests that ask for the number of their input tokens, in every format. */
import { countTokens, type TokenCount } from '../relay/count-tokens.ts'
import { rateLimitHeaders } from '../relay/rate-headers.ts'
import type { CallerRequest } from '../relay/request/caller-format.ts'
import { restrictRoutes } from '../relay/routing/restricted-routes.ts'
import type { HttpRequestContext } from './incoming-request.ts'
import { addRequest, type ChatDeps } from './openai/chat-completions.ts'

export interface TokenCountRequest {
  readonly request: CallerRequest
  /** Encodes the count in the caller's format. */
  readonly encode: (count: TokenCount) => Buffer | string
}

/** Throws an `ApiError` if nothing has been sent. */
export async function sendTokenCount(
  deps: ChatDeps,
  context: HttpRequestContext,
  { request, encode }: TokenCountRequest,
): Promise<void> {
  addRequest(deps.catalog, context, request)
  // A count is free, whatever the request itself would cost.
  const state = request.restricted.filter(({ restriction }) => restriction === 'state')
  if (state.length > 0) restrictRoutes(context, state)
  const rates = await deps.relay.ledger.takeTokenCount(context.id, context.caller.keyId)
  const body = encode(await countTokens(deps.relay, context, request))
  const headers = ['content-type', 'application/json', ...rateLimitHeaders(rates), ...context.headers]
  context.response.send(200, headers, body)
}
