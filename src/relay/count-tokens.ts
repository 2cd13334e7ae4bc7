/**
 * Counts the tokens of a request in Anthropic's format: by the upstream that would be tried first, if it has that
 * format, else by the estimate. It holds and charges nothing, but counts in the rate limits and, like a chat request,
 * needs a balance unless the model is free: it uses the operator's credential.
 */
import type { Caller } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import { apiError } from '../errors.ts'
import { maxCostOf } from '../ledger/price.ts'
import type { Provider } from '../providers/provider.ts'
import { providerForModel } from '../providers/registry.ts'
import { isObject } from '../providers/usage.ts'
import { UpstreamAttempt } from './routing/attempt.ts'
import type { LedgerClient } from './ledger-client.ts'
import type { ResponseWriter } from './response-writer.ts'
import { UpstreamSelector } from './routing/upstream-selector.ts'
import type { AttemptDeps } from './routing/failover.ts'
import type { HealthClient } from './routing/health-client.ts'
import { apiErrorFromUpstream } from './routing/upstream-error.ts'
import { renameModelInError } from './streaming/model-renaming.ts'
import type { MessagesRequest } from './request/messages-request.ts'

/** The maximum time to wait for a count. */
const maxCountMs = 10_000

/** The provider as one whose responses are token counts. */
function tokenCounter(provider: Provider): Provider | null {
  const { buildCountRequest } = provider
  if (!buildCountRequest) return null
  return {
    ...provider,
    buildRequest: buildCountRequest,
    translation: {
      translateResponse(body) {
        if (isObject(body) && typeof body['input_tokens'] === 'number') return body
        throw new Error('Not a token count.')
      },
      createStream() {
        throw new Error('A token count is not a stream.')
      },
    },
  }
}

export interface TokenCount {
  readonly caller: Caller
  readonly model: PricedModel
  readonly request: MessagesRequest
}

/**
 * The body of the response. Throws an `ApiError` if the account has no balance, or if the provider rejects the request
 * as invalid.
 */
export async function countTokens(
  deps: AttemptDeps & { readonly health: HealthClient; readonly ledger: LedgerClient },
  { caller, model, request }: TokenCount,
  writer: ResponseWriter,
): Promise<Buffer | string> {
  const { health, ledger, now } = deps
  const isFree = maxCostOf(model.price, 1, 1, caller.priceFactorPpm) === 0n
  if (!isFree && (await ledger.balanceOf(caller.accountId)) <= 0n) throw apiError('insufficient_quota')
  const options = { health, latencyOf: () => null, conversation: null, now, random: Math.random }
  const first = new UpstreamSelector([model], options).next(true)
  const provider = first && providerForModel(first.route.upstream.provider, first.route.upstreamModel)
  const counter = provider && tokenCounter(provider)
  if (!first || !counter) return estimateResponse(request)
  const { credential } = first.credential
  const { upstream, upstreamModel } = first.route
  const { baseUrl, settings, timeouts, proxy } = upstream
  const encoding = request.encodingFor(counter)
  const call = {
    body: encoding,
    model: upstreamModel,
    maximumTokens: null,
    baseUrl,
    credential,
    settings,
    modelMaximumTokens: null,
    nowMs: now(),
  }
  const answerMs = Math.min(timeouts.answerMs, maxCountMs)
  const bounded = { ...timeouts, answerMs, idleMs: Math.min(timeouts.idleMs, maxCountMs) }
  const attempt = new UpstreamAttempt(call, {
    ...deps,
    provider: counter,
    encoding,
    timeouts: bounded,
    proxy,
  })
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
