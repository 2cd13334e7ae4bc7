/**
 * Requests of the Responses API that compact a conversation (formats/responses-compaction.ts): `POST
 * /v1/responses/compact`, and `POST /v1/responses` with an item `compaction_trigger` at the end of its input. Upstreams
 * that speak the Responses API do it themselves. For all others, and those that lack the path or do not know the item, the
 * relay asks the model for a summary.
 */
import { apiError } from '../../errors.ts'
import {
  compactionMarker,
  nativeSummaryRequest,
  openCompactions,
  summaryPrompt,
  translatableSummaryRequest,
  translateToCompaction,
  triggerType,
} from '../../formats/responses-compaction.ts'
import type { ResponsesContext } from '../../formats/responses-object.ts'
import { translateResponsesRequest } from '../../formats/responses-request.ts'
import { capabilitiesOf } from '../../formats/provider-capabilities.ts'
import { SealError, type Sealer } from '../../lib/encryption.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import type { BodyEdits, Chunk, NativeRequest, Provider, UpstreamCall } from '../../providers/provider.ts'
import type { AlternativeEncoding, CallerFormat, CallerRequest, RequestEncoding } from './caller-format.ts'
import { patchBody } from './request-body.ts'
import { assertNoReferences, ownInput, patchResponsesBody } from './responses-body.ts'
import {
  addHolderTo,
  PassthroughResponsesEncoding,
  TranslatedResponsesEncoding,
} from './responses-encoding.ts'
import { readResponsesRequest, type ResponsesRequest } from './responses-request.ts'

/** The most that a summary may have, with the reasoning before it, if the caller states no maximum. */
const maxSummaryTokens = 16_384
/** Not among the fields of `/responses/compact`. */
const fieldsWithoutCompaction = ['store', 'stream', 'max_output_tokens']
const triggerMarker = `"${triggerType}"`

/** Seals summaries, so that only the account that was given one can send it back. */
export interface SummarySeal {
  seal(summary: string): string
  /** `null`: not made for this account, changed, or older than the data keys. */
  open(sealed: string): string | null
}

export function createSummarySeal(sealer: Sealer, accountId: string): SummarySeal {
  const sealedFor = `compaction:${accountId}`
  return {
    seal: (summary) => sealer.seal(summary, sealedFor),
    open(sealed) {
      try {
        return sealer.unseal(sealed, sealedFor)
      } catch (error) {
        if (error instanceof SealError) return null
        throw error
      }
    },
  }
}

export interface CompactionOptions {
  readonly seal: SummarySeal
  /** The request is one to `/v1/responses/compact`. */
  readonly isCompaction?: boolean
  readonly isTokenCount?: boolean
  /** It prepares a conversation, and needs no input. */
  readonly isWarmUp?: boolean
  /** The maximum of output tokens of the model with this name; `null`: unknown. */
  readonly modelMaximum: (model: string) => number | null
}

/**
 * Reads a request to `/v1/responses` or `/v1/responses/compact`, with the summaries of earlier compactions in its input.
 * Throws as `readResponsesRequest`, and `invalid_encrypted_content` for a compaction of another account.
 */
export function readConversation(body: Buffer, options: CompactionOptions): ConversationRequest {
  const { seal, isCompaction = false, isTokenCount = false, isWarmUp = false, modelMaximum } = options
  const kind = { isTokenCount: isTokenCount || isCompaction, isWarmUp }
  const received = readResponsesRequest(body, kind)
  const opened = openSummaries(received, seal)
  const request = opened ? readResponsesRequest(opened, kind) : received
  const isTriggered = hasTrigger(request)
  if (isTokenCount || (!isCompaction && !isTriggered)) return request
  const ownMaximum = Math.min(maxSummaryTokens, modelMaximum(request.model) ?? maxSummaryTokens)
  return new CompactionRequest(request, { seal, isCompaction, ownMaximum })
}

/** A request of the Responses API, for a response or a compaction. */
export type ConversationRequest = ResponsesRequest | CompactionRequest

/** The body with the summaries in its input; `null`: it has none. */
function openSummaries(request: ResponsesRequest, seal: SummarySeal): Buffer | null {
  if (!request.text.includes(compactionMarker)) return null
  const opened = openCompactions(request.parsed()['input'], (sealed) => seal.open(sealed))
  return opened && Buffer.concat(patchBody(request, new Map([['input', JSON.stringify(opened)]]), []))
}

/** Throws 400 if the item is not the last one. */
function hasTrigger(request: ResponsesRequest): boolean {
  if (!request.text.includes(triggerMarker)) return false
  const { input } = request.parsed()
  if (!Array.isArray(input)) return false
  const at = input.findIndex((item: unknown) => isObject(item) && item['type'] === triggerType)
  if (at === -1) return false
  const param = `input[${at}]`
  if (at < input.length - 1)
    throw apiError('invalid_request', { param, message: `Invalid \`${param}\`: must be the last item.` })
  return true
}

interface Compaction {
  readonly seal: SummarySeal
  readonly isCompaction: boolean
  readonly ownMaximum: number
}

class CompactionRequest implements CallerRequest {
  readonly format: CallerFormat
  readonly bytes: number
  readonly embedded: CallerRequest['embedded']
  readonly model: string
  readonly stream: boolean
  readonly n = 1
  readonly maxOutputTokens: number
  readonly restricted: CallerRequest['restricted']
  readonly hostedTools: ResponsesRequest['hostedTools']
  readonly isHeldWhole = true
  readonly #request: ResponsesRequest
  readonly #compaction: Compaction

  constructor(request: ResponsesRequest, compaction: Compaction) {
    this.format = request.format
    // The relay's own prompt is part of what is held, and of what a provider may bill.
    this.bytes = request.bytes + Buffer.byteLength(summaryPrompt)
    this.embedded = request.embedded
    this.model = request.model
    this.stream = request.stream
    this.maxOutputTokens = request.maxOutputTokens ?? compaction.ownMaximum
    this.restricted = request.restricted
    this.hostedTools = request.hostedTools
    this.#request = request
    this.#compaction = compaction
  }

  /** A compaction is not stored, but the response to a trigger may be. */
  get store(): boolean {
    return this.#request.store && !this.#compaction.isCompaction
  }

  get previousId(): string | null {
    return this.#request.previousId
  }

  get previous(): ResponsesRequest['previous'] {
    return this.#request.previous
  }

  set previous(pin: ResponsesRequest['previous']) {
    this.#request.previous = pin
  }

  get holder(): string | null {
    return this.#request.holder
  }

  parsed(): Json {
    return this.#request.parsed()
  }

  inputTokens(): number {
    return this.#request.inputTokens()
  }

  encodingFor(provider: Provider): RequestEncoding {
    if (provider.nativeFormat !== 'responses') return new SummaryEncoding(this, provider, this.#compaction)
    const encoding = new NativeSummaryEncoding(this, provider, this.#compaction, this.#request)
    return this.#compaction.isCompaction
      ? new CompactEndpointEncoding(this.#request, { lacked: 'path', encoding })
      : new TriggeredEncoding(this.#request, { lacked: triggerType, encoding })
  }
}

/** The upstream finds the trigger in the input. */
class TriggeredEncoding extends PassthroughResponsesEncoding {
  readonly hidesMaximum = true
  readonly otherwise: AlternativeEncoding

  constructor(request: ResponsesRequest, otherwise: AlternativeEncoding) {
    super(request)
    this.otherwise = otherwise
  }
}

/** For `{base}/responses/compact` of an upstream. */
class CompactEndpointEncoding implements RequestEncoding {
  readonly isPassthrough = true
  readonly stream = false
  readonly maxOutputField = null
  readonly hidesMaximum = true
  readonly otherwise: AlternativeEncoding
  readonly native: NativeRequest
  readonly #request: ResponsesRequest

  constructor(request: ResponsesRequest, otherwise: AlternativeEncoding) {
    this.#request = request
    this.otherwise = otherwise
    const encode: NativeRequest['encode'] = (edits) =>
      patchResponsesBody(request, { ...edits, maximumTokens: null }, fieldsWithoutCompaction)
    this.native = { headers: [], subpath: '/compact', encode }
  }

  encode({ model }: BodyEdits): Buffer[] {
    return this.native.encode({ model, maximumTokens: null })
  }

  rewrite(bytes: Buffer, _json: unknown, call: UpstreamCall): Buffer {
    return addHolderTo(bytes, call)
  }

  parsed(): Json {
    return this.#request.parsed()
  }

  streamEncoder(): never {
    throw new Error('A compaction is not a stream.')
  }
}

/** Asks the model for a summary, in the OpenAI format. */
class SummaryEncoding extends TranslatedResponsesEncoding {
  readonly #compaction: Compaction

  constructor(request: CallerRequest, provider: Provider, compaction: Compaction) {
    super(request, provider)
    this.#compaction = compaction
  }

  protected override translate(): Json {
    const summary = translatableSummaryRequest(this.request.parsed())
    const { stream } = this.request
    return translateResponsesRequest({ ...summary, stream }, capabilitiesOf(this.provider))
  }

  override encodeResponse(response: Chunk): Json {
    return this.#compaction.isCompaction
      ? translateToCompaction(response, this.context)
      : super.encodeResponse(response)
  }

  protected override get context(): ResponsesContext {
    return { ...super.context, seal: (summary) => this.#compaction.seal.seal(summary) }
  }
}

/** Asks the model for a summary, in the Responses format. */
class NativeSummaryEncoding extends SummaryEncoding {
  readonly native: NativeRequest

  constructor(request: CallerRequest, provider: Provider, compaction: Compaction, body: ResponsesRequest) {
    super(request, provider, compaction)
    const encode: NativeRequest['encode'] = ({ model, maximumTokens, extra, holder = '' }) => {
      const parsed = body.parsed()
      assertNoReferences(parsed)
      const own = ownInput(body, parsed, holder)
      const summary = nativeSummaryRequest(own === null ? parsed : { ...parsed, input: JSON.parse(own) })
      const tokens = Math.min(maximumTokens ?? Infinity, request.maxOutputTokens ?? Infinity)
      return [
        Buffer.from(
          JSON.stringify({
            ...summary,
            model,
            stream: request.stream || undefined,
            store: false,
            max_output_tokens: tokens,
            ...extra,
          }),
        ),
      ]
    }
    this.native = { headers: [], encode }
  }

  /** Nothing is translated for the upstream, so that what the translation rejects is no error. */
  override parsed(): Json {
    return this.request.parsed()
  }
}
