/** The content of messages in the OpenAI format: parts of requests, and the readable pieces of responses. */
import { getObjects, getString, type Json } from '../providers/json-fields.ts'

/** A piece of content, in the order of generation. */
export interface ContentPiece {
  readonly kind: 'text' | 'thinking' | 'refusal'
  readonly text: string
}

/** The text, thinking and refusal of a message or delta. Mistral sends its thinking as a content part. */
export function extractPieces(message: Json): ContentPiece[] {
  const pieces: ContentPiece[] = []
  const add = (kind: ContentPiece['kind'], text: string | undefined): void => {
    if (text !== undefined && text !== '') pieces.push({ kind, text })
  }
  add('thinking', getString(message, 'reasoning_content') ?? getString(message, 'reasoning'))
  add('text', getString(message, 'content'))
  for (const part of getObjects(message, 'content')) {
    if (part['type'] === 'text') add('text', getString(part, 'text'))
    for (const thought of getObjects(part, 'thinking')) add('thinking', getString(thought, 'text'))
  }
  add('refusal', getString(message, 'refusal'))
  return pieces
}

/** Encodes text alone as a string, which every provider accepts. */
export function encodeContent(parts: readonly Json[], separator: string): unknown {
  const isTextOnly = parts.every((part) => part['type'] === 'text' && part['cache_control'] === undefined)
  return isTextOnly ? parts.map((part) => getString(part, 'text') ?? '').join(separator) : parts
}
