/**
 * The formats that callers speak. The relay knows a request only by what is here, so that a format is added beside it:
 * a reader of its requests, their wording for each kind of upstream, and the words of its streamed answers.
 */
import type { Refusal } from '../errors.ts'
import type { Usage } from '../ledger/price.ts'
import type { ServerEvent } from '../lib/sse/sse-event.ts'
import type { ChatBody, Chunk, Provider } from '../providers/provider.ts'
import type { Embedded } from './request/token-estimate.ts'
import type { ChunkFacts, Meter } from './streaming/usage-meter.ts'

/** A caller's request that has been read and checked. */
export interface CallerRequest {
  readonly format: CallerFormat
  /** The body's length as it came. */
  readonly bytes: number
  /** Data embedded in the messages, for the hold's estimate. */
  readonly embedded: Embedded
  readonly model: string
  readonly stream: boolean
  /** How many results are asked for. */
  readonly n: number
  /** The caller's maximum of output tokens; `null` without. */
  readonly maxOutputTokens: number | null
  /** The whole request as an object, parsed at the first call: not to be changed. */
  parsed(): Readonly<Record<string, unknown>>
  /** The input by the specification's estimate, for where no provider has counted it. */
  inputTokens(): number
  /** How the request is put to upstreams of a provider, and their answers to its caller. */
  wordingFor(provider: Provider): Wording
}

/** What one format says where the common one has words of its own. */
export interface CallerFormat {
  /** Keeps a silent stream open. */
  readonly keepAlive: Buffer
  /** The last event of a stream that broke off. */
  errorEvent(refusal: Refusal, requestId: string): Buffer
}

/** A request as one provider gets it, and that provider's answers as the caller gets them. */
export interface Wording extends ChatBody {
  /** The provider speaks the caller's format: its answers pass as they come, and are translated only to be metered. */
  readonly isOwn: boolean
  /** A whole answer of the common format in the caller's; absent where the caller speaks the common one. */
  whole?(answer: Chunk): Readonly<Record<string, unknown>>
  /** For one streamed answer, which `meter` reads. */
  words(meter: Meter): StreamWords
}

/** One streamed answer in the caller's format. */
export interface StreamWords {
  /**
   * What goes out for a chunk; `null`: nothing yet. `event` is what it came as, if it was not translated; of an answer
   * in the caller's own format it is all there is. What is answered is valid only until the next call.
   */
  take(chunk: unknown, facts: ChunkFacts, event: ServerEvent | null): Buffer | null
  /** The last words of a settled answer. */
  conclude(conclusion: Conclusion): Buffer[]
}

export interface Conclusion {
  /** The money has ended before the answer: what went out is `paid` tokens of it. */
  readonly isShort: boolean
  readonly paid: number
  /** Nanos. */
  readonly charge: bigint
  /** What is billed. */
  readonly usage: Usage
}
