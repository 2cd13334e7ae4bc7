/**
 * Scans `messages`, or `input` of the Responses API, and `tools` in the same pass as the body: validates that every
 * message is an object with a role, measures embedded images, audio and files, and finds reasoning that is sent back, and
 * tools that are no functions. The provider validates everything else.
 */
import { apiError } from '../../errors.ts'
import type { JsonCursor } from '../../lib/json/json-cursor.ts'
import type { JsonValueVisitor } from '../../lib/json/json-scanner.ts'
import {
  type EmbeddedData,
  EmbeddedDataCounter,
  embeddedFields,
  embeddedPrefixLength,
  hasKnownSignature,
  mediaHolders,
  noEmbeddedData,
} from './embedded-data.ts'
import { scanTools, type ToolSpan } from './tool-scanner.ts'

const quote = 0x22
const openBracket = 0x5b
const openBrace = 0x7b

/** The position of a value in the text. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface MessageScannerOptions {
  /** A field `data` that does not start as an image or a document is plain text (Anthropic's format). */
  readonly knownDataOnly?: boolean
  /** The field with the conversation. `input` may be a text, and its items need no role. */
  readonly list?: 'messages' | 'input'
}

/** Visits the conversation during a scan. Each scan needs a new one. */
export class MessageScanner implements JsonValueVisitor {
  readonly #knownDataOnly: boolean
  readonly #list: 'messages' | 'input'
  #count = 0
  #error: { param: string; message: string } | undefined
  #embedded: EmbeddedDataCounter | undefined
  #thinking: Span[] | undefined
  #otherTools: readonly ToolSpan[] | undefined

  constructor({ knownDataOnly = false, list = 'messages' }: MessageScannerOptions = {}) {
    this.#knownDataOnly = knownDataOnly
    this.#list = list
  }

  /** Data in the messages' content parts. */
  get embedded(): EmbeddedData {
    return this.#embedded ?? noEmbeddedData
  }

  /** The `reasoning_details` arrays of messages, in order; `undefined` if there are none, which is the usual case. */
  get thinking(): readonly Span[] | undefined {
    return this.#thinking
  }

  /** The members of `tools` that are no functions; `undefined` if there are none, which is the usual case. */
  get otherTools(): readonly ToolSpan[] | undefined {
    return this.#otherTools
  }

  /** Throws if the messages are invalid, or (unless `mayBeEmpty`) absent. Call it when the whole body has been scanned. */
  validate({ mayBeEmpty = false } = {}): void {
    if (this.#error !== undefined) throw apiError('invalid_request', this.#error)
    if (this.#count > 0 || mayBeEmpty) return
    const allowed = this.#list === 'input' ? 'a non-empty string or array' : 'a non-empty array'
    throw apiError('invalid_request', {
      param: this.#list,
      message: `Invalid \`${this.#list}\`: must be ${allowed}.`,
    })
  }

  visit(key: string, cursor: JsonCursor): void {
    if (key === 'tools') this.#otherTools = scanTools(cursor)
    if (key !== this.#list) return
    if (cursor.text[cursor.at] === quote && this.#list === 'input') return this.#scanText(cursor)
    if (cursor.text[cursor.at] !== openBracket) return
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      this.#scanMessage(cursor)
      this.#count++
    }
  }

  /** The text stands for one message. */
  #scanText(cursor: JsonCursor): void {
    const start = cursor.at
    cursor.skipValue()
    if (cursor.at - start > '""'.length) this.#count = 1
  }

  #scanMessage(cursor: JsonCursor): void {
    if (cursor.text[cursor.at] !== openBrace) {
      this.#setError('', 'an object')
      cursor.skipValue()
      return
    }
    let hasRole = this.#list === 'input'
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      const first = cursor.text[cursor.at]
      // A key with escapes may be `role`: the provider decides.
      if (cursor.keyEscaped || cursor.isKey('role')) hasRole = cursor.keyEscaped || first === quote
      // OpenAI's name of an earlier response in audio, by its id.
      if (first === openBrace && cursor.isKey('audio')) this.#counter.hasReferences = true
      if (first !== openBracket) cursor.skipValue()
      else if (cursor.isKey('content') || cursor.isKey('output')) this.#scanParts(cursor)
      else this.#scanList(cursor)
    }
    if (!hasRole) this.#setError('.role', 'a string')
  }

  #scanList(cursor: JsonCursor): void {
    const isThinking = cursor.isKey('reasoning_details')
    const start = cursor.at
    cursor.skipValue()
    if (isThinking) (this.#thinking ??= []).push({ start, end: cursor.at })
  }

  #setError(path: string, allowed: string): void {
    const param = `${this.#list}[${this.#count}]${path}`
    this.#error ??= { param, message: `Invalid \`${param}\`: must be ${allowed}.` }
  }

  #scanParts(cursor: JsonCursor): void {
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      if (cursor.text[cursor.at] === openBrace) this.#scanPart(cursor)
      else cursor.skipValue()
    }
  }

  get #counter(): EmbeddedDataCounter {
    return (this.#embedded ??= new EmbeddedDataCounter())
  }

  /** Scans a content part. A tool result has parts of its own. */
  #scanPart(cursor: JsonCursor): void {
    let isImage: boolean | undefined
    let hasSource = false
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      const first = cursor.text[cursor.at]
      // No client escapes these keys: what they are would be seen by the engine only.
      if (cursor.keyEscaped) this.#counter.hasReferences = true
      if (first === openBrace) {
        const isSource = cursor.isKey('source')
        const isReference = this.#scanHolder(cursor, isMediaHolder(cursor))
        if (isSource) hasSource ||= isReference
        else if (isReference) this.#counter.hasReferences = true
      } else if (first === openBracket) {
        if (cursor.isKey('content')) this.#scanParts(cursor)
        else this.#skipList(cursor)
      } else if (first === quote) {
        if (cursor.isKey('type')) isImage = isText(cursor, '"image"') && isImage !== false
        else if (this.#scanString(cursor, isMediaHolder(cursor))) this.#counter.hasReferences = true
      } else cursor.skipValue()
    }
    if (!hasSource) return
    if (isImage === true) this.#counter.addImage(0)
    else this.#counter.hasReferences = true
  }

  /** Frames of a video (Qwen). */
  #skipList(cursor: JsonCursor): void {
    if (cursor.isKey('video')) this.#counter.hasReferences = true
    cursor.skipValue()
  }

  /** Scans an object in a part: `image_url`, `input_audio`, `file`, `source`. True: it refers to what it holds. */
  #scanHolder(cursor: JsonCursor, isMedia: boolean): boolean {
    const holdsMedia = isMedia || cursor.isKey('source')
    let isReference = false
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      if (cursor.keyEscaped && holdsMedia) isReference = true
      if (cursor.text[cursor.at] !== quote) cursor.skipValue()
      else if (this.#scanString(cursor, holdsMedia)) isReference = true
    }
    return isReference
  }

  /** Measures the data in a text. True if it refers to a file, or (`isMedia`) to what is no image. */
  #scanString(cursor: JsonCursor, isMedia: boolean): boolean {
    const isId = cursor.isKey('file_id')
    const field = embeddedFields.find(([name]) => cursor.isKey(name))?.[1]
    const isOwn = isMedia && mediaHolders.some((name) => cursor.isKey(name))
    const start = cursor.at + 1
    cursor.skipValue()
    if (isId || (field === undefined && !isOwn)) return isId
    const length = cursor.at - 1 - start
    const head = cursor.text.toString('latin1', start, start + Math.min(length, embeddedPrefixLength))
    if (isMedia && isAddress(field, head)) return true
    if (field === undefined || (this.#knownDataOnly && field === 'data' && !hasKnownSignature(head)))
      return false
    this.#counter.add(field, head, length)
    return false
  }
}

function isMediaHolder(cursor: JsonCursor): boolean {
  return mediaHolders.some((name) => cursor.isKey(name))
}

/** The text at the cursor, which is consumed, is this one. */
function isText(cursor: JsonCursor, expected: string): boolean {
  const start = cursor.at
  cursor.skipValue()
  return (
    cursor.at - start === expected.length && cursor.text.toString('latin1', start, cursor.at) === expected
  )
}

/** An address of data elsewhere: a URL that is no data URL, or whatever is in a field for URLs. */
function isAddress(field: string | undefined, head: string): boolean {
  if (/^data:/i.test(head)) return false
  return field === 'url' || field === undefined || /^[a-z][a-z0-9+.-]*:/i.test(head)
}
