/**
 * A pull parser over the bytes of a JSON text (RFC 8259), strict about grammar, escapes, control characters and
 * numbers. It builds no values, does not recurse, and takes linear time. The caller must check first that the bytes
 * are valid UTF-8.
 */

/** The maximum nesting depth inside a skipped value. */
export const maxDepth = 512

/** The text is not JSON, or (`tooDeep`) it may be but is nested too deeply to parse. */
export class MalformedJsonError extends Error {
  readonly at: number
  readonly tooDeep: boolean

  constructor(at: number, tooDeep = false) {
    super(tooDeep ? 'too deep' : 'not JSON')
    this.name = 'MalformedJsonError'
    this.at = at
    this.tooDeep = tooDeep
  }
}

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** The same value in each byte of a 32-bit word. */
const backslashes = 0x5c5c5c5c
const flipBits = 0x02020202
const ones = 0x01010101
const spacesAndOne = 0x21212121
const highBits = 0x80808080

/** The open containers, objects as 1. All cursors share it, because a value is always skipped in one call. */
const inObject = new Uint8Array(maxDepth)

/** 1 for the letters of two-character escapes. */
const escapable = new Uint8Array(256)
for (const letter of Buffer.from('"\\/bfnrt')) escapable[letter] = 1
const literals = new Map(
  ['true', 'false', 'null'].map((literal) => [literal.charCodeAt(0), Buffer.from(literal)]),
)

/** Moves forward through a JSON text, value by value. `at` is the next byte; every step throws {@link MalformedJsonError}. */
export class JsonCursor {
  readonly text: Buffer
  at = 0
  /** The last key read, without its quotes and not unescaped. */
  keyStart = 0
  keyEnd = 0
  keyEscaped = false
  readonly #length: number
  /** The same bytes as aligned 32-bit words, for searching inside strings; the first word begins at `#shift`. */
  readonly #words: Int32Array
  readonly #shift: number

  constructor(text: Buffer) {
    this.text = text
    this.#length = text.length
    const shift = -text.byteOffset & 3
    const count = Math.max(0, (text.length - shift) >> 2)
    this.#shift = shift
    this.#words = new Int32Array(text.buffer, count === 0 ? 0 : text.byteOffset + shift, count)
  }

  /** Skips white space and returns the byte at the new position, or -1 at the end. */
  skipSpace(): number {
    const { text } = this
    let at = this.at
    let byte = text[at]
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = text[++at]
    this.at = at
    return byte ?? -1
  }

  /** Skips `{`. Returns true and moves to the first key if a member follows; skips an empty object completely. */
  enterObject(): boolean {
    return this.#enter(closeBrace)
  }

  /** After a member's value: skips the comma and moves to the next key, or skips the closing brace (false). */
  nextMember(): boolean {
    return this.#next(closeBrace)
  }

  /** Skips `[`. Returns true and moves to the first element if one follows; skips an empty array completely. */
  enterArray(): boolean {
    return this.#enter(closeBracket)
  }

  /** After an element: skips the comma and moves to the next element, or skips the closing bracket (false). */
  nextElement(): boolean {
    return this.#next(closeBracket)
  }

  /** Reads a key and its colon, and moves to the value. */
  readKey(): void {
    if (this.text[this.at] !== quote) this.#fail()
    this.keyStart = this.at + 1
    this.keyEscaped = this.#skipString()
    this.keyEnd = this.at - 1
    if (this.skipSpace() !== colon) this.#fail()
    this.at++
    this.skipSpace()
  }

  /** The last key, unescaped. */
  get key(): string {
    if (!this.keyEscaped) return this.text.toString('utf8', this.keyStart, this.keyEnd)
    const key: unknown = JSON.parse(this.text.toString('utf8', this.keyStart - 1, this.keyEnd + 1))
    return String(key)
  }

  /** Whether the last key equals `name`, which must be ASCII; an escaped key never matches. */
  isKey(name: string): boolean {
    if (this.keyEnd - this.keyStart !== name.length) return false
    for (let i = 0; i < name.length; i++) {
      if (this.text[this.keyStart + i] !== name.charCodeAt(i)) return false
    }
    return true
  }

  /** Skips one complete value. */
  skipValue(): void {
    let depth = 0
    for (;;) {
      const byte = this.skipSpace()
      if (byte === openBrace || byte === openBracket) {
        const object = byte === openBrace
        if (object ? this.enterObject() : this.enterArray()) {
          if (depth === maxDepth) throw new MalformedJsonError(this.at, true)
          inObject[depth++] = object ? 1 : 0
          if (object) this.readKey()
          continue
        }
      } else if (byte === quote) this.#skipString()
      else if (byte === minus || (byte >= 0x30 && byte <= 0x39)) this.#skipNumber()
      else this.#skipLiteral(byte)
      while (depth > 0 && !(inObject[depth - 1] === 1 ? this.nextMember() : this.nextElement())) depth--
      if (depth === 0) return
      if (inObject[depth - 1] === 1) this.readKey()
    }
  }

  #enter(closing: number): boolean {
    this.at++
    if (this.skipSpace() !== closing) return true
    this.at++
    return false
  }

  #next(closing: number): boolean {
    const byte = this.skipSpace()
    if (byte !== comma && byte !== closing) this.#fail()
    this.at++
    if (byte === closing) return false
    this.skipSpace()
    return true
  }

  /** Skips a string from its opening quote; returns whether it contains an escape. */
  #skipString(): boolean {
    const { text } = this
    const words = this.#words
    const shift = this.#shift
    const length = this.#length
    let escaped = false
    let at = this.at + 1
    while (at < length) {
      if (((at - shift) & 3) === 0) {
        at = shift + (plainWordsEnd(words, (at - shift) >> 2) << 2)
        if (at >= length) break
      }
      const byte = text[at] ?? 0
      if (byte === quote) {
        this.at = at + 1
        return escaped
      }
      if (byte === backslash) {
        escaped = true
        at = this.#escapeEnd(at)
      } else if (byte < 0x20) break
      else at++
    }
    this.at = at
    return this.#fail()
  }

  #escapeEnd(at: number): number {
    const letter = this.text[at + 1] ?? 0
    if (escapable[letter] === 1) return at + 2
    this.at = at
    if (letter !== 0x75) this.#fail()
    for (let i = at + 2; i < at + 6; i++) if (!isHexDigit(this.text[i] ?? 0)) this.#fail()
    return at + 6
  }

  #skipNumber(): void {
    if (this.text[this.at] === minus) this.at++
    if (this.text[this.at] === 0x30) this.at++
    else this.#skipDigits()
    if (this.text[this.at] === 0x2e) {
      this.at++
      this.#skipDigits()
    }
    if (((this.text[this.at] ?? 0) | 0x20) === 0x65) {
      this.at++
      const sign = this.text[this.at]
      if (sign === 0x2b || sign === minus) this.at++
      this.#skipDigits()
    }
  }

  #skipDigits(): void {
    const { text } = this
    let at = this.at
    for (let byte = text[at] ?? 0; byte >= 0x30 && byte <= 0x39; byte = text[at] ?? 0) at++
    if (at === this.at) this.#fail()
    this.at = at
  }

  #skipLiteral(first: number): void {
    const literal = literals.get(first)
    if (literal === undefined) this.#fail()
    for (const byte of literal) if (this.text[this.at++] !== byte) this.#fail()
  }

  #fail(): never {
    throw new MalformedJsonError(Math.min(this.at, this.#length))
  }
}

/**
 * Returns the first word from `start` on that may contain a quote, a backslash or a control character (or the last odd
 * word). Subtraction sets a byte's high bit if the byte was smaller. Flipping the second bit swaps the quote (0x22) and
 * the space (0x20), so that the quote directly follows the control characters.
 */
function plainWordsEnd(words: Int32Array, start: number): number {
  const last = words.length - 1
  let index = start
  while (index < last) {
    const a = words[index] ?? 0
    const b = words[index + 1] ?? 0
    const inA = (((a ^ flipBits) - spacesAndOne) | ((a ^ backslashes) - ones)) & ~a
    const inB = (((b ^ flipBits) - spacesAndOne) | ((b ^ backslashes) - ones)) & ~b
    if (((inA | inB) & highBits) !== 0) break
    index += 2
  }
  return index
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66)
}
