/**
 * Ids of tool calls across providers. Anthropic accepts letters, digits, `_` and `-`; others create ids with dots and
 * colons and need them back; Mistral accepts only nine letters and digits, OpenAI at most 40 characters, Bedrock 64.
 */
import { createHash } from 'node:crypto'

const validId = /^[a-zA-Z0-9_-]+$/
const encodedPrefix = 'sluice_'
const mistralId = /^[a-zA-Z0-9]{9}$/

/** Encodes an id so that it is valid in Anthropic's format. */
export function encodeCallId(id: string): string {
  return validId.test(id) ? id : encodedPrefix + Buffer.from(id).toString('base64url')
}

/** The original id. */
export function decodeCallId(id: string): string {
  return id.startsWith(encodedPrefix)
    ? Buffer.from(id.slice(encodedPrefix.length), 'base64url').toString()
    : id
}

/** The id; its hash if it is longer. */
export function boundedCallId(id: string, maxLength: number): string {
  if (id.length <= maxLength) return id
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}

/** A deterministic id of nine letters and digits. */
export function shortCallId(id: string): string {
  if (mistralId.test(id)) return id
  return createHash('sha256').update(id).digest('hex').slice(0, 9)
}
