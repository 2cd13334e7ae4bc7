import type { UpstreamStream } from '../streaming/upstream-stream.ts'
import type { BufferedResponse } from './buffered-response.ts'
import type { UpstreamError } from './upstream-error.ts'

/** The outcome of a call: a whole response, a stream that has begun, or why there is neither. */
export type AttemptResult =
  | BufferedResponse
  | { readonly kind: 'stream'; readonly stream: UpstreamStream }
  | { readonly kind: 'error'; readonly error: UpstreamError }
