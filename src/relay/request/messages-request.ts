/**
 * A request in Anthropic's format (`POST /v1/messages`), parsed once from its bytes and validated where the relay
 * depends on it. It is sent unchanged to upstreams that have Anthropic's format, and in the OpenAI format to all
 * others.
 */
import { apiError } from '../../errors.ts'
import { messagesErrorEvent } from '../../formats/messages-error.ts'
import { ping } from '../../formats/messages-events.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { foreignMaximum } from '../../providers/restricted-fields.ts'
import type { NativeEdits, NativeRequest, Provider } from '../../providers/provider.ts'
import type { CallerFormat, CallerRequest, RequestEncoding } from './caller-format.ts'
import { MessageScanner } from './message-scanner.ts'
import { estimateMessagesInput } from './messages-token-estimate.ts'
import { PassthroughMessagesEncoding, TranslatedMessagesEncoding } from './messages-encoding.ts'
import { patchMessagesBody } from './messages-body.ts'
import {
  findDearerBetas,
  findHostedTools,
  findRestricted,
  KnownMembers,
  noRestrictedFields,
  type RestrictedField,
} from './restricted-fields.ts'
import { scanBody, ScannedRequest, type ScannedBody } from './request-body.ts'
import { assertNoLookalike, parseBoolean, parseModel, parseNumber, invalidModel } from './request-fields.ts'

export const messagesFormat: CallerFormat = {
  operation: 'messages',
  keepAlive: ping,
  errorEvent: messagesErrorEvent,
  // The format defines the error event as the end of a stream. Anthropic's own streams are not cut after it either.
  isCutAfter: () => false,
}

/** The fields that the relay reads. The provider validates the others. */
const readFields = ['model', 'max_tokens', 'messages', 'stream', 'thinking', 'tools']
/** OpenAI's name for the maximum is none of Anthropic's, but engines with both formats know it. */
const knownFields = new KnownMembers(readFields, [['max_completion_tokens', foreignMaximum]])
/** Anthropic's tools that the caller runs, or that search only what is in the request. */
const callerTool = /^(?:bash|text_editor|computer|memory|tool_search_tool(?:_regex|_bm25)?)(?:_\d{8})?$/
const nullByte = 0x6e

/** Headers of the caller that belong to the format. */
export interface MessagesHeaders {
  readonly version: string | undefined
  readonly beta: string | undefined
}

const defaultVersion = '2023-06-01'

function formatHeaders({ version, beta }: MessagesHeaders): [name: string, value: string][] {
  const versioned: [string, string] = ['anthropic-version', version ?? defaultVersion]
  return beta === undefined ? [versioned] : [versioned, ['anthropic-beta', beta]]
}

/** `isTokenCount`: the request is only to be counted, so it needs no maximum and is not a stream. */
export interface MessagesReadOptions {
  readonly headers: MessagesHeaders
  readonly isTokenCount: boolean
}

/** Throws `invalid_json`, or `invalid_request` with the field in `param`. */
export function readMessagesRequest(body: Buffer, options: MessagesReadOptions): MessagesRequest {
  const scanned = scanBody(body, () => new MessageScanner({ knownDataOnly: true }))
  const fields = readMessagesFields(scanned.text, scanned.members, options.isTokenCount)
  // A thread has messages of another form. Its own error is the one by which clients continue without it.
  const isThread = fields.restricted?.some(({ key }) => key === 'thread') ?? false
  if (!isThread) scanned.scanner.validate()
  return new MessagesRequest(scanned, fields, options.headers)
}

interface MessagesFields extends Pick<MessagesRequest, 'model' | 'stream' | 'maxOutputTokens'> {
  /** The members that have a rule of their own; `undefined`: none. */
  readonly restricted: readonly JsonMember[] | undefined
}

function restrictedFieldsOf(
  { text, scanner: { otherTools } }: ScannedBody,
  { restricted }: MessagesFields,
  { beta }: MessagesHeaders,
): readonly RestrictedField[] {
  const betas = findDearerBetas(beta)
  if (restricted === undefined && otherTools === undefined && betas === noRestrictedFields)
    return noRestrictedFields
  const tools = findHostedTools(text, otherTools ?? [], (type) => callerTool.test(type))
  return [...findRestricted(text, restricted ?? []), ...tools, ...betas]
}

function readMessagesFields(
  body: Buffer,
  members: readonly JsonMember[],
  isTokenCount: boolean,
): MessagesFields {
  let model: string | undefined
  let stream = false
  let maxTokens: number | undefined
  let restricted: JsonMember[] | undefined
  for (const member of members) {
    const { key } = member
    const rule = knownFields.get(key)
    if (rule === undefined) assertNoLookalike(key, knownFields)
    else if (body[member.start] === nullByte) continue
    else if (rule !== null) (restricted ??= []).push(member)
    else if (key === 'model') model = parseModel(body, member)
    else if (key === 'stream') stream = parseBoolean(body, member)
    else if (key === 'max_tokens') maxTokens = parseNumber(body, member)
  }
  if (model === undefined) throw invalidModel()
  if (maxTokens === undefined && !isTokenCount) {
    throw apiError('invalid_request', {
      param: 'max_tokens',
      message: 'Missing `max_tokens`: must be an integer of at least 1.',
    })
  }
  return { model, stream: stream && !isTokenCount, maxOutputTokens: maxTokens ?? 1, restricted }
}

export class MessagesRequest extends ScannedRequest implements CallerRequest, NativeRequest {
  readonly format = messagesFormat
  readonly model: string
  readonly stream: boolean
  readonly n = 1
  readonly maxOutputTokens: number
  readonly restricted: readonly RestrictedField[]
  readonly headers: NativeRequest['headers']

  constructor(scanned: ScannedBody, fields: MessagesFields, headers: MessagesHeaders) {
    super(scanned)
    this.model = fields.model
    this.stream = fields.stream
    this.maxOutputTokens = fields.maxOutputTokens
    this.restricted = restrictedFieldsOf(scanned, fields, headers)
    this.headers = formatHeaders(headers)
  }

  protected estimateInputTokens(): number {
    return estimateMessagesInput(this.parsed())
  }

  encodingFor(provider: Provider): RequestEncoding {
    return provider.nativeFormat === 'messages'
      ? new PassthroughMessagesEncoding(this)
      : new TranslatedMessagesEncoding(this, provider)
  }

  encode(edits: NativeEdits): Buffer[] {
    return patchMessagesBody(this, edits)
  }
}
