/** How providers make embeddings: the request of a call, and its response as the list of OpenAI's format. */
import { getCount, getNumber, getObject, getObjects, getString, isObject, type Json } from './json-fields.ts'
import {
  UnsupportedFeatureError,
  type EmbeddingsFormat,
  type Translation,
  type UpstreamCall,
} from './provider.ts'

/** The member under which the responses to several calls are joined. */
export const joinedParts = 'joined_parts'

/** The inputs of the call, which must be texts. Throws `UnsupportedFeatureError` for token ids. */
export function textsOf({ body, part = 0 }: UpstreamCall, maxInputs: number): string[] {
  const { input } = body.parsed()
  const inputs: unknown[] = Array.isArray(input) ? input : [input]
  return inputs.slice(part * maxInputs, (part + 1) * maxInputs).map((each) => {
    if (typeof each === 'string') return each
    throw new UnsupportedFeatureError('input', 'the provider of this model takes texts, no token ids')
  })
}

/** The dimensions that the request asks for; `undefined`: the model's. */
export function dimensionsOf({ body }: UpstreamCall): number | undefined {
  return getNumber(body.parsed(), 'dimensions')
}

/** OpenAI's list. `tokens` null: the provider does not count them. */
export function toEmbeddingList(embeddings: readonly unknown[], tokens: number | null): Json {
  const data = embeddings.map((embedding, index) => {
    if (!Array.isArray(embedding)) throw new Error('The response has no embeddings.')
    return { object: 'embedding', index, embedding }
  })
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }
  return { object: 'list', data, ...usage }
}

/** Numbers, or base64 of them. */
function hasEmbedding(item: unknown): boolean {
  const embedding: unknown = isObject(item) ? item['embedding'] : undefined
  return (Array.isArray(embedding) || typeof embedding === 'string') && embedding.length > 0
}

/** The response to a request, or the responses to its calls, as one list. Throws if one is not valid in its format. */
export function embeddingList({ toList }: EmbeddingsFormat, response: Json): Json {
  const parts = response[joinedParts]
  const lists = (Array.isArray(parts) ? parts : [response]).map((part: unknown) => {
    const list = isObject(part) ? (toList?.(part) ?? part) : {}
    const items: unknown = list['data']
    if (!Array.isArray(items) || !items.every(hasEmbedding))
      throw new Error('The response has no embeddings.')
    return list
  })
  const [first = {}] = lists
  return lists.length === 1 ? first : joined(lists, first)
}

function joined(lists: readonly Json[], first: Json): Json {
  let count = 0
  const data = lists.flatMap((list) => {
    const items = getObjects(list, 'data').map((item, position) => ({
      ...item,
      index: count + (getNumber(item, 'index') ?? position),
    }))
    count += items.length
    return items
  })
  const usages = lists.map((list) => getObject(list, 'usage'))
  const { usage: _usage, ...others } = first
  if (usages.includes(undefined)) return { ...others, data }
  const sum = (name: string): number =>
    usages.reduce((total, usage) => total + getCount(usage ?? {}, name), 0)
  const total = sum('total_tokens')
  return { ...others, data, usage: { prompt_tokens: sum('prompt_tokens') || total, total_tokens: total } }
}

/** Reads a response for the usage meter: it is complete, and has no output. */
export function embeddingsTranslation(format: EmbeddingsFormat): Translation {
  return {
    translateResponse(body) {
      if (!isObject(body)) throw new Error('The response has no embeddings.')
      const list = embeddingList(format, body)
      const choices = [{ index: 0, finish_reason: 'stop' }]
      const identity = { id: getString(list, 'id'), model: getString(list, 'model') }
      return { response: { choices, usage: list['usage'] }, identity }
    },
    createStream() {
      throw new Error('Embeddings are no stream.')
    },
  }
}
