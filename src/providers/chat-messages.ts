/**
 * The messages of the common format, read for a dialect of its own. What a dialect cannot carry is refused there; what
 * nobody could read is refused here, both with the field's name.
 */
import { objectIn, objectsIn, textIn, type Json, entryOf } from './json-fields.ts'
import { Inexpressible } from './provider.ts'
import { isObject } from './usage.ts'

/** Data inside the request, or where the provider may fetch it. */
export type Source =
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }

interface PartBase {
  /** Its path in the request. */
  readonly at: string
  /** A mark for the provider's prompt cache, as Anthropic's format and its followers have it. */
  readonly cacheControl: unknown
}

export type Part = PartBase &
  (
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'image'; readonly source: Source }
    | { readonly kind: 'audio'; readonly source: Source }
    | { readonly kind: 'file'; readonly source: Source; readonly name: string | null }
  )

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: Json
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly at: string
  readonly parts: readonly Part[]
  readonly toolCalls: readonly ToolCall[]
  /** Of a tool's answer: the call that it answers. */
  readonly toolCallId: string
  /** Signed and hidden thinking that the caller sends back. */
  readonly reasoningDetails: readonly Json[]
}

const roles: Readonly<Record<string, ChatMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
}

function wrong(at: string, words: string): Inexpressible {
  return new Inexpressible(at, `${at} ${words}.`)
}

/** A data URL taken apart (RFC 2397, base64 only); any other address as it is. */
export function sourceOf(url: string, at: string): Source {
  if (!url.startsWith('data:')) return { kind: 'url', url }
  const comma = url.indexOf(',')
  const [mediaType = '', ...options] = url.slice('data:'.length, Math.max(comma, 0)).split(';')
  if (comma === -1 || mediaType === '' || options.at(-1) !== 'base64') {
    throw wrong(at, 'has to be an address or a data URL with a media type and base64')
  }
  return { kind: 'data', mediaType: mediaType.toLowerCase(), data: url.slice(comma + 1) }
}

function imagePart(part: Json, base: PartBase): Part {
  const given = part['image_url']
  const url = isObject(given) ? textIn(given, 'url') : given
  if (typeof url !== 'string') throw wrong(`${base.at}.image_url.url`, 'has to be a string')
  return { ...base, kind: 'image', source: sourceOf(url, `${base.at}.image_url.url`) }
}

function audioPart(part: Json, base: PartBase): Part {
  const audio = objectIn(part, 'input_audio') ?? {}
  const data = textIn(audio, 'data')
  if (data === undefined) throw wrong(`${base.at}.input_audio.data`, 'has to be a string')
  const format = textIn(audio, 'format') ?? 'wav'
  const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
  return { ...base, kind: 'audio', source: { kind: 'data', mediaType, data } }
}

function filePart(part: Json, base: PartBase): Part {
  const file = objectIn(part, 'file') ?? {}
  const data = textIn(file, 'file_data')
  if (data === undefined) throw wrong(`${base.at}.file.file_data`, 'has to be a data URL for this provider')
  const name = textIn(file, 'filename') ?? null
  return { ...base, kind: 'file', name, source: sourceOf(data, `${base.at}.file.file_data`) }
}

function partOf(value: unknown, at: string): Part {
  if (typeof value === 'string') return { kind: 'text', text: value, at, cacheControl: undefined }
  if (!isObject(value)) throw wrong(at, 'has to be an object')
  const base: PartBase = { at, cacheControl: value['cache_control'] }
  switch (value['type']) {
    case 'text':
      return { ...base, kind: 'text', text: textIn(value, 'text') ?? '' }
    case 'refusal':
      return { ...base, kind: 'text', text: textIn(value, 'refusal') ?? '' }
    case 'image_url':
      return imagePart(value, base)
    case 'input_audio':
      return audioPart(value, base)
    case 'file':
      return filePart(value, base)
    default:
      throw wrong(`${at}.type`, 'is none that this provider can be sent')
  }
}

function partsOf(content: unknown, at: string): Part[] {
  if (content === null || content === undefined || content === '') return []
  if (typeof content === 'string') return [partOf(content, at)]
  if (!Array.isArray(content)) throw wrong(at, 'has to be a string or a list of parts')
  return content.map((part, index) => partOf(part, `${at}[${index}]`))
}

function inputOf(text: string, at: string): Json {
  if (text.trim() === '' || text.trim() === 'null') return {}
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return input
  } catch {
    // Told below, like JSON that is no object.
  }
  throw wrong(at, 'has to be a JSON object')
}

function toolCallsOf(message: Json, at: string): ToolCall[] {
  return objectsIn(message, 'tool_calls').map((call, index) => {
    const path = `${at}.tool_calls[${index}]`
    const called = objectIn(call, 'function')
    if (!called) throw wrong(`${path}.type`, 'has to be "function" for this provider')
    return {
      id: textIn(call, 'id') ?? '',
      name: textIn(called, 'name') ?? '',
      input: inputOf(textIn(called, 'arguments') ?? '', `${path}.function.arguments`),
    }
  })
}

function messageOf(value: unknown, at: string): ChatMessage {
  const message = isObject(value) ? value : {}
  const role = entryOf(roles, textIn(message, 'role') ?? '')
  if (!role) throw wrong(`${at}.role`, 'is none that this provider can be sent')
  const parts = partsOf(message['content'], `${at}.content`)
  const refusal = textIn(message, 'refusal')
  if (refusal && parts.length === 0) parts.push(partOf(refusal, `${at}.refusal`))
  return {
    role,
    at,
    parts,
    toolCalls: role === 'assistant' ? toolCallsOf(message, at) : [],
    toolCallId: textIn(message, 'tool_call_id') ?? '',
    reasoningDetails: role === 'assistant' ? objectsIn(message, 'reasoning_details') : [],
  }
}

/** Throws `Inexpressible` for what cannot be read, naming it. */
export function messagesOf(request: Json): ChatMessage[] {
  const { messages } = request
  if (!Array.isArray(messages)) throw wrong('messages', 'has to be a list')
  return messages.map((message, index) => messageOf(message, `messages[${index}]`))
}

/** The texts of a message, one after another. Throws for a part that is no text. */
export function textOfParts(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.kind !== 'text') throw wrong(part.at, 'can only be text for this provider')
      return part.text
    })
    .join('')
}
