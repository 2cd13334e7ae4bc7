/**
 * Counts the tokens of a request in Anthropic's format: by the upstream that would be tried first, if it has that
 * format, else by the estimate. It holds and charges nothing, but counts in the rate limits and, like a chat request,
 * needs a balance unless the model is free: it uses the operator's credential.
 */
import { apiError } from '../errors.ts'
import { maxCostOf } from '../ledger/price.ts'
import type { Provider } from '../providers/provider.ts'
import { providerForModel } from '../providers/registry.ts'
import { isObject } from '../providers/json-fields.ts'
import { singleCall } from './routing/attempt-call.ts'
import { UpstreamAttempt } from './routing/attempt.ts'
import type { RelayContext, RelayDeps } from './request-context.ts'
import { UpstreamSelector } from './routing/upstream-selector.ts'
import { apiErrorFromUpstream } from './routing/upstream-error.ts'
import { renameModelInError } from './streaming/model-renaming.ts'
import type { MessagesRequest } from './request/messages-request.ts'

/** The maximum time to wait for a count. */
const maxCountMs = 10_000

/** The provider as one whose responses are token counts. */
function tokenCounter(provider: Provider | undefined): Provider | null {
  if (!provider?.buildCountRequest) return null
  return {
    ...provider,
    buildRequest: provider.buildCountRequest,
    translation: {
      translateResponse(body) {
        if (isObject(body) && typeof body['input_tokens'] === 'number')
          return { response: body, identity: {} }
        throw new Error('Not a token count.')
      },
      createStream() {
        throw new Error('A token count is not a stream.')
      },
    },
  }
}

/**
 * The body of the response. Throws an `ApiError` if the account has no balance, or if the provider rejects the request
 * as invalid.
 */
export async function countTokens(
  deps: RelayDeps,
  { caller, model, response: writer }: RelayContext,
  request: MessagesRequest,
): Promise<Buffer | string> {
  const { health, ledger, now } = deps
  const isFree = maxCostOf(model.price, 1, 1, caller.priceFactorPpm) === 0n
  if (!isFree && (await ledger.balanceOf(caller.accountId)) <= 0n) throw apiError('insufficient_quota')
  const options = { health, latencyOf: () => null, conversation: null, now, random: Math.random }
  const first = new UpstreamSelector([model], options).next(true)
  if (!first) return estimateResponse(request)
  const { upstream, upstreamModel } = first.route
  const provider = tokenCounter(providerForModel(upstream.provider, upstreamModel))
  if (!provider) return estimateResponse(request)
  const { credential } = first.credential
  const body = request.encodingFor(provider)
  const call = { provider, body, model: upstreamModel, credential, nowMs: now() }
  const attempt = new UpstreamAttempt(deps, singleCall(upstream, call, maxCountMs))
  // Created first and then assigned: docs/decisions/0026-request-objects-in-the-young-generation.md.
  const onDisconnect = (): void => attempt.destroy()
  writer.onDisconnect = onDisconnect
  attempt.send()
  const result = await attempt.result
  writer.onDisconnect = null
  if (result.kind === 'buffered') return result.bytes
  if (result.kind === 'error' && result.error.kind === 'request')
    throw apiErrorFromUpstream(renameModelInError(result.error, first.route))
  return estimateResponse(request)
}

function estimateResponse(request: MessagesRequest): string {
  return JSON.stringify({ input_tokens: request.inputTokens(), sluice: { source: 'estimate' } })
}
