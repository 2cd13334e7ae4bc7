/** Upstreams that speak the Responses API: what callers send to it passes through to `POST {base}/responses`. */
import type { Provider, UpstreamSettings } from '../provider.ts'
import { providerForModel, speaks } from '../registry.ts'
import { responsesTranslation } from './responses-response.ts'

const speaking = new WeakMap<Provider, Provider>()

/**
 * The provider to use for a model of an upstream, as one of the API that a request has if the upstream speaks that;
 * `undefined`: it is unknown.
 */
export function providerFor(
  { provider: name, settings }: { readonly provider: string; readonly settings: UpstreamSettings },
  model: string,
  api: 'responses' | undefined,
): Provider | undefined {
  const provider = providerForModel(name, model)
  if (!provider?.buildResponsesRequest || api === undefined || !speaks(api, provider, settings))
    return provider
  let found = speaking.get(provider)
  if (!found) {
    const { buildResponsesRequest: buildRequest } = provider
    found = { ...provider, nativeFormat: api, buildRequest, translation: responsesTranslation }
    speaking.set(provider, found)
  }
  return found
}
