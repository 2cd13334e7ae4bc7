/**
 * Counts the input tokens of a request: by the upstream that would be tried first, if it can count them, else by the
 * estimate. It holds and charges nothing, but counts in the rate limits and, like a chat request,
 * needs a balance unless the model is free: it uses the operator's credential.
 */
import { apiError } from '../errors.ts'
import { boundOf, maxCostOf } from '../ledger/cost-bound.ts'
import type { Provider } from '../providers/provider.ts'
import { providerForModel } from '../providers/registry.ts'
import { isObject } from '../providers/json-fields.ts'
import { singleCall } from './routing/attempt-call.ts'
import { UpstreamAttempt } from './routing/attempt.ts'
import type { RelayContext, RelayDeps } from './request-context.ts'
import { UpstreamSelector } from './routing/upstream-selector.ts'
import { apiErrorFromUpstream } from './routing/upstream-error.ts'
import { renameModelInError } from './streaming/model-renaming.ts'
import type { CallerRequest } from './request/caller-format.ts'

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
        if (!isObject(body) || typeof body['input_tokens'] !== 'number') throw new Error('Not a token count.')
        return { response: { usage: { prompt_tokens: body['input_tokens'] } }, identity: {} }
      },
      createStream() {
        throw new Error('A token count is not a stream.')
      },
    },
  }
}

/** `bytes`: the provider's response, if it has counted. */
export interface TokenCount {
  readonly tokens: number
  readonly bytes: Buffer | null
}

/** Throws an `ApiError` if the account has no balance, or if the provider rejects the request as invalid. */
export async function countTokens(
  deps: RelayDeps,
  { caller, model, response: writer }: RelayContext,
  request: CallerRequest,
): Promise<TokenCount> {
  const { health, ledger, now } = deps
  const isFree = maxCostOf(boundOf(model.price, 1), 1, 1, caller.priceFactorPpm) === 0n
  if (!isFree && (await ledger.balanceOf(caller.accountId)) <= 0n) throw apiError('insufficient_quota')
  const options = {
    health,
    latencyOf: () => null,
    conversation: null,
    holder: null,
    now,
    random: Math.random,
  }
  const first = new UpstreamSelector([model], options).next(true)
  if (!first) return estimatedCount(request)
  const { upstream, upstreamModel } = first.route
  const provider = tokenCounter(providerForModel(upstream.provider, upstreamModel))
  if (!provider) return estimatedCount(request)
  const { credential } = first.credential
  const body = request.encodingFor(provider)
  const call = { provider, body, model: upstreamModel, credential, nowMs: now() }
  // The count of a request does not take all fields of the request.
  const added = upstream.added && { ...upstream.added, body: {} }
  const attempt = new UpstreamAttempt(deps, { ...singleCall(upstream, call, maxCountMs), added })
  // Created first and then assigned: docs/decisions/0026-request-objects-in-the-young-generation.md.
  const onDisconnect = (): void => attempt.destroy()
  writer.onDisconnect = onDisconnect
  attempt.send()
  const result = await attempt.result
  writer.onDisconnect = null
  if (result.kind === 'buffered') return { tokens: result.meter.usage?.input ?? 0, bytes: result.bytes }
  if (result.kind === 'error' && result.error.kind === 'request')
    throw apiErrorFromUpstream(renameModelInError(result.error, first.route))
  return estimatedCount(request)
}

function estimatedCount(request: CallerRequest): TokenCount {
  return { tokens: request.inputTokens(), bytes: null }
}

/** What marks a count that no provider has made. */
export const estimateMark = { sluice: { source: 'estimate' } }
