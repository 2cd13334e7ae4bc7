/**
 * A provider: the API format of a kind of upstream, as pure translations around a call that the relay makes. The
 * internal format is the OpenAI format (chat completions), so a provider that has it translates nothing and its bytes
 * pass through unchanged.
 */
import { isObject, type Json } from './json-fields.ts'

/** The caller's request, as far as a provider needs it. */
export interface ChatBody {
  readonly stream: boolean
  /** The caller's field for the maximum of output tokens, if it named exactly one; `null`: the relay chooses it. */
  readonly maxOutputField: string | null
  /** The caller's maximum where the relay chooses the field: it named two, or came in another API format. */
  readonly callerMaximumTokens?: number
  /** The original request, if it is in the provider's own API format (see `Provider.nativeFormat`). */
  readonly native?: NativeRequest
  /** Encodes the body with these edits and all other bytes unchanged. */
  encode(edits: BodyEdits): Buffer[]
  parsed(): Readonly<Record<string, unknown>>
}

/** A request that needs no translation. */
export interface NativeRequest {
  /** Headers of the caller that belong to the API format. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** What follows the path of the API, such as `/compact`; absent: nothing. */
  readonly subpath?: string
  /** Encodes the body with the upstream's name for the model, a lower maximum if necessary, and all else unchanged. */
  encode(edits: NativeEdits): Buffer[]
}

export interface NativeEdits {
  /** `null`: the model is not in the body. */
  readonly model: string | null
  readonly maximumTokens: number | null
  /** Additional members; they replace the caller's. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Members that are left out; absent: none. */
  readonly dropped?: readonly string[]
  /** The inputs to send of an embeddings request; absent: all. */
  readonly inputs?: { readonly from: number; readonly to: number } | undefined
  /** As of `UpstreamCall`. */
  readonly pricedTools?: ReadonlySet<string> | undefined
  /** As of `UpstreamCall`. */
  readonly holder?: string | undefined
}

export interface BodyEdits {
  /** The upstream's name for the model. */
  readonly model: string
  /** The name of the maximum of output tokens, and a maximum that lowers a larger one of the caller; `null`: none does. */
  readonly maximum?: { readonly field: string; readonly tokens: number | null }
  /** As of `UpstreamCall`. Without `stream_options` among them, a stream always requests its usage. */
  readonly withoutFields?: ReadonlySet<string> | undefined
  /** The upstream returns other providers' signed reasoning itself, and accepts it back. */
  readonly takesSignedThinking?: boolean
  /** Additional members; they replace the caller's. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** A call for which a provider builds the request. */
export interface UpstreamCall {
  readonly body: ChatBody
  /** The upstream's name for the model. */
  readonly model: string
  /** A maximum of output tokens per result to set, or to lower the caller's to; `null`: the caller's is sent. */
  readonly maximumTokens: number | null
  readonly baseUrl: string
  readonly credential: string
  readonly settings: UpstreamSettings
  /** What the operator adds to the request; absent or `null`: nothing. */
  readonly added?: AddedFields | null
  /** What the upstream rejects and is left out, unless the caller sent it in the upstream's format: request-hints.ts. */
  readonly withoutFields?: ReadonlySet<string>
  /** Which of the `parts` of the body it sends; absent: the first or only one. */
  readonly part?: number
  /** A stream is cut after this many output tokens, since its upstream ignores the maximum; absent: it is not. */
  readonly maxStreamTokens?: number
  /** The upstream ignores the maximum under another name than its own; absent: it is not known to. */
  readonly needsOwnField?: boolean
  /** The provider's tools that the model's price covers; absent: none. */
  readonly pricedTools?: ReadonlySet<string> | undefined
  /** Names the credential in `encrypted_content` (formats/encrypted-content.ts); absent: nothing does. */
  readonly holder?: string | undefined
  /** The model's maximum of output tokens, from the catalog; `null`: unknown. */
  readonly modelMaximumTokens: number | null
  /** Milliseconds since the epoch, for signatures and timestamps. */
  readonly nowMs: number
  /** The name for the model in responses; absent or `null`: the upstream's. */
  readonly returnedModel?: string | null
  /** The access token, for providers with `buildTokenRequest`. */
  readonly token?: string
}

/** A provider's API format cannot express the request; another one may. `param`: the field whose `problem` it is. */
export class UnsupportedFeatureError extends Error {
  readonly param: string

  constructor(param: string, problem: string) {
    super(`Invalid \`${param}\`: ${problem}.`)
    this.name = 'UnsupportedFeatureError'
    this.param = param
  }
}

/** Settings of an upstream besides its address. */
export interface UpstreamSettings {
  /** The field for the maximum of output tokens where the relay chooses it: the caller named none, or both. */
  readonly maximumField?: string
  /** Restricted fields that callers may use (restricted-fields.ts), and types of hosted tools. */
  readonly allowedFields?: readonly string[]
  /** Non-streaming responses are asked for as streams, and collected. */
  readonly collectStream?: boolean
  /** What the upstream speaks beside chat completions; absent: what its provider does. */
  readonly speaks?: readonly Spoken[]
}

/** An API that an upstream may speak beside chat completions. */
export const spokenApis = ['responses', 'realtime', 'video'] as const
export type Spoken = (typeof spokenApis)[number]

export interface OutgoingRequest {
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: readonly Buffer[]
}

/** What the operator adds to every request to an upstream. */
export interface AddedFields {
  readonly headers: OutgoingRequest['headers']
  /** Members of the body, for requests that do not have them. */
  readonly body: Json
}

const contentType = ['content-type', 'application/json'] as const
const acceptJson = ['accept', 'application/json'] as const
const acceptStream = ['accept', 'text/event-stream'] as const
const userAgent = ['user-agent', 'sluice'] as const

/** A request to a model with a JSON body. `headers`: those that the provider needs besides the usual ones. */
export function modelRequest(
  call: UpstreamCall,
  url: string,
  headers: OutgoingRequest['headers'],
  body: Json | readonly Buffer[],
): OutgoingRequest {
  return {
    url,
    headers: [contentType, call.body.stream ? acceptStream : acceptJson, ...headers, userAgent],
    body: isObject(body) ? [Buffer.from(JSON.stringify(body))] : body,
  }
}

/** A request for an access token. The relay sends it before the first call and caches the token until it expires. */
export interface TokenRequest {
  readonly request: OutgoingRequest
  /** Parses the response. Throws if it has no token. */
  parseToken(body: unknown): { readonly token: string; readonly lifetimeMs: number }
}

/** An event of a stream: a server-sent event, or its equivalent in another framing. */
export interface StreamEvent {
  readonly name: string
  readonly text: string
}

/** Parses a stream's bytes, which may be split anywhere, into events. */
export interface Framing {
  push(chunk: Buffer): void
}

export type Chunk = Readonly<Record<string, unknown>>

/** What the upstream says about its response. A field is absent or empty if the upstream does not say it. */
export interface ResponseIdentity {
  readonly id?: string | undefined
  /** Its name for the model that responded. */
  readonly model?: string | undefined
  /** The version of what served the response: `system_fingerprint`. */
  readonly fingerprint?: string | undefined
}

/** A response in the OpenAI format. */
export interface TranslatedResponse {
  readonly response: Chunk
  /** As the provider says; `response` has an id and a model in any case. */
  readonly identity: ResponseIdentity
}

/** Translates a stream into chunks of the OpenAI format. */
export interface StreamTranslation {
  /**
   * Translates an event into chunks: first the role, then deltas, the finish reason, and the usage in a chunk with
   * `choices: []`. An error of the provider becomes a chunk with only `error`, which has its HTTP status as
   * `status_code`. Throws if the event is not valid in this format.
   */
  translate(event: StreamEvent): readonly Chunk[]
  /** Call when the stream has ended; returns the remaining chunks. */
  end(): readonly Chunk[]
  /** The stream's own end marker has been received. */
  readonly isComplete: boolean
  /** What the provider has said so far. */
  readonly identity: ResponseIdentity
}

export interface Translation {
  /** Translates the body of a non-streaming response. Throws if it is not valid in this format. */
  translateResponse(body: unknown, call: UpstreamCall): TranslatedResponse
  createStream(call: UpstreamCall): StreamTranslation
  /** The framing of streams that are not server-sent events. Its `push` throws for invalid bytes. */
  createFraming?(onEvent: (event: StreamEvent) => void, maxEventBytes: number): Framing
}

/** An error response. */
export interface FailureResponse {
  readonly status: number
  readonly body: unknown
  /** The value of `x-amzn-errortype`, if any. */
  readonly errorType: string | null
}

/** A request for the provider's list of models. */
export interface ModelListRequest {
  readonly url: string
  readonly headers: OutgoingRequest['headers']
  /** Parses the names for a route's `model`. Throws if the body is not such a list. */
  readonly parseNames: (body: unknown) => readonly string[]
}

/** A request for a list of models, with the usual headers added. */
export function modelListRequest({ url, headers, parseNames }: ModelListRequest): ModelListRequest {
  return { url, headers: [acceptJson, userAgent, ...headers], parseNames }
}

/** How a provider continues texts. */
export interface CompletionsFormat {
  /** Throws `UnsupportedFeatureError`. */
  readonly buildRequest: (call: UpstreamCall) => OutgoingRequest
  /** Translates into OpenAI's format; absent for providers that have it. */
  readonly translation?: Translation
}

/** How a provider makes embeddings. */
export interface EmbeddingsFormat {
  /** The most inputs of one call. A request with more is sent in several calls, in order. */
  readonly maxInputs: number
  /** Throws `UnsupportedFeatureError`. */
  readonly buildRequest: (call: UpstreamCall) => OutgoingRequest
  /** Absent for OpenAI's format. Throws if it is not valid in this format. */
  readonly toList?: (response: Json) => Json
}

export interface Provider {
  /** The fixed name for an upstream's `provider`. */
  readonly name: string
  readonly title: string
  /** The default base URL; `null`: the operator must set one. */
  readonly baseUrl: string | null
  /** The caller format, besides the OpenAI format, whose requests it accepts unchanged. */
  readonly nativeFormat?: 'messages' | 'responses' | 'embeddings'
  /** What its upstreams speak beside chat completions, unless they say otherwise. */
  readonly speaks?: readonly Spoken[]
  /** The upstream's names for models are names of deployments, which responses do not name. */
  readonly namesDeployments?: true
  /** The upstream's own name of the maximum of output tokens, where callers may choose another; absent: they may not. */
  readonly maximumField?: string | undefined
  /** A smaller maximum of output tokens is raised to this, since the API rejects it; absent: none is. */
  readonly minMaximumTokens?: number
  /** The provider to use for a model that has another API format. */
  readonly forModel?: (model: string) => Provider | undefined
  /** Throws `UnsupportedFeatureError`. */
  buildRequest(call: UpstreamCall): OutgoingRequest
  /** Legacy completions; absent for providers that have none. */
  readonly completions?: CompletionsFormat
  /** Absent for providers that have none. */
  readonly embeddings?: EmbeddingsFormat
  /** Builds a request of the Responses API: from the caller's `native` request, or translated from the OpenAI format. */
  readonly buildResponsesRequest?: (call: UpstreamCall) => OutgoingRequest
  /** The URL and headers of a request about a stored response. `path`: after `/responses`, with its query. */
  readonly buildStoredRequest?: (
    upstream: Pick<UpstreamCall, 'baseUrl' | 'credential'>,
    path: string,
  ) => Omit<OutgoingRequest, 'body'>
  /** Builds a request that counts the tokens of the caller's `native` request. */
  readonly buildCountRequest?: (call: UpstreamCall) => OutgoingRequest
  /** `null` if the credential itself is sent. Throws if the credential is not valid for this provider. */
  buildTokenRequest?(call: UpstreamCall): TokenRequest | null
  /** Absent for providers with the OpenAI format. */
  readonly translation?: Translation
  /** `null` if this base URL has no such list; absent if the provider has none that its key may read. */
  buildModelListRequest?(upstream: Pick<UpstreamCall, 'baseUrl' | 'credential'>): ModelListRequest | null
  /** The actual meaning of an error as an HTTP status, for providers whose own status can mislead. */
  effectiveStatus?(failure: FailureResponse): number
}
