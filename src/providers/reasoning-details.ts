/**
 * Reasoning that a provider has signed or hidden, in OpenRouter's `reasoning_details`: the caller may send it back, and
 * only the provider that made it gets it. `index` is the position among the response's blocks, where it matters.
 */
import { isObject, omitUndefined, type Json } from './json-fields.ts'

/** The values of `format`, with OpenRouter's names where it has them. */
export const anthropicFormat = 'anthropic-claude-v1'
export const geminiFormat = 'google-gemini-v1'
export const bedrockFormat = 'amazon-bedrock-converse-v1'

export const responsesFormat = 'openai-responses-v1'

const signedFormats: ReadonlySet<unknown> = new Set([
  anthropicFormat,
  geminiFormat,
  bedrockFormat,
  responsesFormat,
])

/** Reasoning as text; `signature` proves to its provider that it is unchanged. */
export function textDetail(text: string, about: { signature?: string; format: string; index: number }): Json {
  const { signature, format, index } = about
  return omitUndefined({ type: 'reasoning.text', text, signature, format, index })
}

/** Reasoning that only its provider can read. `id`: the tool call that it belongs to, if any. */
export function encryptedDetail(data: string, about: { id?: string; format: string; index: number }): Json {
  const { id, format, index } = about
  return omitUndefined({ type: 'reasoning.encrypted', data, id, format, index })
}

/** The details of a provider. Details without `format` belong to none. */
export function detailsOfFormat(details: readonly Json[], format: string): readonly Json[] {
  return details.filter((detail) => detail['format'] === format)
}

/** Has an API other than chat completions signed the detail? */
export function isSignedElsewhere(detail: unknown): boolean {
  return isObject(detail) && signedFormats.has(detail['format'])
}

/** The details that chat completions may get: none that another API has signed. */
export function withoutSignedDetails(details: readonly unknown[]): readonly unknown[] {
  return details.filter((detail) => !isSignedElsewhere(detail))
}

/** Inserts the reasoning details among the other blocks at their positions; those without a position come first. */
export function interleaveDetails(
  blocks: readonly Json[],
  details: readonly Json[],
  format: string,
  blockOf: (detail: Json) => Json | undefined,
): Json[] {
  const result = [...blocks]
  const positioned = detailsOfFormat(details, format).map((detail, order) => {
    const index: unknown = detail['index']
    return { block: blockOf(detail), at: typeof index === 'number' ? index : order }
  })
  for (const { block, at } of positioned.toSorted((left, right) => left.at - right.at)) {
    if (block) result.splice(at, 0, block)
  }
  return result
}
