/**
 * Embeddings in the form that the caller asked for: OpenAI's libraries ask for base64 of little-endian 32-bit floats, and
 * upstreams that ignore this would give them a quarter of the dimensions, all near zero.
 */
import { getNumber, getObject, getObjects, isObject, type Json } from '../providers/json-fields.ts'

export type EmbeddingEncoding = 'float' | 'base64'

function isInForm(embedding: unknown, encoding: EmbeddingEncoding): boolean {
  return encoding === 'base64' ? typeof embedding === 'string' : Array.isArray(embedding)
}

function toBase64(numbers: readonly unknown[]): string {
  const bytes = Buffer.alloc(4 * numbers.length)
  for (const [index, number] of numbers.entries()) {
    if (typeof number !== 'number') throw new Error('An embedding contains something else than numbers.')
    bytes.writeFloatLE(number, 4 * index)
  }
  return bytes.toString('base64')
}

function toNumbers(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(4 * index))
}

/** The usage with both counts; some upstreams report only the total (Voyage). `null`: there is none. */
function completeUsage(usage: unknown): Json | null {
  if (!isObject(usage)) return null
  const total = getNumber(usage, 'total_tokens')
  const prompt = getNumber(usage, 'prompt_tokens') ?? total
  return prompt === undefined ? null : { ...usage, prompt_tokens: prompt, total_tokens: total ?? prompt }
}

function converted(embedding: unknown, encoding: EmbeddingEncoding): unknown {
  if (isInForm(embedding, encoding)) return embedding
  if (Array.isArray(embedding)) return toBase64(embedding)
  return typeof embedding === 'string' ? toNumbers(embedding) : embedding
}

/** What was asked for. */
export interface EmbeddingsRequest {
  readonly encoding: EmbeddingEncoding
  /** How many inputs it has. */
  readonly count: number
  /** The estimate, where the upstream reports no usage. */
  readonly inputTokens: () => number
}

/**
 * The response in the form that was asked for, in the order of the input and with a usage; `null`: it is so already.
 * Throws if it has not one embedding for each input.
 */
export function normalizeEmbeddings(
  response: Json,
  { encoding, count, inputTokens }: EmbeddingsRequest,
): Json | null {
  const data = getObjects(response, 'data')
  if (data.length !== count) throw new Error('The response has not one embedding for each input.')
  const isOrdered = data.every((item, position) => (getNumber(item, 'index') ?? position) === position)
  const isEncoded = data.every(({ embedding }) => isInForm(embedding, encoding))
  const known = completeUsage(response['usage'])
  const isCounted = getNumber(getObject(response, 'usage') ?? {}, 'prompt_tokens') !== undefined
  if (isOrdered && isEncoded && isCounted) return null
  const items = data
    .toSorted((left, right) => (getNumber(left, 'index') ?? 0) - (getNumber(right, 'index') ?? 0))
    .map((item) => ({ ...item, embedding: converted(item['embedding'], encoding) }))
  const tokens = known ? 0 : inputTokens()
  const usage = known ?? { prompt_tokens: tokens, total_tokens: tokens }
  return { ...response, data: items, usage }
}
