/**
 * Google's own format with an API key: `POST {base}/models/{model}:generateContent`, streamed as
 * `:streamGenerateContent?alt=sse`; the address ends with its version,
 * `https://generativelanguage.googleapis.com/v1beta`. The request is in gemini-request.ts, the answer in
 * gemini-answer.ts; Vertex speaks the same (vertex.ts).
 */
import { chatRequestOf } from '../chat-request.ts'
import { GeminiStream, geminiWhole } from '../gemini-answer.ts'
import { geminiBody } from './gemini-request.ts'
import { objectIn, objectsIn, textIn } from '../json-fields.ts'
import type { Call, Failure, Outgoing, Provider, Translation } from '../provider.ts'
import { isObject } from '../usage.ts'

/** Asks the model under an address, with the header that proves who asks. */
export function askGemini(call: Call, baseUrl: string, proof: readonly [string, string]): Outgoing {
  const { stream } = call.body
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const { model } = call
  // Tuned models and others are named with the folder they are in.
  const path = model.includes('/') ? model : `models/${model}`
  return {
    url: `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}:${method}`,
    headers: [
      ['content-type', 'application/json'],
      ['accept', stream ? 'text/event-stream' : 'application/json'],
      proof,
      ['user-agent', 'sluice'],
    ],
    body: [Buffer.from(JSON.stringify(geminiBody(chatRequestOf(call), model)))],
  }
}

export const geminiTranslation: Translation = {
  whole: geminiWhole,
  stream: (call) => new GeminiStream(call),
}

/** A key that is not valid, and a place that may not ask, are told as bad requests. */
export function googleStatus({ status, body }: Failure): number {
  const error = isObject(body) ? objectIn(body, 'error') : undefined
  if (status !== 400 || !error) return status
  const isKey = objectsIn(error, 'details').some((detail) => detail['reason'] === 'API_KEY_INVALID')
  return isKey || textIn(error, 'status') === 'FAILED_PRECONDITION' ? 403 : status
}

/** Models that write text; the folder before their names is left out, as `routes[].model` does. */
function namesInModels(body: unknown): string[] {
  if (!isObject(body) || !Array.isArray(body['models']))
    throw new Error('There is no list of models in the answer.')
  return objectsIn(body, 'models').flatMap((model) => {
    const methods: unknown = model['supportedGenerationMethods']
    const writes = !Array.isArray(methods) || methods.includes('generateContent')
    return writes ? (textIn(model, 'name')?.replace(/^models\//, '') ?? []) : []
  })
}

export const gemini: Provider = {
  name: 'gemini',
  title: 'Google Gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  ask: (call) => askGemini(call, call.baseUrl, ['x-goog-api-key', call.credential]),
  translation: geminiTranslation,
  models: ({ baseUrl, credential }) => ({
    url: `${baseUrl}/models?pageSize=1000`,
    headers: [
      ['accept', 'application/json'],
      ['x-goog-api-key', credential],
      ['user-agent', 'sluice'],
    ],
    namesOf: namesInModels,
  }),
  statusOf: googleStatus,
}
