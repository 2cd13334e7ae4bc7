/**
 * Scans `messages` and `tools` in the same pass as the body: validates that every message is an object with a role,
 * measures embedded images, audio and files, and finds reasoning that is sent back, and tools that are no functions. The
 * provider validates everything else.
 */
import { apiError } from '../../errors.ts'
import type { JsonCursor } from '../../lib/json/json-cursor.ts'
import type { JsonValueVisitor } from '../../lib/json/json-scanner.ts'
import {
  type EmbeddedData,
  embeddedFields,
  embeddedPrefixLength,
  embeddedTokens,
  hasKnownSignature,
} from './token-estimate.ts'
import { scanTools, type ToolSpan } from './tool-scanner.ts'

const quote = 0x22
const openBracket = 0x5b
const openBrace = 0x7b

/** The position of a value in the text. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Visits `messages` during a scan. Each scan needs a new one. */
export class MessageScanner implements JsonValueVisitor {
  readonly #knownDataOnly: boolean
  #count = 0
  #error: { param: string; message: string } | undefined
  #embeddedBytes = 0
  #embeddedTokens = 0
  #thinking: Span[] | undefined
  #otherTools: readonly ToolSpan[] | undefined

  /**
   * `knownDataOnly`: a field `data` that does not start as an image or a document is plain text (Anthropic's format).
   */
  constructor({ knownDataOnly } = { knownDataOnly: false }) {
    this.#knownDataOnly = knownDataOnly
  }

  /** Data in the messages' content parts. */
  get embedded(): EmbeddedData {
    return { bytes: this.#embeddedBytes, tokens: this.#embeddedTokens }
  }

  /** The `reasoning_details` arrays of messages, in order; `undefined` if there are none, which is the usual case. */
  get thinking(): readonly Span[] | undefined {
    return this.#thinking
  }

  /** The members of `tools` that are no functions; `undefined` if there are none, which is the usual case. */
  get otherTools(): readonly ToolSpan[] | undefined {
    return this.#otherTools
  }

  /** Throws if the messages are invalid. Call it when the whole body has been scanned. */
  validate(): void {
    if (this.#error !== undefined) throw apiError('invalid_request', this.#error)
    if (this.#count > 0) return
    throw apiError('invalid_request', {
      param: 'messages',
      message: 'Invalid `messages`: must be a non-empty array.',
    })
  }

  visit(key: string, cursor: JsonCursor): void {
    if (key === 'tools') this.#otherTools = scanTools(cursor)
    if (key !== 'messages' || cursor.text[cursor.at] !== openBracket) return
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      this.#scanMessage(cursor)
      this.#count++
    }
  }

  #scanMessage(cursor: JsonCursor): void {
    if (cursor.text[cursor.at] !== openBrace) {
      this.#setError('', 'an object')
      cursor.skipValue()
      return
    }
    let hasRole = false
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      const first = cursor.text[cursor.at]
      // A key with escapes may be `role`: the provider decides.
      if (cursor.keyEscaped || cursor.isKey('role')) hasRole = cursor.keyEscaped || first === quote
      if (first !== openBracket) cursor.skipValue()
      else if (cursor.isKey('content')) this.#scanParts(cursor)
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
    const param = `messages[${this.#count}]${path}`
    this.#error ??= { param, message: `Invalid \`${param}\`: must be ${allowed}.` }
  }

  #scanParts(cursor: JsonCursor): void {
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      if (cursor.text[cursor.at] === openBrace) this.#scanPart(cursor, true)
      else cursor.skipValue()
    }
  }

  /**
   * Scans a content part, or (if not `outer`) an object in it: `image_url`, `input_audio`, `file`, `source`. A tool
   * result has parts of its own.
   */
  #scanPart(cursor: JsonCursor, outer: boolean): void {
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      const first = cursor.text[cursor.at]
      if (first === openBrace && outer) this.#scanPart(cursor, false)
      else if (first === openBracket && cursor.isKey('content')) this.#scanParts(cursor)
      else if (first === quote) this.#scanString(cursor)
      else cursor.skipValue()
    }
  }

  #scanString(cursor: JsonCursor): void {
    const field = embeddedFields.find(([name]) => cursor.isKey(name))?.[1]
    const start = cursor.at + 1
    cursor.skipValue()
    if (field === undefined) return
    const length = cursor.at - 1 - start
    const head = cursor.text.toString('latin1', start, start + Math.min(length, embeddedPrefixLength))
    if (this.#knownDataOnly && field === 'data' && !hasKnownSignature(head)) return
    this.#embeddedBytes += length
    this.#embeddedTokens += embeddedTokens(field, head, length)
  }
}
