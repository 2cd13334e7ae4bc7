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
  /** The body with these changes and every other byte as it came. */
  spliced(edits: BodyEdits): Buffer[]
  parsed(): Readonly<Record<string, unknown>>
}

export interface BodyEdits {
  /** The upstream's name for the model. */
  readonly model: string
  /** Another maximum of output tokens, where money requires it; set under `field` when the caller gave none. */
  readonly maximum?: { readonly field: string; readonly tokens: number }
  /** The upstream refuses `stream_options`; else a stream is always asked for its usage. */
  readonly withoutStreamOptions?: boolean
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

/** How a stream of another dialect becomes chunks of the common format. */
export interface StreamTranslation {
  /** One event in; the payloads of the chunks it makes. Throws when it cannot be one of this dialect. */
  take(event: { readonly name: string; readonly text: string }): readonly string[]
  /** The stream ended; the payloads that are still owed. */
  end(): readonly string[]
}

export interface Translation {
  /** A whole answer's body in, one of the common format out. Throws when it cannot be one of this dialect. */
  whole(body: unknown, call: Call): Readonly<Record<string, unknown>>
  stream(call: Call): StreamTranslation
}

export interface Provider {
  /** The fixed name that an upstream's `provider` gives. */
  readonly name: string
  readonly title: string
  /** Where it is usually reached; `null`: the operator says where. */
  readonly baseUrl: string | null
  ask(call: Call): Outgoing
  /** Absent for those that speak the common format. */
  readonly translation?: Translation
}
