/**
 * Parses and validates those fields of a chat request that the relay itself reads, each from its own bytes. A field
 * that is null counts as absent. The error for an invalid field names it and says what it must be.
 */
import { apiError, type ApiError } from '../../errors.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { KnownMembers } from './restricted-fields.ts'
import { escapeInvalidText, isValidText } from '../../lib/valid-text.ts'

/** The fields for the maximum of output tokens. */
export type OutputMaximumField = 'max_tokens' | 'max_completion_tokens'

/** The fields that the relay reads. */
export interface RequestFields {
  readonly model: string
  readonly stream: boolean
  /** The caller's `stream_options`. */
  readonly streamOptions: Readonly<Record<string, unknown>>
  /** The number of results requested; 1 by default. */
  readonly n: number
  /** The caller's maximum of output tokens, the smaller one if there are two; null: none. */
  readonly maxOutputTokens: number | null
  /** The field of this maximum if the caller named exactly one; else the relay chooses the field. */
  readonly maxOutputField: OutputMaximumField | null
  /** The members that have a rule of their own (providers/restricted-fields.ts); `undefined`: none. */
  readonly restricted: readonly JsonMember[] | undefined
}

const maxModelLength = 256

export interface NumberBounds {
  readonly min: number
  readonly max: number
  readonly isInteger?: boolean
}

const numberBounds = new Map<string, NumberBounds>([
  ['temperature', { min: 0, max: 2 }],
  ['top_p', { min: 0, max: 1 }],
  ['n', { min: 1, max: 128, isInteger: true }],
  ['max_tokens', { min: 1, max: 2 ** 31, isInteger: true }],
  ['max_completion_tokens', { min: 1, max: 2 ** 31, isInteger: true }],
  ['presence_penalty', { min: -2, max: 2 }],
  ['frequency_penalty', { min: -2, max: 2 }],
])

const knownFields = new KnownMembers([
  ...numberBounds.keys(),
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
])

const quote = 0x22
const minus = 0x2d
const openBrace = 0x7b

/** Parses the fields from a body's top-level members, whose keys are unique and whose JSON is valid. */
export function readFields(body: Buffer, members: readonly JsonMember[]): RequestFields {
  let model: string | undefined
  let stream = false
  let options: JsonMember | undefined
  let n: number | undefined
  let old: number | undefined
  let current: number | undefined
  let restricted: JsonMember[] | undefined
  for (const member of members) {
    const { key } = member
    const rule = knownFields.get(key)
    if (rule === undefined) assertNoLookalike(key, knownFields)
    else if (body[member.start] === 0x6e) continue
    else if (rule !== null) (restricted ??= []).push(member)
    else if (key === 'model') model = parseModel(body, member)
    else if (key === 'stream') stream = parseBoolean(body, member)
    else if (key === 'stream_options') options = member
    else {
      const number = parseNumber(body, member)
      if (key === 'n') n = number
      else if (key === 'max_tokens') old = number
      else if (key === 'max_completion_tokens') current = number
    }
  }
  if (model === undefined) throw invalidModel()
  const streamOptions = options === undefined ? {} : parseStreamOptions(body, options, stream)
  return {
    model,
    stream,
    streamOptions,
    n: n ?? 1,
    maxOutputTokens:
      old !== undefined && current !== undefined ? Math.min(old, current) : (old ?? current ?? null),
    maxOutputField: onlyField(old, current),
    restricted,
  }
}

function parseValue(body: Buffer, { start, end }: JsonMember): unknown {
  const value: unknown = JSON.parse(body.toString('utf8', start, end))
  return value
}

export function parseModel(body: Buffer, member: JsonMember): string {
  // A character takes at most six bytes.
  const readable = body[member.start] === quote && member.end - member.start <= 6 * maxModelLength + 2
  const model = readable ? parseValue(body, member) : undefined
  if (typeof model !== 'string' || model === '' || model.length > maxModelLength) throw invalidModel()
  if (!isValidText(model)) throw invalidField('model', 'well-formed Unicode without U+0000')
  return model
}

/** `rule`: by default that of the chat format's field; without one, the number is not validated. */
export function parseNumber(
  body: Buffer,
  member: JsonMember,
  rule = numberBounds.get(member.key),
): number | undefined {
  if (rule === undefined) return undefined
  const { min, max, isInteger = false } = rule
  const first = body[member.start] ?? 0
  // No valid number is longer.
  const readable = (first === minus || (first >= 0x30 && first <= 0x39)) && member.end - member.start <= 1024
  const number = readable ? parseValue(body, member) : undefined
  if (
    typeof number === 'number' &&
    number >= min &&
    number <= max &&
    (!isInteger || Number.isInteger(number))
  ) {
    return number
  }
  throw invalidField(member.key, `${isInteger ? 'an integer' : 'a number'} between ${min} and ${max}`)
}

export function parseBoolean(body: Buffer, { key, start }: JsonMember): boolean {
  // The scanner has checked the literal.
  if (body[start] === 0x74) return true
  if (body[start] === 0x66) return false
  throw invalidField(key, 'true or false')
}

function parseStreamOptions(body: Buffer, member: JsonMember, stream: boolean): Record<string, unknown> {
  const { key } = member
  if (body[member.start] !== openBrace) throw invalidField(key, 'an object')
  if (!stream) {
    throw apiError('invalid_request', {
      param: key,
      message: `Invalid \`${key}\`: only allowed if \`stream\` is true.`,
    })
  }
  const options = parseValue(body, member) as Record<string, unknown>
  const flag = options['include_usage'] ?? false
  if (typeof flag !== 'boolean') throw invalidField(`${key}.include_usage`, 'true or false')
  return options
}

function onlyField(old: number | undefined, current: number | undefined): OutputMaximumField | null {
  if ((old === undefined) === (current === undefined)) return null
  return old === undefined ? 'max_completion_tokens' : 'max_tokens'
}

/**
 * Some parsers match names case-insensitively (Go's encoding/json, with Unicode folding: `ſ` is `s`). For them
 * `"Model"` would be the model, but not the one that was paid for. Others end a name at U+0000, or drop characters that
 * have no encoding.
 */
export function assertNoLookalike(key: string, known: KnownMembers): void {
  if (!isValidText(key)) throw invalidKey(key)
  if (key.length > known.maxLength) return
  const folded = key.toUpperCase().toLowerCase()
  if (!known.has(folded)) return
  const message = `Invalid field ${JSON.stringify(key)}: some parsers read it as \`${folded}\`. Use \`${folded}\`.`
  throw apiError('invalid_request', { param: key, message })
}

const maxShownKeyLength = 100

function invalidKey(key: string): ApiError {
  const param = escapeInvalidText(key).slice(0, maxShownKeyLength)
  const message = `Invalid field \`${param}\`: its name must be well-formed Unicode without U+0000.`
  return apiError('invalid_request', { param, message })
}

export function invalidModel(): ApiError {
  return invalidField('model', `a non-empty string of at most ${maxModelLength} characters`)
}

export function invalidField(param: string, allowed: string): ApiError {
  return apiError('invalid_request', { param, message: `Invalid \`${param}\`: must be ${allowed}.` })
}
