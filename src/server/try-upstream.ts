/** One real, cheap call of an upstream, to see whether it answers. */
import type { Catalog, LiveUpstream } from '../catalog/catalog.ts'
import { refuse } from '../errors.ts'
import type { UpstreamTrial } from '../http/house.ts'
import type { AttemptMeans } from '../relay/failover.ts'
import { Attempt } from '../relay/routing/attempt.ts'
import { readChatRequest } from '../relay/request/request-body.ts'
import type { Provider } from '../providers/provider.ts'
import { providerOf } from '../providers/registry.ts'
import { fetchModels } from './fetch-models.ts'

const question = { messages: [{ role: 'user', content: 'Answer with OK.' }], max_tokens: 16 }

function modelFor(catalog: Catalog, upstreamId: string): string | null {
  for (const model of catalog.listed()) {
    const route = model.routes.find((each) => each.upstream.id === upstreamId)
    if (route) return route.upstreamModel
  }
  return null
}

/** `model`: the upstream's name for one; `null`: that of any route to it. While there is none, its list of models is asked for. */
export async function tryUpstream(
  catalog: Catalog,
  means: AttemptMeans,
  upstreamId: string,
  model: string | null,
): Promise<UpstreamTrial> {
  const upstream = catalog.upstream(upstreamId)
  const provider = providerOf(upstream?.provider ?? '')
  if (!upstream || !provider) throw refuse('not_found', { message: 'There is no such upstream.' })
  const name = model ?? modelFor(catalog, upstreamId)
  if (name === null && provider.models?.(upstream)) {
    const startedAt = means.now()
    const { ok, status, message } = await fetchModels(catalog, means, upstreamId)
    return { ok, status, durationMs: means.now() - startedAt, message }
  }
  if (name === null) {
    throw refuse('invalid_request', {
      param: 'model',
      message: 'Name a model of the upstream: no route leads to it.',
    })
  }
  const attempt = cheapCall(means, { upstream, provider, credential: upstream.credential, model: name })
  const result = await attempt.result
  const ok = result.kind === 'whole'
  const message = result.kind === 'fault' ? result.fault.message : 'It answers.'
  return { ok, status: attempt.status, durationMs: attempt.ageMs, message }
}

export interface CheapCall {
  readonly upstream: LiveUpstream
  readonly provider: Provider
  readonly credential: string
  /** The upstream's name for it. */
  readonly model: string
  /** How long the answer may take; default: as long as the upstream is given. */
  readonly mostMs?: number
}

/** Asks for a word, and no more than sixteen tokens. */
export function cheapCall(means: AttemptMeans, asked: CheapCall): Attempt {
  const { upstream, credential, model, mostMs = Infinity } = asked
  const provider = asked.provider.dialectOf?.(model) ?? asked.provider
  const body = readChatRequest(Buffer.from(JSON.stringify({ model, ...question })))
  const { baseUrl, settings, proxy } = upstream
  const { answerMs, idleMs } = upstream.timeouts
  const timeouts = {
    ...upstream.timeouts,
    answerMs: Math.min(answerMs, mostMs),
    idleMs: Math.min(idleMs, mostMs),
  }
  const call = {
    body,
    model,
    maximumTokens: null,
    baseUrl,
    credential,
    settings,
    withoutStreamOptions: false,
    modelMaximumTokens: null,
    nowMs: means.now(),
  }
  const attempt = new Attempt(call, { ...means, provider, wording: body, timeouts, proxy })
  attempt.send()
  return attempt
}
