/** Reads a response of `POST /v1/embeddings` for the usage meter: it is complete, and has no output. */
import { getString, isObject } from '../json-fields.ts'
import type { Translation } from '../provider.ts'

export const embeddingsTranslation: Translation = {
  translateResponse(body) {
    if (!isObject(body) || !Array.isArray(body['data'])) throw new Error('The response has no embeddings.')
    const choices = [{ index: 0, finish_reason: 'stop' }]
    const identity = { id: getString(body, 'id'), model: getString(body, 'model') }
    return { response: { choices, usage: body['usage'] }, identity }
  },
  createStream() {
    throw new Error('Embeddings are no stream.')
  },
}
