/**
 * Upstreams with the OpenAI format that speak another API, too: what callers send to it goes to the same path there. Chat
 * requests go to the Responses API for models that only it serves.
 */
import { UnsupportedFeatureError, type Provider, type UpstreamSettings } from '../provider.ts'
import { providerForModel, speaks } from '../registry.ts'
import { embeddingsTranslation } from '../embeddings.ts'
import { isResponsesOnly } from './openai-models.ts'
import { minOutputTokens } from './responses-call.ts'
import { responsesTranslation } from './responses-response.ts'

/** An API that requests of an operation use beside chat completions. */
export type OperationApi = 'responses' | 'completions' | 'embeddings'

/** One object for each provider and API. `chat`: chat requests that are translated for the Responses API. */
const variants: Readonly<Record<OperationApi | 'chat', WeakMap<Provider, Provider>>> = {
  chat: new WeakMap(),
  responses: new WeakMap(),
  completions: new WeakMap(),
  embeddings: new WeakMap(),
}

/**
 * The provider to use for a model of an upstream, as one of the API that a request has if the upstream speaks that;
 * `undefined`: it is unknown. `api` undefined: chat. `rejectsChat`: the model is known to have only the Responses API.
 */
export function providerFor(
  { provider: name, settings }: { readonly provider: string; readonly settings: UpstreamSettings },
  model: string,
  api: OperationApi | undefined,
  rejectsChat = false,
): Provider | undefined {
  const provider = providerForModel(name, model)
  if (!provider) return undefined
  if (api === undefined && !rejectsChat && !isResponsesOnly(model)) return provider
  const isSpoken = speaks('responses', provider, settings)
  return (api === undefined || api === 'responses') && !isSpoken
    ? provider
    : variantOf(provider, api ?? 'chat')
}

function variantOf(provider: Provider, api: OperationApi | 'chat'): Provider {
  let variant = variants[api].get(provider)
  if (!variant) variants[api].set(provider, (variant = createVariant(provider, api)))
  return variant
}

function createVariant(provider: Provider, api: OperationApi | 'chat'): Provider {
  const { buildResponsesRequest, embeddings, completions } = provider
  // Only chat completions have two names of the maximum.
  const variant = { ...provider, maximumField: undefined }
  if (api === 'responses' || api === 'chat') {
    if (!buildResponsesRequest) return provider
    const translated = { ...variant, buildRequest: buildResponsesRequest, translation: responsesTranslation }
    return api === 'chat'
      ? { ...translated, minMaximumTokens: minOutputTokens }
      : { ...translated, nativeFormat: api }
  }
  if (api === 'completions')
    return { ...variant, ...(completions ?? { buildRequest: () => rejectCall(withoutCompletions) }) }
  if (!embeddings) return { ...variant, buildRequest: () => rejectCall(withoutEmbeddings) }
  const { buildRequest } = embeddings
  return { ...variant, nativeFormat: api, buildRequest, translation: embeddingsTranslation(embeddings) }
}

const withoutCompletions = 'the provider of this model has no completions. Use `POST /v1/chat/completions`'
const withoutEmbeddings = 'the provider of this model has no embeddings'

function rejectCall(problem: string): never {
  throw new UnsupportedFeatureError('model', problem)
}
