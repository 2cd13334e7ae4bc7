/**
 * What a provider is: the dialect in which one kind of upstream is spoken to, as pure translations around a call that
 * somebody else makes. The inner language is the chat-completion format itself, so a provider that speaks it
 * translates nothing and its bytes pass through untouched.
 */

/** The caller's request, as far as a dialect needs it. */
export interface ChatBody {
  readonly stream: boolean
  /** The name the caller used for the maximum of output tokens, if any. */
  readonly maxOutputField: string | null
  /** The caller's maximum where it came in another format: it is sent under the provider's name for it. */
  readonly unnamedMaximum?: number
  /** The request as its caller wrote it, where that is in the provider's own dialect (see `Provider.speaks`). */
  readonly own?: OwnRequest
  /** The body with these changes and every other byte as it came. */
  spliced(edits: BodyEdits): Buffer[]
  parsed(): Readonly<Record<string, unknown>>
}

/** A request that needs no translation. */
export interface OwnRequest {
  /** Headers of the caller's that belong to the dialect. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The body with the upstream's name for the model, a lower maximum where money requires it, and all else as it came. */
  spliced(edits: OwnEdits): Buffer[]
}

export interface OwnEdits {
  /** `null`: it is told elsewhere, and left out. */
  readonly model: string | null
  readonly maximumTokens: number | null
  /** Further members; they take the place of the caller's. */
  readonly added?: Readonly<Record<string, unknown>>
}

export interface BodyEdits {
  /** The upstream's name for the model. */
  readonly model: string
  /** Another maximum of output tokens, where money requires it; set under `field` when the caller gave none. */
  readonly maximum?: { readonly field: string; readonly tokens: number }
  /** The upstream refuses `stream_options`; else a stream is always asked for its usage. */
  readonly withoutStreamOptions?: boolean
  /** An upstream that hands out other providers' signed thinking itself, and takes it back. */
  readonly takesSignedThinking?: boolean
  /** Further members; they take the place of the caller's. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** One call that a dialect has to phrase. */
export interface Call {
  readonly body: ChatBody
  /** The upstream's name for the model. */
  readonly model: string
  /** A maximum of output tokens per result to set or lower to; `null`: what the caller asked is sent. */
  readonly maximumTokens: number | null
  readonly baseUrl: string
  readonly credential: string
  readonly settings: UpstreamSettings
  /** The upstream has refused `stream_options` before. */
  readonly withoutStreamOptions: boolean
  /** The most output tokens that the model writes, as the catalogue says; `null`: unknown. */
  readonly modelMaximumTokens: number | null
  /** Milliseconds since the epoch, for what is signed or stamped with the time. */
  readonly nowMs: number
  /** What signing in brought, for providers with a `signIn`. */
  readonly token?: string
}

/** What was asked cannot be said in a provider's dialect; another provider's may. `param`: what it is, in the request. */
export class Inexpressible extends Error {
  readonly param: string

  constructor(param: string, message: string) {
    super(message)
    this.name = 'Inexpressible'
    this.param = param
  }
}

/** What an operator may set for one upstream beside its address. */
export interface UpstreamSettings {
  /** Under which name the maximum of output tokens is sent when the caller gave none. */
  readonly maximumField?: string
}

export interface Outgoing {
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: readonly Buffer[]
}

/** A call for a token, which the relay makes before the first call and keeps for as long as the token lives. */
export interface SignIn {
  readonly outgoing: Outgoing
  /** Reads the answer. Throws when there is no token in it. */
  tokenOf(body: unknown): { readonly token: string; readonly lifetimeMs: number }
}

/** One event of a stream: a server-sent event, or what another framing has in its place. */
export interface StreamEvent {
  readonly name: string
  readonly text: string
}

/** Cuts a stream's bytes into events, wherever they are cut. */
export interface Framing {
  push(chunk: Buffer): void
}

export type Chunk = Readonly<Record<string, unknown>>

/** How a stream of another dialect becomes chunks of the common format. */
export interface StreamTranslation {
  /**
   * One event in, the chunks it makes out: the role first, deltas, the finish, then the usage in one with
   * `choices: []`. An error that the provider tells is a chunk with `error` alone, its HTTP status as `status_code`.
   * Throws when the event cannot be one of this dialect.
   */
  take(event: StreamEvent): readonly Chunk[]
  /** The stream ended; the chunks that are still owed. */
  end(): readonly Chunk[]
  /** The dialect's own last word has been said. */
  readonly isOver: boolean
}

export interface Translation {
  /** A whole answer's body in, one of the common format out. Throws when it cannot be one of this dialect. */
  whole(body: unknown, call: Call): Readonly<Record<string, unknown>>
  stream(call: Call): StreamTranslation
  /** Where a stream is framed otherwise than as server-sent events. Throws when the bytes cannot be of it. */
  framing?(onEvent: (event: StreamEvent) => void, maxEventBytes: number): Framing
}

/** An answer that is no success. */
export interface Failure {
  readonly status: number
  readonly body: unknown
  /** The value of `x-amzn-errortype`, where there is one. */
  readonly errorType: string | null
}

/** Where a provider tells which models it has. */
export interface ModelList {
  readonly url: string
  readonly headers: Outgoing['headers']
  /** The names that a route's `model` takes. Throws when the body cannot be such a list. */
  readonly namesOf: (body: unknown) => readonly string[]
}

export interface Provider {
  /** The fixed name that an upstream's `provider` gives. */
  readonly name: string
  readonly title: string
  /** Where it is usually reached; `null`: the operator says where. */
  readonly baseUrl: string | null
  /** The format of callers that it takes as it is, beside the common one. */
  readonly speaks?: 'messages'
  /** For some of its models: the dialect that they are spoken to in, if that is another one. */
  readonly dialectOf?: (model: string) => Provider | undefined
  /** Throws `Inexpressible`. */
  ask(call: Call): Outgoing
  /** Asks how many tokens the caller's `own` request has. */
  readonly countTokens?: (call: Call) => Outgoing
  /** `null` where the credential itself is sent. Throws when the credential cannot be one of this provider. */
  signIn?(call: Call): SignIn | null
  /** Absent for those that speak the common format. */
  readonly translation?: Translation
  /** `null` where this address has no such list; absent where the provider has none that its key may read. */
  models?(place: Pick<Call, 'baseUrl' | 'credential'>): ModelList | null
  /** The HTTP status that a failure amounts to, for providers whose own may mislead. */
  statusOf?(failure: Failure): number
}
