/**
 * Gemini's format with an API key: `POST {base}/models/{model}:generateContent`, streaming as
 * `:streamGenerateContent?alt=sse`; the base URL ends with the version,
 * `https://generativelanguage.googleapis.com/v1beta`. See gemini-request.ts and gemini-response.ts. Vertex has the same
 * format (vertex.ts).
 */
import { parseChatRequest } from '../chat-request.ts'
import { geminiEmbeddings } from './google-embeddings.ts'
import { geminiTranslation } from './gemini-response.ts'
import { buildGeminiBody } from './gemini-request.ts'
import { getObject, getObjects, getString, isObject } from '../json-fields.ts'
import { geminiNames } from '../provider-names.ts'
import {
  modelListRequest,
  modelRequest,
  type UpstreamCall,
  type FailureResponse,
  type OutgoingRequest,
  type Provider,
} from '../provider.ts'

/** Builds a request to a model under a base URL, with the header that authenticates it. */
export function buildGeminiRequest(
  call: UpstreamCall,
  baseUrl: string,
  authHeader: readonly [string, string],
): OutgoingRequest {
  const method = call.body.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const { model } = call
  // Names of tuned models and some others include their folder.
  const path = model.includes('/') ? model : `models/${model}`
  const url = `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}:${method}`
  return modelRequest(call, url, [authHeader], buildGeminiBody(parseChatRequest(call, geminiNames), model))
}

/** An invalid key and an unsupported location are reported with status 400. */
export function googleEffectiveStatus({ status, body }: FailureResponse): number {
  const error = isObject(body) ? getObject(body, 'error') : undefined
  if (status !== 400 || !error) return status
  const isKey = getObjects(error, 'details').some((detail) => detail['reason'] === 'API_KEY_INVALID')
  return isKey || getString(error, 'status') === 'FAILED_PRECONDITION' ? 403 : status
}

/** The models that generate text, without the folder in their names, as in `routes[].model`. */
function parseModelNames(body: unknown): string[] {
  if (!isObject(body) || !Array.isArray(body['models']))
    throw new Error('The response has no list of models.')
  return getObjects(body, 'models').flatMap((model) => {
    const methods: unknown = model['supportedGenerationMethods']
    const writes = !Array.isArray(methods) || methods.includes('generateContent')
    return writes ? (getString(model, 'name')?.replace(/^models\//, '') ?? []) : []
  })
}

export const gemini: Provider = {
  name: 'gemini',
  title: 'Google Gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  buildRequest: (call) => buildGeminiRequest(call, call.baseUrl, ['x-goog-api-key', call.credential]),
  translation: geminiTranslation,
  embeddings: geminiEmbeddings,
  buildModelListRequest: ({ baseUrl, credential }) =>
    modelListRequest({
      url: `${baseUrl}/models?pageSize=1000`,
      headers: [['x-goog-api-key', credential]],
      parseNames: parseModelNames,
    }),
  effectiveStatus: googleEffectiveStatus,
}
