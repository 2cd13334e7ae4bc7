/**
 * Mistral: the OpenAI format, but completions are those of code between a prompt and a suffix, with responses as of chat
 * (`POST {base}/fim/completions`; docs.mistral.ai, "FIM").
 */
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import { getObject, getObjects, getString, isObject, omitUndefined, type Json } from '../json-fields.ts'
import {
  modelRequest,
  UnsupportedFeatureError,
  type Chunk,
  type CompletionsFormat,
  type Provider,
  type ResponseIdentity,
  type Translation,
  type UpstreamCall,
} from '../provider.ts'
import { withoutHints } from '../request-hints.ts'
import { openAICompatibleProvider } from './openai-format.ts'

/** Mistral rejects requests with fields that it does not know. */
const sameFields = ['suffix', 'temperature', 'top_p', 'stop', 'min_tokens', 'metadata'] as const

/** What changes the result and Mistral does not have, with the values that ask for nothing. */
const missingFeatures: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  best_of: [0, 1],
  echo: [false],
  logprobs: [],
}

function promptOf({ prompt }: Json): string {
  const [text, ...others] = Array.isArray(prompt) ? (prompt as readonly unknown[]) : [prompt]
  if (typeof text === 'string' && others.length === 0) return text
  throw new UnsupportedFeatureError('prompt', 'must be one text for this provider')
}

/** Without a suffix, Mistral continues the prompt. */
function encodeRequest({ body, model, maximumTokens, withoutFields }: UpstreamCall): Json {
  const request = withoutHints(body.parsed(), withoutFields)
  for (const [field, allowed] of Object.entries(missingFeatures)) {
    const value = request[field] ?? null
    if (value !== null && !allowed.includes(value))
      throw new UnsupportedFeatureError(field, 'not supported by this provider')
  }
  return omitUndefined({
    model,
    prompt: promptOf(request),
    ...Object.fromEntries(sameFields.map((field) => [field, request[field] ?? undefined])),
    random_seed: request['random_seed'] ?? request['seed'] ?? undefined,
    max_tokens: maximumTokens ?? body.callerMaximumTokens,
    stream: body.stream,
  })
}

/** The text of a message or delta; some models write it in parts. */
function textOf(written: unknown): string {
  if (!isObject(written)) return ''
  const { content } = written
  if (typeof content === 'string') return content
  return getObjects(written, 'content')
    .map((part) => getString(part, 'text') ?? '')
    .join('')
}

/** A response or chunk as one of completions. */
function toCompletion(json: Json): Json {
  if (!Array.isArray(json['choices'])) throw new Error('The response has no choices.')
  const choices = getObjects(json, 'choices').map(
    ({ message, delta, finish_reason: finish, index }, position) => ({
      text: textOf(message ?? delta),
      index: index ?? position,
      logprobs: null,
      finish_reason: finish === 'model_length' ? 'length' : (finish ?? null),
    }),
  )
  return { ...json, object: 'text_completion', choices }
}

function identityOf(json: Json): ResponseIdentity {
  return { id: getString(json, 'id'), model: getString(json, 'model') }
}

/** The chunk without its usage, and the usage as a chunk of its own. */
function toChunks(json: Json): Chunk[] {
  const { usage, ...chunk } = toCompletion(json)
  return isObject(usage) ? [chunk, { ...chunk, choices: [], usage }] : [chunk]
}

const translation: Translation = {
  translateResponse(body) {
    if (!isObject(body)) throw new Error('The response is not an object.')
    return { response: toCompletion(body), identity: identityOf(body) }
  },
  createStream() {
    let isComplete = false
    let identity: ResponseIdentity = {}
    return {
      translate({ text }) {
        if (text.trim() === '[DONE]') {
          isComplete = true
          return []
        }
        const json = parseBoundedJson(text)
        if (!isObject(json)) throw new Error('The event is not an object.')
        if (getObject(json, 'error')) return [json]
        identity = identityOf(json)
        return toChunks(json)
      },
      end: () => [],
      get isComplete() {
        return isComplete
      },
      get identity() {
        return identity
      },
    }
  },
}

const completions: CompletionsFormat = {
  buildRequest: (call) =>
    modelRequest(
      call,
      `${call.baseUrl}/fim/completions`,
      [['authorization', `Bearer ${call.credential}`]],
      encodeRequest(call),
    ),
  translation,
}

export const mistral: Provider = {
  ...openAICompatibleProvider({ name: 'mistral', title: 'Mistral', baseUrl: 'https://api.mistral.ai/v1' }),
  completions,
}
