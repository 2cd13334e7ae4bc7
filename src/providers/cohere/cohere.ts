/**
 * Cohere's own format: `POST {base}/chat` with a bearer key; the address ends with its version,
 * `https://api.cohere.com/v2`. The request is in cohere-request.ts, the answer in cohere-answer.ts.
 */
import { chatRequestOf, refuseSeveralResults } from '../chat-request.ts'
import { CohereStream, cohereWhole } from '../cohere-answer.ts'
import { cohereBody } from './cohere-request.ts'
import { objectsIn, textIn } from '../json-fields.ts'
import type { Call, Outgoing, Provider } from '../provider.ts'
import { isObject } from '../usage.ts'

export const cohere: Provider = {
  name: 'cohere',
  title: 'Cohere',
  baseUrl: 'https://api.cohere.com/v2',
  ask(call: Call): Outgoing {
    const { stream } = call.body
    const request = chatRequestOf(call)
    refuseSeveralResults(request)
    return {
      url: `${call.baseUrl}/chat`,
      headers: [
        ['content-type', 'application/json'],
        ['accept', stream ? 'text/event-stream' : 'application/json'],
        ['authorization', `Bearer ${call.credential}`],
        ['user-agent', 'sluice'],
      ],
      body: [Buffer.from(JSON.stringify(cohereBody(request, call.model, stream)))],
    }
  },
  translation: {
    whole: cohereWhole,
    stream: (call) => new CohereStream(call),
  },
  // The list has stayed in the first version of its interface.
  models: ({ baseUrl, credential }) => ({
    url: `${baseUrl.replace(/\/v2$/, '/v1')}/models?endpoint=chat&page_size=1000`,
    headers: [
      ['accept', 'application/json'],
      ['authorization', `Bearer ${credential}`],
      ['user-agent', 'sluice'],
    ],
    namesOf(body) {
      if (!isObject(body) || !Array.isArray(body['models']))
        throw new Error('There is no list of models in the answer.')
      return objectsIn(body, 'models').flatMap((model) => textIn(model, 'name') ?? [])
    },
  }),
  // Its trial keys end a month's calls with 429, its refusal of a token with 498.
  statusOf: ({ status }) => (status === 498 ? 401 : status),
}
