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
  for (const [index, number] of numbers.entries()) bytes.writeFloatLE(Number(number), 4 * index)
  return bytes.toString('base64')
}

function toNumbers(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(4 * index))
}

function converted(embedding: unknown, encoding: EmbeddingEncoding): unknown {
  if (isInForm(embedding, encoding)) return embedding
  if (Array.isArray(embedding)) return toBase64(embedding)
  return typeof embedding === 'string' ? toNumbers(embedding) : embedding
}

/**
 * The response in this form, in the order of the input and with a usage; `null`: it is so already.
 * @param inputTokens the estimate, where the upstream reports no usage
 */
export function normalizeEmbeddings(
  response: Json,
  encoding: EmbeddingEncoding,
  inputTokens: () => number,
): Json | null {
  const data = getObjects(response, 'data')
  const isOrdered = data.every((item, position) => (getNumber(item, 'index') ?? position) === position)
  const isEncoded = data.every(({ embedding }) => isInForm(embedding, encoding))
  const hasUsage = isObject(response['usage'])
  if (isOrdered && isEncoded && hasUsage) return null
  const items = data
    .toSorted((left, right) => (getNumber(left, 'index') ?? 0) - (getNumber(right, 'index') ?? 0))
    .map((item) => ({ ...item, embedding: converted(item['embedding'], encoding) }))
  const tokens = hasUsage ? 0 : inputTokens()
  const usage = getObject(response, 'usage') ?? { prompt_tokens: tokens, total_tokens: tokens }
  return { ...response, data: items, usage }
}
