/**
 * A request of OpenAI's Responses API (`POST /v1/responses`), parsed once from its bytes and validated where the relay
 * depends on it. It is sent unchanged to upstreams that speak the Responses API, and in the OpenAI format of chat
 * completions to all others, unless it needs a response that a provider stores (`previous`), or asks to store its own.
 */
import type { ResponsePinsTable } from '../../db/schema/schema.ts'
import { apiError } from '../../errors.ts'
import { holderMarker, lastHolder } from '../../formats/encrypted-content.ts'
import { withCallerField } from '../../formats/responses-error.ts'
import { failedBeforeStart } from '../../formats/responses-stream.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { keepAliveComment } from '../../lib/sse/sse-parser.ts'
import type { NativeEdits, NativeRequest, Provider } from '../../providers/provider.ts'
import type { CallerFormat, CallerRequest, RequestEncoding } from './caller-format.ts'
import { findHostedTools, noHostedTools, restrictedTools, type HostedTool } from './hosted-tools.ts'
import { MessageScanner } from './message-scanner.ts'
import { scanBody, ScannedRequest, type ScannedBody } from './request-body.ts'
import {
  assertNoLookalike,
  invalidModel,
  parseBoolean,
  parseModel,
  parseNumber,
  type NumberBounds,
} from './request-fields.ts'
import { patchResponsesBody } from './responses-body.ts'
import { PassthroughResponsesEncoding, TranslatedResponsesEncoding } from './responses-encoding.ts'
import { estimateResponsesInput } from './responses-token-estimate.ts'
import {
  findRestricted,
  KnownMembers,
  noRestrictedFields,
  type RestrictedField,
} from './restricted-fields.ts'

/** The bounds of OpenAI. */
const outputBounds: NumberBounds = { min: 16, max: 2 ** 31, isInteger: true }
/** They refer to what belongs to the operator's account at a provider; only `false` is a value that asks for nothing. */
const stateFields = new Set(['background', 'conversation', 'prompt'])
const chatMaximums = new Set(['max_tokens', 'max_completion_tokens'])
const knownFields = new KnownMembers([
  'model',
  'input',
  'stream',
  'tools',
  'max_output_tokens',
  'store',
  'previous_response_id',
  ...stateFields,
  ...chatMaximums,
])
const nullByte = 0x6e
const falseByte = 0x66

interface ResponsesFields extends Pick<
  ResponsesRequest,
  'model' | 'stream' | 'maxOutputTokens' | 'store' | 'keepsItems' | 'previousId'
> {
  readonly hasTools: boolean
  readonly restricted: readonly RestrictedField[]
}

/**
 * Throws `invalid_json`, or `invalid_request` with the field in `param`. `isTokenCount`: the request is only to be
 * counted, so it is not a stream. `isWarmUp`: it needs no input.
 */
export function readResponsesRequest(
  body: Buffer,
  { isTokenCount = false, isWarmUp = false } = {},
): ResponsesRequest {
  const scanned = scanBody(body, () => new MessageScanner({ list: 'input' }))
  const fields = readResponsesFields(scanned.text, scanned.members)
  scanned.scanner.validate({ mayBeEmpty: isWarmUp })
  return new ResponsesRequest(scanned, isTokenCount ? { ...fields, stream: false } : fields)
}

function readResponsesFields(body: Buffer, members: readonly JsonMember[]): ResponsesFields {
  let model: string | undefined
  let stream = false
  let hasTools = false
  let maxOutputTokens: number | null = null
  let store: boolean | undefined
  let previousId: string | null = null
  const restricted: JsonMember[] = []
  for (const member of members) {
    const { key } = member
    const rule = knownFields.get(key)
    if (rule === undefined) assertNoLookalike(key, knownFields)
    else if (body[member.start] === nullByte) continue
    else if (rule !== null) restricted.push(member)
    else if (stateFields.has(key)) assertStateless(body, member)
    else if (chatMaximums.has(key)) throw chatMaximumError(key)
    else if (key === 'tools') hasTools = true
    else if (key === 'model') model = parseModel(body, member)
    else if (key === 'store') store = parseBoolean(body, member)
    else if (key === 'previous_response_id') previousId = parsePreviousId(body, member)
    else if (key === 'stream') stream = parseBoolean(body, member)
    else if (key === 'max_output_tokens') maxOutputTokens = parseNumber(body, member, outputBounds) ?? null
  }
  if (model === undefined) throw invalidModel()
  const found = restricted.length > 0 ? findRestricted(body, restricted) : noRestrictedFields
  // OpenAI stores responses by default, and clients that say nothing refer to their items.
  const storage = { store: store ?? false, keepsItems: store ?? true }
  return { model, stream, maxOutputTokens, ...storage, previousId, restricted: found, hasTools }
}

function assertStateless(body: Buffer, { key, start }: JsonMember): void {
  if (body[start] === falseByte) return
  const message = `Invalid \`${key}\`: this API does not support it. Remove it, and send the whole conversation in \`input\`.`
  throw apiError('invalid_request', { param: key, message })
}

function parsePreviousId(body: Buffer, { start, end }: JsonMember): string {
  const id: unknown = JSON.parse(body.toString('utf8', start, end))
  if (typeof id === 'string' && id !== '') return id
  const message = 'Invalid `previous_response_id`: must be the id of a response.'
  throw apiError('invalid_request', { param: 'previous_response_id', message })
}

function chatMaximumError(key: string): Error {
  const message = `Invalid \`${key}\`: the Responses API calls the maximum of output tokens \`max_output_tokens\`. Use that.`
  return apiError('invalid_request', { param: key, message })
}

export class ResponsesRequest extends ScannedRequest implements CallerRequest, NativeRequest {
  readonly format: CallerFormat
  readonly headers: NativeRequest['headers'] = []
  readonly model: string
  readonly stream: boolean
  readonly n = 1
  readonly maxOutputTokens: number | null
  readonly store: boolean
  readonly keepsItems: boolean
  readonly previousId: string | null
  /** Where the response with `previousId` is stored; `null`: there is none, or it is not known yet. */
  previous: ResponsePinsTable | null = null
  readonly restricted: readonly RestrictedField[]
  readonly hostedTools: readonly HostedTool[]

  constructor(scanned: ScannedBody, fields: ResponsesFields) {
    super(scanned)
    this.model = fields.model
    this.stream = fields.stream
    this.maxOutputTokens = fields.maxOutputTokens
    this.store = fields.store
    this.keepsItems = fields.keepsItems
    this.previousId = fields.previousId
    this.hostedTools = fields.hasTools ? findHostedTools(this.parsed()) : noHostedTools
    const tools = restrictedTools(this.hostedTools)
    this.restricted = tools.length > 0 ? [...fields.restricted, ...tools] : fields.restricted
    this.format = {
      operation: 'responses',
      keepAlive: keepAliveComment,
      errorEvent: (error) => failedBeforeStart(withCallerField(error), this.parsed()),
      // The format defines `response.failed` as the end of a stream.
      isCutAfter: () => false,
    }
  }

  get holder(): string | null {
    return this.text.includes(holderMarker) ? lastHolder(this.parsed()['input']) : null
  }

  protected estimateInputTokens(): number {
    return estimateResponsesInput(this.parsed()) + (this.previous?.tokens ?? 0)
  }

  encodingFor(provider: Provider): RequestEncoding {
    return provider.nativeFormat === 'responses'
      ? new PassthroughResponsesEncoding(this)
      : new TranslatedResponsesEncoding(this, provider)
  }

  encode(edits: NativeEdits): Buffer[] {
    return patchResponsesBody(this, edits)
  }
}
