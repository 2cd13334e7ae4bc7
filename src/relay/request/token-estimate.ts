/**
 * Tokens where no provider has counted them (specification, section 1: about 4 English characters a token, 1.5 to
 * 2 Chinese ones). A hold looks at bytes only, so that it costs nothing; what is charged is counted by script.
 * Images, audio and files are counted by their kind, as their bytes say nothing about their tokens.
 */

/**
 * One image, from above: 1,445 by OpenAI's tiles at high detail (85 + 8 × 170), 1,536 by its patches, about 1,600 by
 * Anthropic (1,568 pixels at the longer edge, width × height ÷ 750), 258 per tile by Gemini. Some models bill a
 * multiple of it (2.46 patches for gpt-4.1-nano): the settlement takes what is above the hold.
 */
export const imageTokens = 1_700
/** One image at `detail: "low"` (OpenAI, "Images and vision"). */
const smallImageTokens = 85
/** Per KiB of compressed sound or film: Gemini's 32 tokens a second at 32 kbit/s; OpenAI counts 10 a second. */
const mediaTokensPerKiB = 8
/** Per KiB of uncompressed sound (WAV): 32 tokens a second at 16 KB/s. */
const waveTokensPerKiB = 2
/** Per KiB of a document: a page of 4,600 tokens (Anthropic, "PDF support": 3,000 of text and its image) in 36 KiB. */
const fileTokensPerKiB = 128

/** Data inside a request's content parts: how many of its bytes are such data, and what these count instead. */
export interface Embedded {
  readonly bytes: number
  readonly tokens: number
}

/** The field of a content part that may carry data: an address or data URL, or base64 alone. */
export type EmbeddedField = 'url' | 'data' | 'file_data'

/** How many of its first characters `embeddedTokens` needs of a field. */
export const embeddedHeadLength = 64

/**
 * The tokens of an image, sound, film or file in a content part, by its kind.
 * @param head the field's first characters
 * @param length of the whole field in characters
 * @param detail what the caller asks for an image: `low` is cheaper
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

/** Does data begin as an image or a document in base64? */
export function hasKnownBeginning(head: string): boolean {
  return /^(?:iVBOR|\/9j\/|R0lGOD|UklGR|JVBERi)/.test(head)
}

/** The kind by the first bytes, as base64 writes them; an address that is fetched is taken for an image. */
function kindByMagic(field: EmbeddedField, head: string): Kind {
  if (field === 'url' || /^(?:iVBOR|\/9j\/|R0lGOD)/.test(head)) return 'image'
  if (head.startsWith('UklGR')) return head.startsWith('RUJQ', 12) ? 'image' : 'wave'
  return field === 'data' && !head.startsWith('JVBERi') ? 'media' : 'file'
}

/**
 * The input of a hold, in tokens: the body's bytes ÷ 4, rounded up, which fits both scripts (a Chinese character has
 * three bytes), with embedded data counted by its kind.
 * @param bytesPerToken less than 4 to hold more
 */
export function inputEstimateForHold(bodyBytes: number, embedded: Embedded, bytesPerToken = 4): number {
  return Math.ceil((bodyBytes - embedded.bytes) / bytesPerToken) + embedded.tokens
}

/** A token is 28 units, so that both scripts count in whole numbers: 28 ÷ 1.75 and 28 ÷ 4. */
const unitsPerToken = 28
const unitsPerWideCharacter = 16
const unitsPerCharacter = 7

/**
 * Counts tokens of text as it comes, by the specification's rule. The sum does not depend on where the text is cut,
 * a surrogate pair's middle included, and is rounded up once.
 */
export class TokenCount {
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

  /** Counts tokens known otherwise. */
  addTokens(tokens: number): void {
    this.#units += tokens * unitsPerToken
  }

  /** The tokens so far, rounded up. */
  get tokens(): number {
    return Math.ceil(this.#units / unitsPerToken)
  }
}

/** The tokens of one text by the specification's rule, rounded up. */
export function estimateOf(text: string): number {
  const count = new TokenCount()
  count.add(text)
  return count.tokens
}

/**
 * Whether a UTF-16 unit counts as Chinese: Han with its extensions (those beyond U+FFFF by their high surrogate,
 * planes 2 and 3), radicals, Chinese punctuation, Bopomofo, kana, hangul, compatibility and full-width forms.
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
 * The input to charge when the provider told no usage, in tokens: every text of the messages (content, names,
 * reasoning, tool calls), the tools' and the answer format's definitions, and embedded data by its kind. Roles and
 * the format's own words do not count.
 */
export function inputEstimateForCharge(request: Readonly<Record<string, unknown>>): number {
  const count = new TokenCount()
  for (const message of listOf(request['messages'])) addMessage(count, message)
  for (const field of ['tools', 'functions', 'response_format']) addDefinition(count, request[field])
  return count.tokens
}

function addMessage(count: TokenCount, message: unknown): void {
  if (!isRecord(message)) return
  for (const field of ['name', 'reasoning_content', 'refusal']) addText(count, message[field])
  addText(count, message['content'])
  for (const part of listOf(message['content'])) addPart(count, part)
  addCall(count, message['function_call'])
  for (const call of listOf(message['tool_calls'])) if (isRecord(call)) addCall(count, call['function'])
}

function addPart(count: TokenCount, part: unknown): void {
  if (!isRecord(part)) return
  for (const field of ['text', 'refusal', 'thinking']) addText(count, part[field])
  addEmbedded(count, part)
  for (const inner of Object.values(part)) if (isRecord(inner)) addEmbedded(count, inner)
}

function addEmbedded(count: TokenCount, holder: Record<string, unknown>): void {
  for (const [name, field] of embeddedFields) {
    const value = holder[name]
    if (typeof value !== 'string') continue
    const head = value.slice(0, embeddedHeadLength)
    count.addTokens(embeddedTokens(field, head, value.length, holder['detail']))
  }
}

/** The names under which content parts, or the objects in them, carry data. */
export const embeddedFields: readonly (readonly [name: string, field: EmbeddedField])[] = [
  ['url', 'url'],
  ['image_url', 'url'],
  ['data', 'data'],
  ['file_data', 'file_data'],
]

function addCall(count: TokenCount, call: unknown): void {
  if (!isRecord(call)) return
  addText(count, call['name'])
  addText(count, call['arguments'])
}

function addDefinition(count: TokenCount, definition: unknown): void {
  if (typeof definition === 'object' && definition !== null) count.add(JSON.stringify(definition))
}

function addText(count: TokenCount, value: unknown): void {
  if (typeof value === 'string') count.add(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
