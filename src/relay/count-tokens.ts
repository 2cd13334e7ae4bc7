/**
 * How many tokens a request of Anthropic's format has: asked of the upstream that would be asked first, where it speaks
 * that format, else by the specification's estimate. Nothing is held and nothing charged; it takes a place in the rates.
 */
import type { PricedModel } from '../catalog/catalog.ts'
import type { Provider } from '../providers/provider.ts'
import { dialectOf } from '../providers/registry.ts'
import { isObject } from '../providers/usage.ts'
import { Attempt } from './routing/attempt.ts'
import type { CallerExchange } from './exchange.ts'
import { Choice } from './choice.ts'
import type { AttemptMeans } from './failover.ts'
import type { HealthPort } from './health-port.ts'
import { refusalOfFault } from './routing/upstream-error.ts'
import type { MessagesRequest } from './request/messages-request.ts'

/** A count is not worth a longer wait than this. */
const mostMs = 10_000

/** A provider whose answers are counts of tokens. */
function counting(provider: Provider): Provider | null {
  const { countTokens } = provider
  if (!countTokens) return null
  return {
    ...provider,
    ask: countTokens,
    translation: {
      whole(body) {
        if (isObject(body) && typeof body['input_tokens'] === 'number') return body
        throw new Error('This is no count of tokens.')
      },
      stream() {
        throw new Error('A count is no stream.')
      },
    },
  }
}

/** The answer's body. Throws the refusal of a request that the provider finds wrong. */
export async function countTokens(
  means: AttemptMeans & { readonly health: HealthPort },
  model: PricedModel,
  request: MessagesRequest,
  exchange: CallerExchange,
): Promise<Buffer | string> {
  const { health, now } = means
  const terms = { health, latencyOf: () => null, conversation: null, now, chance: Math.random }
  const first = new Choice([model], terms).next(true)
  const provider = first && dialectOf(first.route.upstream.provider, first.route.upstreamModel)
  const counter = provider && counting(provider)
  if (!first || !counter) return estimated(request)
  const { credential } = first.credential
  const { upstream, upstreamModel } = first.route
  const { baseUrl, settings, timeouts, proxy } = upstream
  const wording = request.wordingFor(counter)
  const call = {
    body: wording,
    model: upstreamModel,
    maximumTokens: null,
    baseUrl,
    credential,
    settings,
    withoutStreamOptions: false,
    modelMaximumTokens: null,
    nowMs: now(),
  }
  const answerMs = Math.min(timeouts.answerMs, mostMs)
  const bounded = { ...timeouts, answerMs, idleMs: Math.min(timeouts.idleMs, mostMs) }
  const attempt = new Attempt(call, { ...means, provider: counter, wording, timeouts: bounded, proxy })
  // Made first and then assigned: docs/decisions/0026-requests-die-young.md.
  const onGone = (): void => attempt.destroy()
  exchange.onGone = onGone
  attempt.send()
  const result = await attempt.result
  exchange.onGone = null
  if (result.kind === 'whole') return result.bytes
  if (result.kind === 'fault' && result.fault.kind === 'request') throw refusalOfFault(result.fault)
  return estimated(request)
}

function estimated(request: MessagesRequest): string {
  return JSON.stringify({ input_tokens: request.inputTokens(), sluice: { source: 'estimate' } })
}
