/** Tests an upstream with one real, cheap call. */
import type { Catalog, LiveUpstream } from '../../catalog/catalog.ts'
import { apiError, notFound } from '../../errors.ts'
import type { TestCallResult } from '../../health/upstream-tests.ts'
import { singleCall } from '../routing/attempt-call.ts'
import type { AttemptDeps } from '../request-context.ts'
import { UpstreamAttempt } from '../routing/attempt.ts'
import { readChatRequest } from '../request/request-body.ts'
import type { Provider } from '../../providers/provider.ts'
import { findProvider } from '../../providers/registry.ts'
import { fetchModels } from './fetch-models.ts'

const testMessages = { messages: [{ role: 'user', content: 'Answer with OK.' }], max_tokens: 16 }

function modelOfAnyRoute(catalog: Catalog, upstreamId: string): string | null {
  for (const model of catalog.listed()) {
    const route = model.routes.find((each) => each.upstream.id === upstreamId)
    if (route) return route.upstreamModel
  }
  return null
}

/** `model`: in the upstream's naming; `null`: that of any route to it, or, if there is none, a request for its list of models. */
export async function testUpstream(
  catalog: Catalog,
  context: AttemptDeps,
  upstreamId: string,
  model: string | null,
): Promise<TestCallResult> {
  const upstream = catalog.upstream(upstreamId)
  const provider = findProvider(upstream?.provider ?? '')
  if (!upstream || !provider) throw notFound('Upstream')
  const name = model ?? modelOfAnyRoute(catalog, upstreamId)
  if (name === null && provider.buildModelListRequest?.(upstream)) {
    const startedAt = context.now()
    const { ok, status, message } = await fetchModels(catalog, context, upstreamId)
    return { ok, status, durationMs: context.now() - startedAt, message }
  }
  if (name === null) {
    throw apiError('invalid_request', {
      param: 'model',
      message: 'Specify a model of the upstream: no model has a route to it.',
    })
  }
  const attempt = sendTestCall(context, { upstream, provider, credential: upstream.credential, model: name })
  const result = await attempt.result
  const ok = result.kind === 'buffered'
  const message = result.kind === 'error' ? result.error.message : 'The upstream responded.'
  return { ok, status: attempt.status, durationMs: attempt.ageMs, message }
}

export interface TestCallOptions {
  readonly upstream: LiveUpstream
  readonly provider: Provider
  readonly credential: string
  /** In the upstream's naming. */
  readonly model: string
  /** How long the call may take. Default: the upstream's timeouts. */
  readonly maxDurationMs?: number
}

/** Requests one word, with a maximum of 16 output tokens. */
export function sendTestCall(context: AttemptDeps, options: TestCallOptions): UpstreamAttempt {
  const { upstream, credential, model, maxDurationMs = Infinity } = options
  const provider = options.provider.forModel?.(model) ?? options.provider
  const body = readChatRequest(Buffer.from(JSON.stringify({ model, ...testMessages })))
  const call = { provider, body, model, credential, nowMs: context.now() }
  const attempt = new UpstreamAttempt(context, singleCall(upstream, call, maxDurationMs))
  attempt.send()
  return attempt
}
