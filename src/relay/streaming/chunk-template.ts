/**
 * Reads the chunks of a stream that differ from the one before only in their text, without parsing them: most chunks of a
 * stream do. A chunk that differs in any other byte is parsed. Some providers pad their chunks with a string of random
 * length (OpenAI, `obfuscation`), which may differ as well.
 */
import { isObject } from '../../providers/json-fields.ts'
import { findFailure } from '../../providers/response-failure.ts'
import { findUsage } from '../../providers/usage-counts.ts'

const quote = 0x22
const backslash = 0x5c
const space = 0x20

/** The fields of a delta whose text is counted. */
const textFields = new Set(['content', 'reasoning_content', 'reasoning'])
const paddingField = 'obfuscation'
/** Text that JSON does not escape. */
const textProbe = 'the text of the template'
const paddingProbe = 'the padding of the template'
/** After this many chunks in a row that had to be parsed, the stream has no template. */
const maxMisses = 16

/** The only text of a chunk, if nothing else in it is metered. */
interface ChunkText {
  readonly field: string
  readonly text: string
}

function isUncounted(name: string, value: unknown): boolean {
  return value === null || value === '' || (name === 'role' && typeof value === 'string')
}

function onlyTextOf(chunk: unknown): ChunkText | null {
  if (!isObject(chunk) || findUsage(chunk) || findFailure('', chunk)) return null
  const { choices } = chunk
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : null
  if (!isObject(choice) || (choice['finish_reason'] ?? null) !== null || !isObject(choice['delta']))
    return null
  const written = Object.entries(choice['delta']).filter(([name, value]) => !isUncounted(name, value))
  const [[field, text] = ['', null]] = written
  return written.length === 1 && typeof text === 'string' && textFields.has(field) ? { field, text } : null
}

/** The closing quote of the string whose contents begin at `start`; -1: there is none. */
function stringEnd(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte === quote) return at
    if (byte < space) return -1
    if (byte === backslash) at++
  }
  return -1
}

/** The range of a member's string, without its quotes, if it is the first member with this name; else `null`. */
function findString(
  payload: Buffer,
  name: string,
  from: number,
): readonly [start: number, end: number] | null {
  const key = `"${name}":`
  const found = payload.indexOf(key, from)
  if (found === -1) return null
  const at = found + key.length
  const start = payload[at] === space ? at + 2 : at + 1
  const end = payload[start - 1] === quote ? stringEnd(payload, start, payload.length) : -1
  return end === -1 ? null : [start, end]
}

/** Whether the bytes at `at` are those of `part`. */
function isAt(part: Buffer, bytes: Buffer, at: number, end: number): boolean {
  const until = at + part.length
  return until <= end && bytes.compare(part, 0, part.length, at, until) === 0
}

/** The value of a JSON string without its quotes; `null`: it is invalid. */
function unescape(text: string): string | null {
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return null
  }
}

/** The bytes of a chunk around its text and its padding. */
interface Template {
  /** The field of the text. */
  readonly field: string
  readonly beforeText: Buffer
  readonly afterText: Buffer
  /** `null`: it has no padding. */
  readonly afterPadding: Buffer | null
}

function templateOf(payload: Buffer, field: string): Template | null {
  const [textStart, textEnd] = findString(payload, field, 0) ?? []
  if (textStart === undefined || textEnd === undefined) return null
  const padding = findString(payload, paddingField, textEnd)
  const template = {
    field,
    beforeText: Buffer.from(payload.subarray(0, textStart)),
    afterText: Buffer.from(payload.subarray(textEnd, padding?.[0])),
    afterPadding: padding && Buffer.from(payload.subarray(padding[1])),
  }
  return isTemplateOf(template) ? template : null
}

/** Were the right strings found? Strings can contain what looks like a member, and members can be repeated. */
function isTemplateOf({ field, beforeText, afterText, afterPadding }: Template): boolean {
  const padded = afterPadding ? `${paddingProbe}${afterPadding.toString()}` : ''
  const probe: unknown = JSON.parse(`${beforeText.toString()}${textProbe}${afterText.toString()}${padded}`)
  const found = onlyTextOf(probe)
  const hasPadding = isObject(probe) && probe[paddingField] === paddingProbe
  return found?.field === field && found.text === textProbe && hasPadding === (afterPadding !== null)
}

export class ChunkTemplate {
  #template: Template | null = null
  #misses = 0

  /** The field of the text that `read` has returned. */
  get field(): string {
    return this.#template?.field ?? ''
  }

  /** Learns from a chunk that was parsed from this payload. */
  learn(payload: Buffer, chunk: unknown): void {
    this.#template = null
    if (this.#misses === maxMisses) return
    this.#misses += 1
    const only = onlyTextOf(chunk)
    if (only) this.#template = templateOf(payload, only.field)
  }

  /** The text of a chunk in bytes[start, end), which is all that is to be metered in it; `null`: the chunk must be parsed. */
  read(bytes: Buffer, start: number, end: number): string | null {
    const template = this.#template
    if (template === null || !isAt(template.beforeText, bytes, start, end)) return null
    const { afterText, afterPadding } = template
    const textStart = start + template.beforeText.length
    const textEnd = stringEnd(bytes, textStart, end)
    if (textEnd === -1 || !isAt(afterText, bytes, textEnd, end)) return null
    if (!isPaddedTo(bytes, textEnd + afterText.length, end, afterPadding)) return null
    const text = unescape(bytes.toString('utf8', textStart, textEnd))
    if (text !== null) this.#misses = 0
    return text
  }
}

/** Whether padding, if there is any, and what follows it are all that remains. */
function isPaddedTo(bytes: Buffer, at: number, end: number, afterPadding: Buffer | null): boolean {
  if (afterPadding === null) return at === end
  const paddingEnd = stringEnd(bytes, at, end)
  if (paddingEnd === -1 || end - paddingEnd !== afterPadding.length) return false
  const isPlain = !bytes.subarray(at, paddingEnd).includes(backslash)
  return isPlain && isAt(afterPadding, bytes, paddingEnd, end)
}
