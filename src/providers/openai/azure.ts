/**
 * Azure OpenAI: the OpenAI format with the key as `api-key`. The base URL determines the style; in all styles the
 * upstream's name for the model is the name of the deployment.
 *
 * - `https://{resource}.openai.azure.com/openai/v1`, Azure's current style: nothing is added;
 * - `https://{resource}.openai.azure.com` or `…/openai`, the older style: the deployment is added to the path;
 * - `…/openai/deployments/{deployment}`, the older style with the deployment in the path;
 * - `https://{resource}.services.ai.azure.com/models`, the model inference API.
 */
import { openAICompatibleProvider } from './openai-format.ts'
import type { UpstreamCall } from '../provider.ts'

/** The latest versions of the older styles that are not previews, or the only version. */
const deploymentsVersion = '2024-10-21'
const modelsVersion = '2024-05-01-preview'

function urlFor(path: string, { baseUrl, model }: UpstreamCall): string {
  const { pathname } = new URL(baseUrl)
  if (pathname.endsWith('/v1')) return `${baseUrl}/${path}`
  if (pathname.endsWith('/models')) return `${baseUrl}/${path}?api-version=${modelsVersion}`
  const endpoint = `${path}?api-version=${deploymentsVersion}`
  if (pathname.includes('/deployments/')) return `${baseUrl}/${endpoint}`
  const root = pathname.endsWith('/openai') ? baseUrl : `${baseUrl}/openai`
  return `${root}/deployments/${encodeURIComponent(model)}/${endpoint}`
}

/** Only the current style has it. */
function responsesUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl)
  return pathname.endsWith('/v1') ? `${baseUrl}/responses` : `${origin}/openai/v1/responses`
}

export const azure = openAICompatibleProvider({
  name: 'azure',
  title: 'Azure OpenAI',
  baseUrl: null,
  maximumField: 'max_completion_tokens',
  keyHeader: 'api-key',
  namesDeployments: true,
  chatUrl: (call) => urlFor('chat/completions', call),
  embeddingsUrl: (call) => urlFor('embeddings', call),
  completionsUrl: (call) => urlFor('completions', call),
  speaks: ['responses'],
  responsesUrl,
  // The other styles use deployments, which only Azure's management API lists.
  modelsUrl: (baseUrl) => (new URL(baseUrl).pathname.endsWith('/v1') ? `${baseUrl}/models` : null),
})
