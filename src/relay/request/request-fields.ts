/**
 * The fields of a chat request that the relay itself reads (specification, section 2.3), each from its own bytes.
 * A field that is null counts as absent. What is wrong is refused with the field's name and what it may be.
 */
import { refuse, type Refusal } from '../../errors.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'

/** The names that callers and providers have for the maximum of output tokens. */
export type OutputMaximumField = 'max_tokens' | 'max_completion_tokens'

/** What the relay knows of a request. */
export interface RequestFields {
  readonly model: string
  readonly stream: boolean
  /** The caller asks for the usage in the stream. */
  readonly includeUsage: boolean
  /** The stream's options as the caller gave them. */
  readonly streamOptions: Readonly<Record<string, unknown>>
  /** How many results are asked for; 1 when the caller does not say. */
  readonly n: number
  /** The caller's maximum of output tokens; of two, the smaller; null without. */
  readonly maxOutputTokens: number | null
  /** The name that this maximum came under. */
  readonly maxOutputField: OutputMaximumField | null
  /** The values of both names where they are given. */
  readonly maximums: Readonly<Partial<Record<OutputMaximumField, number>>>
}

const maxModelLength = 256

interface NumberRule {
  readonly from: number
  readonly to: number
  readonly whole?: boolean
}

const numberRules = new Map<string, NumberRule>([
  ['temperature', { from: 0, to: 2 }],
  ['top_p', { from: 0, to: 1 }],
  ['n', { from: 1, to: 128, whole: true }],
  ['max_tokens', { from: 1, to: 2 ** 31, whole: true }],
  ['max_completion_tokens', { from: 1, to: 2 ** 31, whole: true }],
  ['presence_penalty', { from: -2, to: 2 }],
  ['frequency_penalty', { from: -2, to: 2 }],
])

const known = new Set([...numberRules.keys(), 'model', 'messages', 'stream', 'stream_options'])

const maxKnownLength = Math.max(...Array.from(known, (name) => name.length))

const quote = 0x22
const minus = 0x2d
const openBrace = 0x7b

/** Reads and checks the fields from a body's outermost members, whose keys are unique and whose JSON is valid. */
export function readFields(body: Buffer, members: readonly JsonMember[]): RequestFields {
  let model: string | undefined
  let stream = false
  let options: JsonMember | undefined
  let n: number | undefined
  let old: number | undefined
  let current: number | undefined
  for (const member of members) {
    const { key } = member
    if (!known.has(key)) assertNoLookalike(key, known)
    else if (body[member.start] === 0x6e) continue
    else if (key === 'model') model = modelOf(body, member)
    else if (key === 'stream') stream = flagOf(body, member)
    else if (key === 'stream_options') options = member
    else {
      const number = numberOf(body, member)
      if (key === 'n') n = number
      else if (key === 'max_tokens') old = number
      else if (key === 'max_completion_tokens') current = number
    }
  }
  if (model === undefined) throw wrongModel()
  const streamOptions = options === undefined ? {} : streamOptionsOf(body, options, stream)
  const maxOutputField = smallerField(old, current)
  return {
    model,
    stream,
    includeUsage: streamOptions['include_usage'] === true,
    streamOptions,
    n: n ?? 1,
    maxOutputTokens: (maxOutputField === 'max_tokens' ? old : current) ?? null,
    maxOutputField,
    maximums: { max_tokens: old, max_completion_tokens: current },
  }
}

function valueOf(body: Buffer, { start, end }: JsonMember): unknown {
  const value: unknown = JSON.parse(body.toString('utf8', start, end))
  return value
}

export function modelOf(body: Buffer, member: JsonMember): string {
  // Six bytes write one character at most.
  const readable = body[member.start] === quote && member.end - member.start <= 6 * maxModelLength + 2
  const model = readable ? valueOf(body, member) : undefined
  if (typeof model === 'string' && model !== '' && model.length <= maxModelLength) return model
  throw wrongModel()
}

export function numberOf(body: Buffer, member: JsonMember): number | undefined {
  const rule = numberRules.get(member.key)
  if (rule === undefined) return undefined
  const { from, to, whole = false } = rule
  const first = body[member.start] ?? 0
  // A longer number than any that is meant is not worth the reading.
  const readable = (first === minus || (first >= 0x30 && first <= 0x39)) && member.end - member.start <= 1024
  const number = readable ? valueOf(body, member) : undefined
  if (typeof number === 'number' && number >= from && number <= to && (!whole || Number.isInteger(number))) {
    return number
  }
  throw wrong(member.key, `${whole ? 'an integer' : 'a number'} from ${from} to ${to}`)
}

export function flagOf(body: Buffer, { key, start }: JsonMember): boolean {
  // The scan has checked the whole word.
  if (body[start] === 0x74) return true
  if (body[start] === 0x66) return false
  throw wrong(key, 'true or false')
}

function streamOptionsOf(body: Buffer, member: JsonMember, stream: boolean): Record<string, unknown> {
  const { key } = member
  if (body[member.start] !== openBrace) throw wrong(key, 'an object')
  if (!stream) {
    throw refuse('invalid_request', { param: key, message: `${key} is only allowed when stream is true.` })
  }
  const options = valueOf(body, member) as Record<string, unknown>
  const flag = options['include_usage'] ?? false
  if (typeof flag !== 'boolean') throw wrong(`${key}.include_usage`, 'true or false')
  return options
}

function smallerField(old: number | undefined, current: number | undefined): OutputMaximumField | null {
  if (old === undefined) return current === undefined ? null : 'max_completion_tokens'
  return current === undefined || old <= current ? 'max_tokens' : 'max_completion_tokens'
}

/**
 * Some readers match names without regard to case (Go's encoding/json, with Unicode folding: `ſ` is `s`). To them
 * `"Model"` would be the model, and not the one that was paid for.
 */
export function assertNoLookalike(key: string, known: ReadonlySet<string>): void {
  if (key.length > maxKnownLength) return
  const folded = key.toUpperCase().toLowerCase()
  if (!known.has(folded)) return
  const message = `A field ${JSON.stringify(key)} could be mistaken for ${folded}; write ${folded}.`
  throw refuse('invalid_request', { param: key, message })
}

export function wrongModel(): Refusal {
  return wrong('model', `a non-empty string of at most ${maxModelLength} characters`)
}

export function wrong(param: string, allowed: string): Refusal {
  return refuse('invalid_request', { param, message: `${param} must be ${allowed}.` })
}
