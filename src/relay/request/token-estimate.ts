/**
 * Estimates tokens that no provider has counted: about 4 English characters per token, or 1.5 to 2 Chinese ones. A hold
 * looks at bytes only, which costs nothing; a charge counts characters by script. Images, audio and files are counted
 * by their kind, since their bytes say nothing about their tokens.
 */
import { getObject, getObjects, isObject, type Json } from '../../providers/json-fields.ts'

/**
 * An upper estimate for an image: OpenAI counts 1,445 by tiles at high detail (85 + 8 × 170) or 1,536 by patches,
 * Anthropic about 1,600 (1,568 pixels at the longer edge, width × height ÷ 750), Gemini 258 per tile. Some models bill
 * a multiple (2.46 patches for gpt-4.1-nano): the settlement charges what exceeds the hold.
 */
export const imageTokens = 1_700
/** An image at `detail: "low"` (OpenAI, "Images and vision"). */
const smallImageTokens = 85
/** Per KiB of compressed audio or video: Gemini's 32 tokens per second at 32 kbit/s; OpenAI counts 10 per second. */
const mediaTokensPerKiB = 8
/** Per KiB of uncompressed audio (WAV): 32 tokens per second at 16 KB/s. */
const waveTokensPerKiB = 2
/** Per KiB of a document: a page of 4,600 tokens (Anthropic, "PDF support": 3,000 of text and its image) in 36 KiB. */
const fileTokensPerKiB = 128

/** Data embedded in a request's content parts: its size in the body, and the tokens that it counts instead. */
export interface EmbeddedData {
  readonly bytes: number
  readonly tokens: number
}

/** The field of a content part that may contain data: a URL, a data URL, or base64 alone. */
export type EmbeddedField = 'url' | 'data' | 'file_data'

/** The number of a field's first characters that `embeddedTokens` needs. */
export const embeddedPrefixLength = 64

/**
 * The tokens of an image, audio, video or file in a content part, by its kind.
 * @param head the field's first characters
 * @param length the length of the field in characters
 * @param detail the detail requested for an image: `low` is cheaper
 */
export function embeddedTokens(field: EmbeddedField, head: string, length: number, detail?: unknown): number {
  const [, type = '', subtype = ''] = /^data:(\w*)\/?([^;,]*)/i.exec(head) ?? []
  const kind =
    type === '' ? kindByMagic(field, head) : kindByType(type.toLowerCase(), subtype.toLowerCase(), head)
  if (kind === 'image') return detail === 'low' ? smallImageTokens : imageTokens
  // Four characters of base64 are three bytes.
  const bytes = Math.ceil(length / 4) * 3
  if (kind === 'text') return Math.ceil(bytes / 4)
  const perKiB = { media: mediaTokensPerKiB, wave: waveTokensPerKiB, file: fileTokensPerKiB }[kind]
  return Math.ceil((bytes * perKiB) / 1024)
}

type Kind = 'image' | 'media' | 'wave' | 'file' | 'text'

function kindByType(type: string, subtype: string, head: string): Kind {
  if (type === 'image') return 'image'
  if (type === 'audio') return head.includes(',UklGR') ? 'wave' : 'media'
  if (type === 'video') return 'media'
  return type === 'text' || subtype.endsWith('json') || subtype.endsWith('xml') ? 'text' : 'file'
}

/** Does the data start as an image or a document in base64? */
export function hasKnownSignature(head: string): boolean {
  return /^(?:iVBOR|\/9j\/|R0lGOD|UklGR|JVBERi)/.test(head)
}

/** The kind by the first bytes in base64. A URL counts as an image. */
function kindByMagic(field: EmbeddedField, head: string): Kind {
  if (field === 'url' || /^(?:iVBOR|\/9j\/|R0lGOD)/.test(head)) return 'image'
  if (head.startsWith('UklGR')) return head.startsWith('RUJQ', 12) ? 'image' : 'wave'
  return field === 'data' && !head.startsWith('JVBERi') ? 'media' : 'file'
}

/**
 * The input tokens of a hold: the body's bytes ÷ 4, rounded up, which fits both scripts (a Chinese character has three
 * bytes), with embedded data counted by its kind.
 * @param bytesPerToken less than 4 to hold more
 */
export function inputEstimateForHold(bodyBytes: number, embedded: EmbeddedData, bytesPerToken = 4): number {
  return Math.ceil((bodyBytes - embedded.bytes) / bytesPerToken) + embedded.tokens
}

/** A token is 28 units, so that both scripts count in integers: 28 ÷ 1.75 and 28 ÷ 4. */
const unitsPerToken = 28
const unitsPerWideCharacter = 16
const unitsPerCharacter = 7

/**
 * Counts the estimated tokens of text that arrives in pieces. The sum does not depend on where the text is split, even
 * inside a surrogate pair, and is rounded up once.
 */
export class TokenCounter {
  #units = 0
  #afterHighSurrogate = false

  /** Counts the next piece of the text. */
  add(text: string): void {
    let units = 0
    let afterHigh = this.#afterHighSurrogate
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code < 0x1100) {
        units += unitsPerCharacter
        afterHigh = false
      } else if (afterHigh && (code & 0xfc00) === 0xdc00) {
        afterHigh = false
      } else {
        units += isWide(code) ? unitsPerWideCharacter : unitsPerCharacter
        afterHigh = (code & 0xfc00) === 0xd800
      }
    }
    this.#units += units
    this.#afterHighSurrogate = afterHigh
  }

  /** Adds tokens that are known otherwise. */
  addTokens(tokens: number): void {
    this.#units += tokens * unitsPerToken
  }

  /** The tokens so far, rounded up. */
  get tokens(): number {
    return Math.ceil(this.#units / unitsPerToken)
  }
}

/** The estimated tokens of a text, rounded up. */
export function estimateTokens(text: string): number {
  const count = new TokenCounter()
  count.add(text)
  return count.tokens
}

/**
 * True if a UTF-16 unit counts as Chinese: Han with its extensions (those beyond U+FFFF by their high surrogate, planes
 * 2 and 3), radicals, Chinese punctuation, Bopomofo, kana, hangul, compatibility and full-width forms.
 */
function isWide(code: number): boolean {
  if (code < 0x2e80) return code <= 0x11ff
  return (
    code <= 0x9fff ||
    (code >= 0xa960 && code <= 0xa97f) ||
    (code >= 0xac00 && code <= 0xd7ff) ||
    (code >= 0xd840 && code <= 0xd8bf) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe4f) ||
    (code >= 0xff00 && code <= 0xffef)
  )
}

/**
 * The input tokens to charge if the provider reported no usage: every text of the messages (content, names, reasoning,
 * tool calls), the definitions of tools and the response format, and embedded data by its kind. Roles and the format's
 * own keywords do not count.
 */
export function inputEstimateForCharge(request: Json): number {
  const count = new TokenCounter()
  for (const message of getObjects(request, 'messages')) addMessage(count, message)
  for (const field of ['tools', 'functions', 'response_format']) addDefinition(count, request[field])
  return count.tokens
}

function addMessage(count: TokenCounter, message: Json): void {
  for (const field of ['name', 'reasoning_content', 'refusal']) addText(count, message[field])
  addText(count, message['content'])
  for (const part of getObjects(message, 'content')) addPart(count, part)
  addCall(count, getObject(message, 'function_call'))
  for (const call of getObjects(message, 'tool_calls')) addCall(count, getObject(call, 'function'))
}

function addPart(count: TokenCounter, part: Json): void {
  for (const field of ['text', 'refusal', 'thinking']) addText(count, part[field])
  addEmbedded(count, part)
  for (const inner of Object.values(part)) if (isObject(inner)) addEmbedded(count, inner)
}

function addEmbedded(count: TokenCounter, holder: Json): void {
  for (const [name, field] of embeddedFields) {
    const value = holder[name]
    if (typeof value !== 'string') continue
    const head = value.slice(0, embeddedPrefixLength)
    count.addTokens(embeddedTokens(field, head, value.length, holder['detail']))
  }
}

/** The fields in which content parts, or objects in them, have data. */
export const embeddedFields: readonly (readonly [name: string, field: EmbeddedField])[] = [
  ['url', 'url'],
  ['image_url', 'url'],
  ['data', 'data'],
  ['file_data', 'file_data'],
]

function addCall(count: TokenCounter, call: Json | undefined): void {
  addText(count, call?.['name'])
  addText(count, call?.['arguments'])
}

function addDefinition(count: TokenCounter, definition: unknown): void {
  if (typeof definition === 'object' && definition !== null) count.add(JSON.stringify(definition))
}

function addText(count: TokenCounter, value: unknown): void {
  if (typeof value === 'string') count.add(value)
}
