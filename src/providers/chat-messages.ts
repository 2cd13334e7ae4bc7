/**
 * Parses the messages of the OpenAI format for providers with their own API format. It rejects invalid fields; the
 * providers reject those that they do not support. Both name the field.
 */
import { getObject, getObjects, getString, isObject, lookup, type Json } from './json-fields.ts'
import { UnsupportedFeatureError } from './provider.ts'

/** Data in the request, or a URL from which the provider may fetch it. */
export type Source =
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }

interface PartBase {
  /** Its path in the request. */
  readonly path: string
  /** A marker for the provider's prompt cache, as in Anthropic's format and those derived from it. */
  readonly cacheControl: unknown
}

export type Part = PartBase &
  (
    | { readonly kind: 'text'; readonly text: string }
    | {
        readonly kind: 'image'
        readonly source: Source
        /** How much of it the model sees: OpenAI's `detail`. */
        readonly detail: string | undefined
      }
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
  readonly path: string
  readonly parts: readonly Part[]
  readonly toolCalls: readonly ToolCall[]
  /** Of a tool result: the id of its call. */
  readonly toolCallId: string
  /** Of a tool result: the call failed. */
  readonly isError: boolean
  /** Signed and hidden reasoning that the caller sends back. */
  readonly reasoningDetails: readonly Json[]
}

const roles: Readonly<Record<string, ChatMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
}

/** The scheme of a URL is the same in capitals (RFC 3986, 3.1). */
export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url)
}

/** Parses a data URL (RFC 2397, base64 only); any other URL is kept. */
export function parseSource(url: string, path: string): Source {
  if (!isDataUrl(url)) return { kind: 'url', url }
  const comma = url.indexOf(',')
  const [mediaType = '', ...options] = url.slice('data:'.length, Math.max(comma, 0)).split(';')
  if (comma === -1 || mediaType === '' || options.at(-1) !== 'base64') {
    throw new UnsupportedFeatureError(path, 'must be a URL, or a data URL with a media type and base64')
  }
  return { kind: 'data', mediaType: mediaType.toLowerCase(), data: url.slice(comma + 1) }
}

/** The URL of a source: a data URL, if it is data. */
export function encodeSource(source: Source): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
}

function parseImagePart(part: Json, base: PartBase): Part {
  const given = part['image_url']
  const url = isObject(given) ? getString(given, 'url') : given
  if (typeof url !== 'string')
    throw new UnsupportedFeatureError(`${base.path}.image_url.url`, 'must be a string')
  const detail = isObject(given) ? getString(given, 'detail') : undefined
  return { ...base, kind: 'image', detail, source: parseSource(url, `${base.path}.image_url.url`) }
}

function parseAudioPart(part: Json, base: PartBase): Part {
  const audio = getObject(part, 'input_audio') ?? {}
  const data = getString(audio, 'data')
  if (data === undefined)
    throw new UnsupportedFeatureError(`${base.path}.input_audio.data`, 'must be a string')
  const format = getString(audio, 'format') ?? 'wav'
  const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
  return { ...base, kind: 'audio', source: { kind: 'data', mediaType, data } }
}

function parseFilePart(part: Json, base: PartBase): Part {
  const file = getObject(part, 'file') ?? {}
  const data = getString(file, 'file_data')
  if (data === undefined)
    throw new UnsupportedFeatureError(`${base.path}.file.file_data`, 'must be a data URL for this provider')
  const name = getString(file, 'filename') ?? null
  return { ...base, kind: 'file', name, source: parseSource(data, `${base.path}.file.file_data`) }
}

function parsePart(value: unknown, path: string): Part {
  if (typeof value === 'string') return { kind: 'text', text: value, path, cacheControl: undefined }
  if (!isObject(value)) throw new UnsupportedFeatureError(path, 'must be an object')
  const base: PartBase = { path, cacheControl: value['cache_control'] }
  switch (value['type']) {
    case 'text':
      return { ...base, kind: 'text', text: getString(value, 'text') ?? '' }
    case 'refusal':
      return { ...base, kind: 'text', text: getString(value, 'refusal') ?? '' }
    case 'image_url':
      return parseImagePart(value, base)
    case 'input_audio':
      return parseAudioPart(value, base)
    case 'file':
      return parseFilePart(value, base)
    default:
      throw new UnsupportedFeatureError(`${path}.type`, 'not supported by this provider')
  }
}

function parseParts(content: unknown, path: string): Part[] {
  if (content === null || content === undefined || content === '') return []
  if (typeof content === 'string') return [parsePart(content, path)]
  if (!Array.isArray(content))
    throw new UnsupportedFeatureError(path, 'must be a string or an array of parts')
  return content.map((part, index) => parsePart(part, `${path}[${index}]`))
}

/** Arguments that were cut at the maximum of a response, or are no object, are none: callers cannot correct them. */
function parseArguments(text: string): Json {
  try {
    const input: unknown = JSON.parse(text)
    return isObject(input) ? input : {}
  } catch {
    return {}
  }
}

function parseToolCalls(message: Json, path: string): ToolCall[] {
  return getObjects(message, 'tool_calls').map((call, index) => {
    const callPath = `${path}.tool_calls[${index}]`
    const called = getObject(call, 'function')
    if (!called) throw new UnsupportedFeatureError(`${callPath}.type`, 'must be "function" for this provider')
    return {
      id: getString(call, 'id') ?? '',
      name: getString(called, 'name') ?? '',
      input: parseArguments(getString(called, 'arguments') ?? ''),
    }
  })
}

function parseMessage(value: unknown, path: string): ChatMessage {
  const message = isObject(value) ? value : {}
  const role = lookup(roles, getString(message, 'role') ?? '')
  if (!role) throw new UnsupportedFeatureError(`${path}.role`, 'not supported by this provider')
  const parts = parseParts(message['content'], `${path}.content`)
  const refusal = getString(message, 'refusal')
  if (refusal && parts.length === 0) parts.push(parsePart(refusal, `${path}.refusal`))
  return {
    role,
    path,
    parts,
    toolCalls: role === 'assistant' ? parseToolCalls(message, path) : [],
    toolCallId: getString(message, 'tool_call_id') ?? '',
    isError: message['is_error'] === true,
    reasoningDetails: role === 'assistant' ? getObjects(message, 'reasoning_details') : [],
  }
}

/** Throws `UnsupportedFeatureError` naming the invalid field. */
export function parseMessages(request: Json): ChatMessage[] {
  const { messages } = request
  if (!Array.isArray(messages)) throw new UnsupportedFeatureError('messages', 'must be an array')
  return messages.map((message, index) => parseMessage(message, `messages[${index}]`))
}

/** Joins the texts of a message. Throws for a part that is not text. */
export function joinText(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.kind !== 'text') throw new UnsupportedFeatureError(part.path, 'must be text for this provider')
      return part.text
    })
    .join('')
}
