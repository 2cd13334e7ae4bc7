/** Encodes results of tools in the OpenAI format. */
import { getString, type Json } from '../providers/json-fields.ts'

/** The message with a result, and the parts that it cannot contain: they follow in a user message that names the call. */
export interface EncodedToolResult {
  readonly message: Json
  readonly images: readonly Json[]
}

/**
 * `id`: of the call. `parts`: of the result, in the OpenAI format. `error`: the call failed, which the OpenAI format has no
 * field for; `marked`: the message is translated further, into a format that has one.
 */
export function encodeToolResult(
  id: string,
  parts: readonly Json[],
  error?: { readonly marked: boolean },
): EncodedToolResult {
  const images = parts.filter((part) => part['type'] !== 'text')
  const texts = parts.map((part) => getString(part, 'text') ?? '').filter((text) => text !== '')
  const joined = texts.join('\n\n')
  const title = { type: 'text', text: `What the tool answered to call ${id}:` }
  return {
    message: {
      role: 'tool',
      tool_call_id: id,
      content: error ? `Error: ${joined}` : joined,
      ...(error?.marked ? { is_error: true } : {}),
    },
    images: images.length > 0 ? [title, ...images] : [],
  }
}
