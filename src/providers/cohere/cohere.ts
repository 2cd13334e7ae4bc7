/**
 * Cohere's format: `POST {base}/chat` with a bearer key; the base URL ends with the version,
 * `https://api.cohere.com/v2`. See cohere-request.ts and cohere-response.ts.
 */
import { parseChatRequest, requireSingleResult } from '../chat-request.ts'
import { cohereTranslation } from './cohere-response.ts'
import { buildCohereBody } from './cohere-request.ts'
import { getObjects, getString } from '../json-fields.ts'
import type { UpstreamCall, OutgoingRequest, Provider } from '../provider.ts'
import { isObject } from '../usage.ts'

export const cohere: Provider = {
  name: 'cohere',
  title: 'Cohere',
  baseUrl: 'https://api.cohere.com/v2',
  buildRequest(call: UpstreamCall): OutgoingRequest {
    const { stream } = call.body
    const request = parseChatRequest(call)
    requireSingleResult(request)
    return {
      url: `${call.baseUrl}/chat`,
      headers: [
        ['content-type', 'application/json'],
        ['accept', stream ? 'text/event-stream' : 'application/json'],
        ['authorization', `Bearer ${call.credential}`],
        ['user-agent', 'sluice'],
      ],
      body: [Buffer.from(JSON.stringify(buildCohereBody(request, call.model, stream)))],
    }
  },
  translation: cohereTranslation,
  // The list of models is still in version 1 of the API.
  buildModelListRequest: ({ baseUrl, credential }) => ({
    url: `${baseUrl.replace(/\/v2$/, '/v1')}/models?endpoint=chat&page_size=1000`,
    headers: [
      ['accept', 'application/json'],
      ['authorization', `Bearer ${credential}`],
      ['user-agent', 'sluice'],
    ],
    parseNames(body) {
      if (!isObject(body) || !Array.isArray(body['models']))
        throw new Error('The response has no list of models.')
      return getObjects(body, 'models').flatMap((model) => getString(model, 'name') ?? [])
    },
  }),
  // An invalid token has status 498; a trial key out of its monthly calls has 429.
  effectiveStatus: ({ status }) => (status === 498 ? 401 : status),
}
