/**
 * Cohere's format: `POST {base}/chat` with a bearer key; the base URL ends with the version,
 * `https://api.cohere.com/v2`. See cohere-request.ts and cohere-response.ts.
 */
import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import { cohereEmbeddings } from './cohere-embeddings.ts'
import { cohereTranslation } from './cohere-response.ts'
import { buildCohereBody } from './cohere-request.ts'
import { getObjects, getString, isObject } from '../json-fields.ts'
import {
  modelListRequest,
  modelRequest,
  type UpstreamCall,
  type OutgoingRequest,
  type Provider,
} from '../provider.ts'

export const cohere: Provider = {
  name: 'cohere',
  title: 'Cohere',
  baseUrl: 'https://api.cohere.com/v2',
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const request = parseChatRequest(call)
    requireSingleResult(request)
    const body = buildCohereBody(request, call.model, call.body.stream)
    return modelRequest(call, `${call.baseUrl}/chat`, [['authorization', `Bearer ${call.credential}`]], body)
  },
  translation: cohereTranslation,
  embeddings: cohereEmbeddings,
  // The list of models is still in version 1 of the API.
  buildModelListRequest: ({ baseUrl, credential }) =>
    modelListRequest({
      url: `${baseUrl.replace(/\/v2$/, '/v1')}/models?endpoint=chat&page_size=1000`,
      headers: [['authorization', `Bearer ${credential}`]],
      parseNames(body) {
        if (!isObject(body) || !Array.isArray(body['models']))
          throw new Error('The response has no list of models.')
        return getObjects(body, 'models').flatMap((model) => getString(model, 'name') ?? [])
      },
    }),
  // An invalid token has status 498; a trial key out of its monthly calls has 429.
  effectiveStatus: ({ status }) => (status === 498 ? 401 : status),
}
