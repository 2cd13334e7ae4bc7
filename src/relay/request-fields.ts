/**
 * The fields of a chat request that the relay itself reads (specification, section 2.3), each from its own bytes.
 * A field that is null counts as absent. What is wrong is refused with the field's name and what it may be.
 */
import { refuse, type Refusal } from '../errors.ts'
import type { JsonMember } from '../lib/json-scan.ts'

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

const numberRules = {
  temperature: { from: 0, to: 2 },
  top_p: { from: 0, to: 1 },
  n: { from: 1, to: 128, whole: true },
  max_tokens: { from: 1, to: 2 ** 31, whole: true },
  max_completion_tokens: { from: 1, to: 2 ** 31, whole: true },
  presence_penalty: { from: -2, to: 2 },
  frequency_penalty: { from: -2, to: 2 },
} as const satisfies Record<string, NumberRule>

type NumberField = keyof typeof numberRules

const known = new Set([...Object.keys(numberRules), 'model', 'messages', 'stream', 'stream_options'])

const maxKnownLength = Math.max(...Array.from(known, (name) => name.length))

/** Reads and checks the fields from a body's outermost members, whose keys are unique. */
export function readFields(body: Buffer, members: readonly JsonMember[]): RequestFields {
  const values = new Map<string, Value>()
  for (const member of members) {
    if (known.has(member.key)) values.set(member.key, new Value(body, member))
    else assertNoLookalike(member.key)
  }
  const numbers: Partial<Record<NumberField, number>> = {}
  for (const [field, rule] of Object.entries(numberRules) as [NumberField, NumberRule][]) {
    const value = values.get(field)
    if (value !== undefined && !value.isNull) numbers[field] = numberOf(field, value, rule)
  }
  const stream = flagOf('stream', values.get('stream')) ?? false
  const streamOptions = streamOptionsOf(values.get('stream_options'), stream)
  const { max_tokens: old, max_completion_tokens: current } = numbers
  const maxOutputField = smallerField(old, current)
  return {
    model: modelOf(values.get('model')),
    stream,
    includeUsage: streamOptions['include_usage'] === true,
    streamOptions,
    n: numbers.n ?? 1,
    maxOutputTokens: maxOutputField === null ? null : (numbers[maxOutputField] ?? null),
    maxOutputField,
    maximums: { max_tokens: old, max_completion_tokens: current },
  }
}

/** One member's value, read only as far as it is needed. */
class Value {
  readonly #body: Buffer
  readonly #member: JsonMember

  constructor(body: Buffer, member: JsonMember) {
    this.#body = body
    this.#member = member
  }

  get bytes(): number {
    return this.#member.end - this.#member.start
  }

  get isNull(): boolean {
    return this.#first === 0x6e
  }

  get isString(): boolean {
    return this.#first === 0x22
  }

  get isObject(): boolean {
    return this.#first === 0x7b
  }

  get isNumber(): boolean {
    return this.#first === 0x2d || (this.#first >= 0x30 && this.#first <= 0x39)
  }

  get parsed(): unknown {
    const value: unknown = JSON.parse(this.#body.toString('utf8', this.#member.start, this.#member.end))
    return value
  }

  get #first(): number {
    return this.#body[this.#member.start] ?? 0
  }
}

function modelOf(value: Value | undefined): string {
  // Six bytes write one character at most.
  const model = value?.isString && value.bytes <= 6 * maxModelLength + 2 ? value.parsed : undefined
  if (typeof model === 'string' && model !== '' && model.length <= maxModelLength) return model
  throw wrong('model', `a non-empty string of at most ${maxModelLength} characters`)
}

function numberOf(field: NumberField, value: Value, { from, to, whole = false }: NumberRule): number {
  // Longer than any number that is meant: not worth the reading.
  const number = value.isNumber && value.bytes <= 1024 ? value.parsed : undefined
  if (typeof number === 'number' && number >= from && number <= to && (!whole || Number.isInteger(number))) {
    return number
  }
  throw wrong(field, `${whole ? 'an integer' : 'a number'} from ${from} to ${to}`)
}

function flagOf(field: string, value: Value | undefined): boolean | undefined {
  if (value === undefined || value.isNull) return undefined
  const flag = value.bytes <= 5 ? value.parsed : undefined
  if (typeof flag === 'boolean') return flag
  throw wrong(field, 'true or false')
}

function streamOptionsOf(value: Value | undefined, stream: boolean): Record<string, unknown> {
  if (value === undefined || value.isNull) return {}
  if (!value.isObject) throw wrong('stream_options', 'an object')
  if (!stream) {
    const message = 'stream_options is only allowed when stream is true.'
    throw refuse('invalid_request', { param: 'stream_options', message })
  }
  const options = value.parsed as Record<string, unknown>
  const flag = options['include_usage'] ?? false
  if (typeof flag !== 'boolean') throw wrong('stream_options.include_usage', 'true or false')
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
function assertNoLookalike(key: string): void {
  if (key.length > maxKnownLength) return
  const folded = key.toUpperCase().toLowerCase()
  if (!known.has(folded)) return
  const message = `A field ${JSON.stringify(key)} could be mistaken for ${folded}; write ${folded}.`
  throw refuse('invalid_request', { param: key, message })
}

function wrong(param: string, allowed: string): Refusal {
  return refuse('invalid_request', { param, message: `${param} must be ${allowed}.` })
}
