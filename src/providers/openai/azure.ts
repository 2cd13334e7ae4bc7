/**
 * Azure OpenAI: the common format with the key as `api-key`. The address may be any of these, and says which style is
 * spoken; in all of them the upstream's name for the model is the name of the deployment.
 *
 * - `https://{resource}.openai.azure.com/openai/v1`, Azure's present style: nothing is added;
 * - `https://{resource}.openai.azure.com` or `…/openai`, the older style: the deployment goes into the path;
 * - `…/openai/deployments/{deployment}`, the older style with the deployment in it already;
 * - `https://{resource}.services.ai.azure.com/models`, the model inference API.
 */
import { commonProvider } from './openai-format.ts'
import type { Call } from '../provider.ts'

/** The newest versions of the older styles that are not previews, or the only one there is. */
const deploymentsVersion = '2024-10-21'
const modelsVersion = '2024-05-01-preview'

function addressOf({ baseUrl, model }: Call): string {
  const { pathname } = new URL(baseUrl)
  if (pathname.endsWith('/v1')) return `${baseUrl}/chat/completions`
  if (pathname.endsWith('/models')) return `${baseUrl}/chat/completions?api-version=${modelsVersion}`
  const question = `chat/completions?api-version=${deploymentsVersion}`
  if (pathname.includes('/deployments/')) return `${baseUrl}/${question}`
  const root = pathname.endsWith('/openai') ? baseUrl : `${baseUrl}/openai`
  return `${root}/deployments/${encodeURIComponent(model)}/${question}`
}

export const azure = commonProvider({
  name: 'azure',
  title: 'Azure OpenAI',
  baseUrl: null,
  maximumField: 'max_completion_tokens',
  keyHeader: 'api-key',
  addressOf,
  // The other styles name deployments, which only Azure's own management tells.
  modelsAddressOf: (baseUrl) => (new URL(baseUrl).pathname.endsWith('/v1') ? `${baseUrl}/models` : null),
})
