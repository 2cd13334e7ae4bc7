/**
 * The API formats of callers. The relay knows a request only by these interfaces, so a new format needs no change to
 * the relay: it adds a reader of its requests, their encoding for each kind of provider, and an encoder of its streams.
 */
import type { RequestOperation } from '../../catalog/operations.ts'
import type { ResponsePinsTable } from '../../db/schema/schema.ts'
import type { ApiError } from '../../errors.ts'
import type { Usage } from '../../ledger/price.ts'
import type { SseEvent } from '../../lib/sse/sse-event.ts'
import type { ChatBody, Chunk, Provider, UpstreamCall } from '../../providers/provider.ts'
import type { EmbeddedData } from './embedded-data.ts'
import type { HostedTool } from './hosted-tools.ts'
import type { RestrictedField } from './restricted-fields.ts'
import type { ChunkFacts, UsageMeter } from '../streaming/usage-meter.ts'

/** A caller's request, parsed and validated. */
export interface CallerRequest {
  readonly format: CallerFormat
  /** The length of the body as received. */
  readonly bytes: number
  /** Data embedded in the messages, for the hold's estimate. */
  readonly embedded: EmbeddedData
  readonly model: string
  readonly stream: boolean
  /** The whole input is lists of this many token ids; absent: it has text. */
  readonly tokenIds?: number
  /** The number of results requested. */
  readonly n: number
  /** The caller's maximum of output tokens; `null`: none. */
  readonly maxOutputTokens: number | null
  /** The name under which the caller states it, of those that upstreams may have; absent or `null`: the relay chooses. */
  readonly maxOutputField?: string | null
  /** Fields that leave the relay only if an upstream's `allowed_fields` or a price covers them; usually none. */
  readonly restricted: readonly RestrictedField[]
  /** The provider is asked to store the response; absent: no. */
  readonly store?: boolean
  /** A later request may refer to the items of the response; absent: no. */
  readonly keepsItems?: boolean
  /** The stored response that the request continues; absent or `null`: none. Its context is input. */
  readonly previous?: ResponsePinsTable | null
  /** The credential that alone can read some of the request (formats/encrypted-content.ts), and is tried first. */
  readonly holder?: string | null
  /** Tools that the provider runs and bills by the call; absent: the format has none. */
  readonly hostedTools?: readonly HostedTool[]
  /** Its stream sends nothing before the end: the hold covers it from the start, since nothing can be cut later. */
  readonly isHeldWhole?: true
  /** The request as an object, parsed on the first call. Must not be changed. */
  parsed(): Readonly<Record<string, unknown>>
  /** The estimated input tokens, for requests that no provider has counted. */
  inputTokens(): number
  /** The encoding of the request for a provider, and of its responses for the caller. */
  encodingFor(provider: Provider): RequestEncoding
}

/** What differs between API formats in a stream. */
export interface CallerFormat {
  readonly operation: RequestOperation
  /** The event that keeps an idle stream open. */
  readonly keepAlive: Buffer
  /** The last event of an incomplete stream. */
  errorEvent(error: ApiError, requestId: string): Buffer
  /** Whether a stream that ends with these bytes must be cut, so that no client takes it for a complete one. */
  isCutAfter(lastBytes: Buffer): boolean
}

/** Encodes a request for a provider, and the provider's responses for the caller. */
export interface RequestEncoding extends ChatBody {
  /** The provider has the caller's format: its responses pass unchanged, and are translated only to be metered. */
  readonly isPassthrough: boolean
  /** It asks for a stream, which is collected into the response of a request that wants none. */
  readonly isCollected?: true
  /** What takes its place where the upstream lacks what it needs. */
  readonly otherwise?: AlternativeEncoding
  /** The maximum of the request is the relay's own, and is not sent to the upstream. */
  readonly hidesMaximum?: true
  /** How many calls the request takes, whose responses are joined; absent: one. */
  readonly parts?: number
  /** Collects a stream in the caller's format; absent if it is not passed through. */
  collector?(call: UpstreamCall): StreamEncoder
  /** What a response that passes through must be changed in; absent: nothing. */
  rewrite?(bytes: Buffer, json: unknown, call: UpstreamCall): Buffer
  /** Encodes a response in the OpenAI format in the caller's; absent if the caller has the OpenAI format. */
  encodeResponse?(response: Chunk): Readonly<Record<string, unknown>>
  /** An encoder for a stream of the call that `meter` reads. */
  streamEncoder(meter: UsageMeter, call: UpstreamCall): StreamEncoder
}

export interface AlternativeEncoding {
  /**
   * `path`: the upstream does not have the path of the request, which cannot state a maximum either; else the type of an
   * item in the input that it does not know.
   */
  readonly lacked: 'path' | 'compaction_trigger'
  readonly encoding: RequestEncoding
}

/** Encodes a stream in the caller's format. */
export interface StreamEncoder {
  /**
   * Encodes a chunk; `null`: nothing to send yet. `event`: the original, if the chunk was not translated; in
   * passthrough there is only the event. The result is valid only until the next call.
   */
  encode(chunk: unknown, facts: ChunkFacts, event: SseEvent | null): Buffer | null
  /** It needs no chunk if it has the event. */
  readonly sendsEventsUnchanged?: boolean
  /** An event for clients that give up a stream without one, whatever comments it has; `null`: not now. */
  idleEvent?(): Buffer | null
  /** Events were encoded that the caller should not wait for; absent: those wait for the first content. */
  readonly hasStarted?: boolean
  /** The final events of a settled response. */
  finalEvents(conclusion: StreamConclusion): Buffer[]
  /** The response to which the stream adds up; absent if its events are sent. */
  collected?(): Readonly<Record<string, unknown>>
  /** The items of a complete response, to which a later request may refer; absent: the format has none. */
  outputItems?(): readonly Readonly<Record<string, unknown>>[]
  /** The last event of a stream that is cut, where it depends on what was sent; else that of the format. */
  errorEvents?(error: ApiError, cut: StreamCut): Buffer
}

/** Where a stream is cut: events up to this many output tokens were sent. `usage` null: nothing is billed. */
export interface StreamCut {
  readonly sentTokens: number
  readonly usage: Usage | null
}

export type StreamCause = 'money' | 'maximum'

export interface StreamConclusion {
  /**
   * Why the relay ended the response before its upstream did: the account ran out of credit after `paidTokens`, or the
   * upstream ignored the maximum of output tokens.
   */
  readonly cutBy: StreamCause | null
  readonly paidTokens: number
  /** The maximum of output tokens to which the hold lowered the request, since the account cannot pay for more. */
  readonly loweredMaximum: number | null
  /** Nanos. */
  readonly charge: bigint
  /** The billed usage. */
  readonly usage: Usage
}
