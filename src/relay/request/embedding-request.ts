/**
 * A request for embeddings (`POST /v1/embeddings`): validated where the relay depends on it, and sent in the provider's
 * format, in several calls if it has more inputs than one may have.
 */
import { normalizeEmbeddings, type EmbeddingEncoding } from '../../formats/embeddings.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { embeddingList } from '../../providers/embeddings.ts'
import { isObject } from '../../providers/json-fields.ts'
import type { NativeEdits, NativeRequest, Provider } from '../../providers/provider.ts'
import { openAIFormat } from '../streaming/chat-stream-encoder.ts'
import type { CallerFormat, CallerRequest, RequestEncoding, StreamEncoder } from './caller-format.ts'
import { noEmbeddedData } from './embedded-data.ts'
import { PassthroughEncoding } from './passthrough-encoding.ts'
import { MessageScanner } from './message-scanner.ts'
import { countPrompts, parseMember, type Prompts } from './prompts.ts'
import { patchBody, scanBody, ScannedRequest, type ScannedBody } from './request-body.ts'
import { assertNoLookalike, invalidField, invalidModel, parseModel } from './request-fields.ts'
import {
  findRestricted,
  KnownMembers,
  noRestrictedFields,
  type RestrictedField,
} from './restricted-fields.ts'
import { TokenCounter } from './token-estimate.ts'

/** OpenAI's maximums. Texts are the provider's to count, whose tokenizer the relay does not have. */
const maxInputs = 2048
const maxTokenIds = 300_000
const maxTokenIdsPerInput = 8192

const format: CallerFormat = { ...openAIFormat, operation: 'embeddings' }
const knownFields = new KnownMembers(['model', 'input', 'encoding_format', 'stream'])
const nullByte = 0x6e

interface EmbeddingFields {
  readonly model: string
  readonly restricted: readonly RestrictedField[]
  readonly inputs: Prompts
  readonly encoding: EmbeddingEncoding
}

/** Throws `invalid_json`, or `invalid_request` with the field in `param`. */
export function readEmbeddingRequest(body: Buffer): EmbeddingRequest {
  const scanned = scanBody(body, () => new MessageScanner())
  return new EmbeddingRequest(scanned, readEmbeddingFields(scanned.text, scanned.members))
}

function readEmbeddingFields(body: Buffer, members: readonly JsonMember[]): EmbeddingFields {
  let model: string | undefined
  let input: unknown
  let encoding: unknown = 'float'
  const restricted: JsonMember[] = []
  for (const member of members) {
    const { key } = member
    const rule = knownFields.get(key)
    if (rule === undefined) assertNoLookalike(key, knownFields)
    else if (body[member.start] === nullByte) continue
    else if (rule !== null) restricted.push(member)
    else if (key === 'model') model = parseModel(body, member)
    else if (key === 'input') input = parseMember(body, member)
    else if (key === 'encoding_format') encoding = parseMember(body, member)
    else if (parseMember(body, member) !== false) throw invalidField(key, 'absent: embeddings are no stream')
  }
  if (model === undefined) throw invalidModel()
  const inputs = countInputs(input)
  if (encoding !== 'float' && encoding !== 'base64')
    throw invalidField('encoding_format', '`float` or `base64`')
  const found = restricted.length > 0 ? findRestricted(body, restricted) : noRestrictedFields
  return { model, inputs, encoding, restricted: found }
}

function countInputs(input: unknown): Prompts {
  const inputs = countPrompts(input, 'input')
  const { count, tokens, tokenCounts } = inputs
  if (count > maxInputs) throw invalidField('input', `a list of at most ${maxInputs} inputs`)
  const tooLong = tokenCounts.findIndex((length) => length > maxTokenIdsPerInput)
  if (tooLong !== -1) {
    const isList = Array.isArray(input) && Array.isArray(input[0])
    throw invalidField(isList ? `input[${tooLong}]` : 'input', `at most ${maxTokenIdsPerInput} token ids`)
  }
  if (tokens > maxTokenIds) throw invalidField('input', `at most ${maxTokenIds} token ids together`)
  return inputs
}

export class EmbeddingRequest extends ScannedRequest implements CallerRequest, NativeRequest {
  readonly format = format
  readonly stream = false
  readonly n = 1
  readonly maxOutputTokens = 0
  readonly restricted: readonly RestrictedField[]
  readonly tokenIds?: number
  readonly headers: NativeRequest['headers'] = []
  readonly model: string
  readonly encoding: EmbeddingEncoding
  readonly #inputs: Prompts

  constructor(scanned: ScannedBody, { model, inputs, encoding, restricted }: EmbeddingFields) {
    const { tokens } = inputs
    // Token ids are counted exactly.
    super(scanned, tokens > 0 ? { ...noEmbeddedData, bytes: scanned.bytes, tokens } : noEmbeddedData)
    this.model = model
    this.encoding = encoding
    this.restricted = restricted
    if (tokens > 0) this.tokenIds = tokens
    this.#inputs = inputs
  }

  get count(): number {
    return this.#inputs.count
  }

  protected estimateInputTokens(): number {
    const counter = new TokenCounter()
    for (const text of this.#inputs.texts) counter.add(text)
    counter.addTokens(this.#inputs.tokens)
    return counter.tokens
  }

  encodingFor(provider: Provider): RequestEncoding {
    return new EmbeddingEncoder(this, provider)
  }

  encode({ model, inputs }: NativeEdits): Buffer[] {
    const changes = new Map([['model', JSON.stringify(model)]])
    if (inputs && inputs.to - inputs.from < this.count) {
      const list: unknown = this.parsed()['input']
      if (Array.isArray(list)) changes.set('input', JSON.stringify(list.slice(inputs.from, inputs.to)))
    }
    return patchBody(this, changes, ['stream'])
  }
}

class EmbeddingEncoder extends PassthroughEncoding {
  readonly maxOutputField = null
  readonly #request: EmbeddingRequest
  readonly #provider: Provider

  constructor(request: EmbeddingRequest, provider: Provider) {
    super(request)
    this.#request = request
    this.#provider = provider
  }

  get parts(): number {
    return Math.ceil(this.#request.count / (this.#provider.embeddings?.maxInputs ?? Infinity)) || 1
  }

  rewrite(bytes: Buffer, json: unknown): Buffer {
    const format = this.#provider.embeddings
    if (!isObject(json) || !format) return bytes
    const { encoding, count, model } = this.#request
    const list = embeddingList(format, json)
    const inputTokens = (): number => this.#request.inputTokens()
    const normalized = normalizeEmbeddings(list, { encoding, count, inputTokens })
    if (!normalized && list === json) return bytes
    return Buffer.from(JSON.stringify({ model, ...list, ...normalized }))
  }

  streamEncoder(): StreamEncoder {
    throw new Error('Embeddings are no stream.')
  }
}
