/**
 * Thinking that a provider has signed or hidden, in the shape that OpenRouter uses (`reasoning_details`): the caller
 * may send it back, and only the provider that made it gets it again. `index` is the place among the answer's blocks, where that matters.
 */
import { present, type Json } from './json-fields.ts'
import { isObject } from './usage.ts'

/** The names of those dialects' thinking in `format`, as OpenRouter calls them where it has them. */
export const anthropicFormat = 'anthropic-claude-v1'
export const geminiFormat = 'google-gemini-v1'
export const bedrockFormat = 'amazon-bedrock-converse-v1'

const dialects: ReadonlySet<unknown> = new Set([anthropicFormat, geminiFormat, bedrockFormat])

/** Thinking as text; `signature` proves to its provider that it is unchanged. */
export function textDetail(text: string, about: { signature?: string; format: string; index: number }): Json {
  const { signature, format, index } = about
  return present({ type: 'reasoning.text', text, signature, format, index })
}

/** Thinking that only its provider can read. `id`: the tool call that it belongs to, where it belongs to one. */
export function encryptedDetail(data: string, about: { id?: string; format: string; index: number }): Json {
  const { id, format, index } = about
  return present({ type: 'reasoning.encrypted', data, id, format, index })
}

/** Those that a provider made. What does not say whose it is belongs to nobody. */
export function detailsOf(details: readonly Json[], format: string): readonly Json[] {
  return details.filter((detail) => detail['format'] === format)
}

/** Those that an upstream of the chat format may get: what another dialect's provider has signed is not for it. */
export function detailsForChat(details: readonly unknown[]): readonly unknown[] {
  return details.filter((detail) => !(isObject(detail) && dialects.has(detail['format'])))
}

/** An answer's other blocks with its thinking among them, each at its place; without a place, before the rest. */
export function weave(
  blocks: readonly Json[],
  details: readonly Json[],
  format: string,
  blockOf: (detail: Json) => Json | undefined,
): Json[] {
  const woven = [...blocks]
  const placed = detailsOf(details, format).map((detail, order) => {
    const index: unknown = detail['index']
    return { block: blockOf(detail), at: typeof index === 'number' ? index : order }
  })
  for (const { block, at } of placed.toSorted((left, right) => left.at - right.at)) {
    if (block) woven.splice(at, 0, block)
  }
  return woven
}
