/** Upstreams with the OpenAI format that speak another API, too: what callers send to it goes to the same path there. */
import { UnsupportedFeatureError, type Provider, type UpstreamSettings } from '../provider.ts'
import { providerForModel, speaks } from '../registry.ts'
import { embeddingsTranslation } from '../embeddings.ts'
import { responsesTranslation } from './responses-response.ts'

type Spoken = 'responses' | 'completions' | 'embeddings'

/** One object for each provider and API. */
const variants: Readonly<Record<Spoken, WeakMap<Provider, Provider>>> = {
  responses: new WeakMap(),
  completions: new WeakMap(),
  embeddings: new WeakMap(),
}

/**
 * The provider to use for a model of an upstream, as one of the API that a request has if the upstream speaks that;
 * `undefined`: it is unknown.
 */
export function providerFor(
  { provider: name, settings }: { readonly provider: string; readonly settings: UpstreamSettings },
  model: string,
  api: Spoken | undefined,
): Provider | undefined {
  const provider = providerForModel(name, model)
  if (!provider || api === undefined) return provider
  let variant = variants[api].get(provider)
  if (!variant) variants[api].set(provider, (variant = createVariant(provider, api)))
  return api === 'responses' && !speaks(api, provider, settings) ? provider : variant
}

function createVariant(provider: Provider, api: Spoken): Provider {
  const { buildResponsesRequest, embeddings, buildCompletionRequest } = provider
  if (api === 'responses') {
    if (!buildResponsesRequest) return provider
    const translation = responsesTranslation
    return { ...provider, nativeFormat: api, buildRequest: buildResponsesRequest, translation }
  }
  if (api === 'completions')
    return { ...provider, buildRequest: buildCompletionRequest ?? (() => rejectCall(withoutCompletions)) }
  if (!embeddings) return { ...provider, buildRequest: () => rejectCall(withoutEmbeddings) }
  const { buildRequest } = embeddings
  return { ...provider, nativeFormat: api, buildRequest, translation: embeddingsTranslation(embeddings) }
}

const withoutCompletions = 'the provider of this model has no completions. Use `POST /v1/chat/completions`'
const withoutEmbeddings = 'the provider of this model has no embeddings'

function rejectCall(problem: string): never {
  throw new UnsupportedFeatureError('model', problem)
}
