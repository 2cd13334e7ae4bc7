/**
 * Images, audio, video and files in content parts, whose bytes say little about their tokens: their kinds, the tokens of
 * each for a charge without the provider's usage, and for a hold.
 */

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

/** Data in a request's content parts, for the hold and the bound of the invoice. */
export interface EmbeddedData {
  /** The size of the data in the body. */
  readonly bytes: number
  /** The tokens of images, audio and texts. */
  readonly tokens: number
  /** How many of the data are images. */
  readonly images: number
  /** The size of the images in the body. */
  readonly imageBytes: number
  /** A token per four bytes of documents, whose pages may have more; 0: there are none. */
  readonly documentTokens: number
  /** Files, audio or video by URL or id, or video: the body does not show how many tokens they have. */
  readonly hasReferences: boolean
}

/** Of nearly all requests. */
export const noEmbeddedData: EmbeddedData = {
  bytes: 0,
  tokens: 0,
  images: 0,
  imageBytes: 0,
  documentTokens: 0,
  hasReferences: false,
}

/** Adds up the data of a request. */
export class EmbeddedDataCounter implements EmbeddedData {
  bytes = 0
  tokens = 0
  images = 0
  imageBytes = 0
  documentTokens = 0
  hasReferences = false

  /** As of `embeddedTokens`. */
  add(field: EmbeddedField, head: string, length: number): void {
    const kind = embeddedKind(field, head)
    this.bytes += length
    if (kind === 'image') this.addImage(length)
    else if (kind === 'file') this.documentTokens += heldTokens(kind, length)
    else this.tokens += heldTokens(kind, length)
    if (kind === 'video') this.hasReferences = true
  }

  /** `bytes`: its size in the body. */
  addImage(bytes: number): void {
    this.images++
    this.imageBytes += bytes
    this.tokens += imageTokens
  }
}

/** The field of a content part that may contain data: a URL, a data URL, or base64 alone. */
export type EmbeddedField = 'url' | 'data' | 'file_data'

/** The number of a field's first characters that `embeddedTokens` needs. */
export const embeddedPrefixLength = 64

/**
 * The tokens of an image, audio, video or file in a content part, by its kind, for a charge.
 * @param head the field's first characters
 * @param length the length of the field in characters
 * @param detail the detail requested for an image: `low` is cheaper
 */
export function embeddedTokens(field: EmbeddedField, head: string, length: number, detail?: unknown): number {
  const kind = embeddedKind(field, head)
  if (kind === 'image') return detail === 'low' ? smallImageTokens : imageTokens
  return tokensOfSize(length, chargedPerKiB[kind])
}

/** The same for a hold. */
function heldTokens(kind: Exclude<EmbeddedKind, 'image'>, length: number): number {
  return tokensOfSize(length, heldPerKiB[kind])
}

function tokensOfSize(length: number, perKiB: number): number {
  // Four characters of base64 are three bytes.
  return Math.ceil((Math.ceil(length / 4) * 3 * perKiB) / 1024)
}

type EmbeddedKind = 'image' | 'audio' | 'video' | 'wave' | 'file' | 'text'

const chargedPerKiB = {
  audio: mediaTokensPerKiB,
  video: mediaTokensPerKiB,
  wave: waveTokensPerKiB,
  file: fileTokensPerKiB,
  text: 256,
} as const

/**
 * A hold must cover what a caller can make of the same bytes: audio of 8 kbit/s (the least of MP3), waves of 8 KB/s (8
 * kHz, 8 bits). A document has at least a token per four bytes; its pages may have more.
 */
const heldPerKiB = { ...chargedPerKiB, audio: 32, wave: 4, file: 256 } as const

/** The kind of the data in a field, by its media type or its first bytes. */
function embeddedKind(field: EmbeddedField, head: string): EmbeddedKind {
  const [, type = '', subtype = ''] = /^data:(\w*)\/?([^;,]*)/i.exec(head) ?? []
  return type === '' ? kindByMagic(field, head) : kindByType(type.toLowerCase(), subtype.toLowerCase(), head)
}

function kindByType(type: string, subtype: string, head: string): EmbeddedKind {
  if (type === 'image') return 'image'
  if (type === 'audio') return head.includes(',UklGR') ? 'wave' : 'audio'
  if (type === 'video') return 'video'
  return type === 'text' || subtype.endsWith('json') || subtype.endsWith('xml') ? 'text' : 'file'
}

/** Does the data start as an image or a document in base64? */
export function hasKnownSignature(head: string): boolean {
  return /^(?:iVBOR|\/9j\/|R0lGOD|UklGR|JVBERi)/.test(head)
}

/** The kind by the first bytes in base64. A URL counts as an image. */
function kindByMagic(field: EmbeddedField, head: string): EmbeddedKind {
  if (field === 'url' || /^(?:iVBOR|\/9j\/|R0lGOD)/.test(head)) return 'image'
  if (head.startsWith('UklGR')) return head.startsWith('RUJQ', 12) ? 'image' : 'wave'
  return field === 'data' && !head.startsWith('JVBERi') ? 'audio' : 'file'
}

/** The fields in which content parts, or objects in them, have data. */
export const embeddedFields: readonly (readonly [name: string, field: EmbeddedField])[] = [
  ['url', 'url'],
  ['image_url', 'url'],
  ['data', 'data'],
  ['file_data', 'file_data'],
]

/** Objects or texts of content parts with a file, audio or video, in the formats of OpenAI, Qwen, Zhipu and Mistral. */
export const mediaHolders: readonly string[] = [
  'file',
  'file_url',
  'document_url',
  'input_audio',
  'audio_url',
  'video_url',
  'video',
]
