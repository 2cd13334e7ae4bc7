/**
 * What is looked at inside `messages` while the body is scanned, in the same pass: that every message is an object
 * with a role, where images, sound and files are embedded, and where thinking is sent back. All else in there is the
 * provider's to judge.
 */
import { refuse } from '../../errors.ts'
import type { JsonCursor } from '../../lib/json/json-cursor.ts'
import type { JsonVisitor } from '../../lib/json/json-scanner.ts'
import {
  type Embedded,
  embeddedFields,
  embeddedHeadLength,
  embeddedTokens,
  hasKnownBeginning,
} from './token-estimate.ts'

const quote = 0x22
const openBracket = 0x5b
const openBrace = 0x7b

/** Where a value stands in the text. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Looks through `messages` as a scan passes them; one for each scan. */
export class MessageShapes implements JsonVisitor {
  readonly #knownDataOnly: boolean
  #count = 0
  #fault: { param: string; message: string } | undefined
  #embeddedBytes = 0
  #embeddedTokens = 0
  #thinking: Span[] | undefined

  /** `knownDataOnly`: a field `data` that does not begin as an image or a document is plain text (Anthropic's format). */
  constructor({ knownDataOnly } = { knownDataOnly: false }) {
    this.#knownDataOnly = knownDataOnly
  }

  /** Data in the messages' content parts. */
  get embedded(): Embedded {
    return { bytes: this.#embeddedBytes, tokens: this.#embeddedTokens }
  }

  /** The lists `reasoning_details` of messages, in order; `undefined` without, as nearly always. */
  get thinking(): readonly Span[] | undefined {
    return this.#thinking
  }

  /** Refuses what is no list of messages; to call when the whole body has been scanned. */
  check(): void {
    if (this.#fault !== undefined) throw refuse('invalid_request', this.#fault)
    if (this.#count > 0) return
    throw refuse('invalid_request', { param: 'messages', message: 'messages must be a non-empty array.' })
  }

  visit(key: string, cursor: JsonCursor): void {
    if (key !== 'messages' || cursor.text[cursor.at] !== openBracket) return
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      this.#message(cursor)
      this.#count++
    }
  }

  #message(cursor: JsonCursor): void {
    if (cursor.text[cursor.at] !== openBrace) {
      this.#blame('', 'an object')
      cursor.skipValue()
      return
    }
    let hasRole = false
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      const first = cursor.text[cursor.at]
      // A key written with escapes may be any: the provider decides.
      if (cursor.keyEscaped || cursor.isKey('role')) hasRole = cursor.keyEscaped || first === quote
      if (first !== openBracket) cursor.skipValue()
      else if (cursor.isKey('content')) this.#parts(cursor)
      else this.#list(cursor)
    }
    if (!hasRole) this.#blame('.role', 'a string')
  }

  #list(cursor: JsonCursor): void {
    const isThinking = cursor.isKey('reasoning_details')
    const start = cursor.at
    cursor.skipValue()
    if (isThinking) (this.#thinking ??= []).push({ start, end: cursor.at })
  }

  #blame(path: string, allowed: string): void {
    const param = `messages[${this.#count}]${path}`
    this.#fault ??= { param, message: `${param} must be ${allowed}.` }
  }

  #parts(cursor: JsonCursor): void {
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      if (cursor.text[cursor.at] === openBrace) this.#part(cursor, true)
      else cursor.skipValue()
    }
  }

  /**
   * A content part, or (not `outer`) an object in it: `image_url`, `input_audio`, `file`, `source`. What a tool answered
   * has parts of its own.
   */
  #part(cursor: JsonCursor, outer: boolean): void {
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey()
      const first = cursor.text[cursor.at]
      if (first === openBrace && outer) this.#part(cursor, false)
      else if (first === openBracket && cursor.isKey('content')) this.#parts(cursor)
      else if (first === quote) this.#string(cursor)
      else cursor.skipValue()
    }
  }

  #string(cursor: JsonCursor): void {
    const field = embeddedFields.find(([name]) => cursor.isKey(name))?.[1]
    const start = cursor.at + 1
    cursor.skipValue()
    if (field === undefined) return
    const length = cursor.at - 1 - start
    const head = cursor.text.toString('latin1', start, start + Math.min(length, embeddedHeadLength))
    if (this.#knownDataOnly && field === 'data' && !hasKnownBeginning(head)) return
    this.#embeddedBytes += length
    this.#embeddedTokens += embeddedTokens(field, head, length)
  }
}
