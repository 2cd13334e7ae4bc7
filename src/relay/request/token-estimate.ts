/**
 * Estimates tokens that no provider has counted: about 4 English characters per token, or 1.5 to 2 Chinese ones. A hold
 * looks at bytes only, which costs nothing; a charge counts characters by script. Images, audio and files are counted
 * by their kind (embedded-data.ts), since their bytes say nothing about their tokens.
 */
import { getObject, getObjects, isObject, type Json } from '../../providers/json-fields.ts'
import { embeddedFields, embeddedPrefixLength, embeddedTokens, type EmbeddedData } from './embedded-data.ts'

/**
 * The input tokens of a hold: the body's bytes ÷ 4, rounded up, which fits both scripts (a Chinese character has three
 * bytes), with embedded data counted by its kind.
 * @param bytesPerToken less than 4 to hold more
 */
export function inputEstimateForHold(bodyBytes: number, embedded: EmbeddedData, bytesPerToken = 4): number {
  const { bytes, tokens, documentTokens } = embedded
  return Math.ceil((bodyBytes - bytes) / bytesPerToken) + tokens + documentTokens
}

/** A token is 28 units, so that both scripts count in integers: 28 ÷ 1.75 and 28 ÷ 4. */
const unitsPerToken = 28
const unitsPerWideCharacter = 16
const unitsPerCharacter = 7
/** 64 characters of a run of one character, or of white space, are a token where runs are not counted as text. */
const unitsPerRunCharacter = unitsPerToken / 64

/**
 * Counts the estimated tokens of text that arrives in pieces. The sum does not depend on where the text is split, even
 * inside a surrogate pair, and is rounded up once.
 */
export class TokenCounter {
  #units = 0
  /** The units by which the count is larger than one without runs. */
  #runUnits = 0
  #afterHighSurrogate = false
  #lastCode = -1

  /** Counts the next piece of the text. */
  add(text: string): void {
    let units = 0
    let runUnits = 0
    let afterHigh = this.#afterHighSurrogate
    let last = this.#lastCode
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      const isRun = code === last || (code <= 0x20 && last <= 0x20 && last >= 0)
      last = code
      if (isRun)
        runUnits +=
          (code < 0x1100 || !isWide(code) ? unitsPerCharacter : unitsPerWideCharacter) - unitsPerRunCharacter
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
    this.#runUnits += runUnits
    this.#lastCode = last
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

  /** The tokens so far, of which 64 characters of a run are one: models write such runs in few tokens. */
  get tokensWithoutRuns(): number {
    return Math.ceil((this.#units - this.#runUnits) / unitsPerToken)
  }
}

/** The longest beginning of a text whose count fits. */
export function textWithin(text: string, fits: (count: TokenCounter) => boolean): string {
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const count = new TokenCounter()
    count.add(text.slice(0, middle))
    if (fits(count)) low = middle
    else high = middle - 1
  }
  // A character of two units stays whole.
  const last = text.charCodeAt(low - 1)
  return text.slice(0, low < text.length && (last & 0xfc00) === 0xd800 ? low - 1 : low)
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
