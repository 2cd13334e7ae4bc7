import type { UpstreamStream } from '../streaming/upstream-stream.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { ResponseForm } from './response-form.ts'
import type { ServedResponse } from './served-response.ts'
import type { UpstreamError } from './upstream-error.ts'

/** The outcome of a call: a whole response, a stream that has begun, or why there is neither. */
export type AttemptResult =
  | BufferedResponse
  | { readonly kind: 'stream'; readonly stream: UpstreamStream }
  | { readonly kind: 'error'; readonly error: UpstreamError }

/** A request at one upstream, whether it takes one call or several. */
export interface RequestAttempt {
  readonly result: Promise<AttemptResult>
  /** Milliseconds since it began. */
  readonly ageMs: number
  /** Milliseconds from the call to the first content of a stream; `null`: there is none yet. */
  readonly firstContentMs: number | null
  /** The upstream's status; `null` until its response starts. */
  readonly status: number | null
  /** It was canceled although the upstream had begun a response with 2xx, or had had the request for a second. */
  readonly wasCanceledAtCost: boolean
  /** The id under which the upstream knows the call; `undefined`: it sent none. */
  readonly upstreamRequestId: string | undefined
  /** The form of the response, where another one was asked for; `null`: it is the right one. */
  readonly unexpectedForm: ResponseForm | null
  /** What the upstream has said about its response. */
  readonly served: ServedResponse
  /** `null`: it is no stream that is collected. */
  readonly collectedMeter: UsageMeter | null
  /** Sends the request; `result` resolves with the outcome. */
  send(): void
  /** Cancels what is not complete; a pending `result` resolves with an error. */
  destroy(): void
  /** Absent, as the next one: there are no streams. */
  pause?(): void
  resume?(): void
}
