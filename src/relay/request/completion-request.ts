/**
 * A request of OpenAI's legacy completions (`POST /v1/completions`): validated where the relay depends on it, and sent to
 * upstreams with OpenAI's format under the same path, and to Mistral as completions of code. Other providers with a format
 * of their own have no such operation.
 */
import { apiError } from '../../errors.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import type { BodyEdits } from '../../providers/provider.ts'
import { getString, isObject, type Json } from '../../providers/json-fields.ts'
import { ChatStreamEncoder, openAIFormat, type ChunkShape } from '../streaming/chat-stream-encoder.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { CallerFormat, CallerRequest, RequestEncoding, StreamEncoder } from './caller-format.ts'
import { MessageScanner } from './message-scanner.ts'
import { countPrompts, type Prompts } from './prompts.ts'
import { patchBody, scanBody, ScannedRequest, type ScannedBody } from './request-body.ts'
import {
  assertNoLookalike,
  invalidField,
  invalidModel,
  parseBoolean,
  parseModel,
  parseNumber,
  type NumberBounds,
} from './request-fields.ts'
import {
  findRestricted,
  KnownMembers,
  noRestrictedFields,
  type RestrictedField,
} from './restricted-fields.ts'
import { TokenCounter } from './token-estimate.ts'

/** OpenAI's default, which is written into every request that names none: engines have others. */
const defaultMaximum = 16

const format: CallerFormat = { ...openAIFormat, operation: 'completions' }
const chunkShape: ChunkShape = { object: 'text_completion', written: { text: '' } }

const bounds: ReadonlyMap<string, NumberBounds> = new Map([
  ['max_tokens', { min: 0, max: 2 ** 31, isInteger: true }],
  ['n', { min: 1, max: 128, isInteger: true }],
  ['best_of', { min: 1, max: 128, isInteger: true }],
])
const knownFields = new KnownMembers([
  ...bounds.keys(),
  'model',
  'prompt',
  'stream',
  'stream_options',
  'echo',
])
const nullByte = 0x6e

interface CompletionFields {
  readonly model: string
  readonly stream: boolean
  readonly echo: boolean
  readonly maximum: number
  /** Results that the provider writes for each prompt. */
  readonly results: number
  readonly restricted: readonly RestrictedField[]
}

/** Throws `invalid_json`, or `invalid_request` with the field in `param`. */
export function readCompletionRequest(body: Buffer): CompletionRequest {
  const scanned = scanBody(body, () => new MessageScanner())
  return new CompletionRequest(scanned, readCompletionFields(scanned.text, scanned.members))
}

function readCompletionFields(body: Buffer, members: readonly JsonMember[]): CompletionFields {
  let model: string | undefined
  let stream = false
  let echo = false
  const numbers = new Map<string, number | undefined>()
  const restricted: JsonMember[] = []
  for (const member of members) {
    const { key } = member
    const rule = knownFields.get(key)
    if (rule === undefined) assertNoLookalike(key, knownFields)
    else if (body[member.start] === nullByte) continue
    else if (rule !== null) restricted.push(member)
    else if (key === 'model') model = parseModel(body, member)
    else if (key === 'stream') stream = parseBoolean(body, member)
    else if (key === 'echo') echo = parseBoolean(body, member)
    else numbers.set(key, parseNumber(body, member, bounds.get(key)))
  }
  if (model === undefined) throw invalidModel()
  const [n = 1, bestOf = 1] = [numbers.get('n'), numbers.get('best_of')]
  if (bestOf > 1 && bestOf < n) throw invalidField('best_of', 'at least `n`')
  const found = restricted.length > 0 ? findRestricted(body, restricted) : noRestrictedFields
  const maximum = numbers.get('max_tokens') ?? defaultMaximum
  return { model, stream, echo, maximum, results: Math.max(n, bestOf), restricted: found }
}

function parseStreamOptions(options: unknown, stream: boolean): Json {
  if (options === undefined || options === null) return {}
  if (!isObject(options)) throw invalidField('stream_options', 'an object')
  if (stream) return options
  const message = 'Invalid `stream_options`: only allowed if `stream` is true.'
  throw apiError('invalid_request', { param: 'stream_options', message })
}

export class CompletionRequest extends ScannedRequest implements CallerRequest {
  readonly format = format
  readonly model: string
  readonly stream: boolean
  readonly n: number
  readonly maxOutputTokens: number
  /** The maximum that is sent. */
  readonly maximum: number
  readonly restricted: readonly RestrictedField[]
  readonly tokenIds?: number
  readonly streamOptions: Json
  readonly #prompts: Prompts

  constructor(scanned: ScannedBody, fields: CompletionFields) {
    super(scanned)
    const parsed = this.parsed()
    this.#prompts = countPrompts(parsed['prompt'], 'prompt')
    const { tokens } = this.#prompts
    // A suffix is text.
    if (tokens > 0 && typeof parsed['suffix'] !== 'string') this.tokenIds = tokens
    this.model = fields.model
    this.stream = fields.stream
    this.n = this.#prompts.count * fields.results
    this.maximum = fields.maximum
    // A prompt that is repeated in the response passes like output.
    const echoed = fields.echo ? Math.ceil(this.inputTokens() / this.#prompts.count) : 0
    this.maxOutputTokens = fields.maximum + echoed
    this.restricted = fields.restricted
    this.streamOptions = parseStreamOptions(parsed['stream_options'], fields.stream)
  }

  protected estimateInputTokens(): number {
    const counter = new TokenCounter()
    for (const text of this.#prompts.texts) counter.add(text)
    counter.add(getString(this.parsed(), 'suffix') ?? '')
    counter.addTokens(this.#prompts.tokens)
    return counter.tokens
  }

  encodingFor(): RequestEncoding {
    return new CompletionEncoding(this)
  }
}

class CompletionEncoding implements RequestEncoding {
  readonly isPassthrough = false
  readonly maxOutputField = 'max_tokens'
  readonly callerMaximumTokens: number
  readonly stream: boolean
  readonly #request: CompletionRequest

  constructor(request: CompletionRequest) {
    this.stream = request.stream
    this.callerMaximumTokens = request.maximum
    this.#request = request
  }

  parsed(): Json {
    return this.#request.parsed()
  }

  encode({ model, maximum, withoutFields, extra }: BodyEdits): Buffer[] {
    const { streamOptions } = this.#request
    const changes = new Map<string, string>()
    for (const [key, value] of Object.entries(extra ?? {})) changes.set(key, JSON.stringify(value))
    changes.set('model', JSON.stringify(model))
    changes.set('max_tokens', String(Math.min(this.callerMaximumTokens, maximum?.tokens ?? Infinity)))
    const hasNoOptions = withoutFields?.has('stream_options') ?? false
    if (this.stream && !hasNoOptions)
      changes.set('stream_options', JSON.stringify({ ...streamOptions, include_usage: true }))
    return patchBody(this.#request, changes, hasNoOptions ? ['stream_options'] : [])
  }

  streamEncoder(meter: UsageMeter): StreamEncoder {
    const includesUsage = this.#request.streamOptions['include_usage'] === true
    return new ChatStreamEncoder(includesUsage, meter, chunkShape)
  }
}
