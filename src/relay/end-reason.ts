/** Why an admitted request ended, and what that means for its row, its attempt's record and its caller. */
import { apiError, type ApiError } from '../errors.ts'
import type { RequestOutcome } from '../ledger/request-row.ts'
import type { UpstreamError } from './routing/upstream-error.ts'

export type EndReason =
  | { readonly kind: 'complete' }
  | { readonly kind: 'upstream-error'; readonly error: UpstreamError }
  | { readonly kind: 'disconnected' }
  /** The account cannot pay for more output. */
  | { readonly kind: 'out-of-credit' }
  /** The store does not accept commits. */
  | { readonly kind: 'store-unavailable' }
  /** The relay shuts down and its grace period is over. */
  | { readonly kind: 'shutdown' }

export interface RequestResult {
  readonly httpStatus: number
  readonly outcome: RequestOutcome['outcome']
  readonly finish: string | null
  readonly errorCode: string | null
  readonly fault?: string | undefined
  readonly faultUpstream?: string | undefined
  readonly firstTokenMs: number | null
}

/** The outcome of an attempt whose request was not successful. */
export function attemptOutcome(result: RequestResult): 'failed' | 'aborted' {
  return result.outcome === 'aborted' || result.outcome === 'ended' ? 'aborted' : 'failed'
}

/** The result of a streaming request. */
export function streamResult(
  endReason: EndReason,
  wasAborted: boolean,
): Pick<RequestResult, 'httpStatus' | 'outcome' | 'errorCode'> {
  switch (endReason.kind) {
    case 'complete':
      return { httpStatus: 200, outcome: wasAborted ? 'aborted' : 'ok', errorCode: null }
    case 'out-of-credit':
      return { httpStatus: 200, outcome: 'ended', errorCode: 'insufficient_quota' }
    case 'shutdown':
      return { httpStatus: 200, outcome: 'ended', errorCode: 'service_unavailable' }
    case 'disconnected':
      return { httpStatus: 200, outcome: 'aborted', errorCode: null }
    case 'store-unavailable':
      return { httpStatus: 200, outcome: 'failed', errorCode: 'service_unavailable' }
    case 'upstream-error':
      return { httpStatus: 200, outcome: 'truncated', errorCode: 'upstream_unavailable' }
  }
}

/** The error that ends an incomplete stream. */
export function apiErrorForEnd(endReason: EndReason): ApiError {
  if (endReason.kind === 'store-unavailable' || endReason.kind === 'shutdown')
    return apiError('service_unavailable')
  return apiError('upstream_unavailable', { message: 'The provider ended its response early.' })
}

/** What the end of a stream says about its upstream; `null`: nothing. */
export function upstreamOutcome(endReason: EndReason): 'complete' | UpstreamError | null {
  if (endReason.kind === 'complete') return 'complete'
  return endReason.kind === 'upstream-error' ? endReason.error : null
}
