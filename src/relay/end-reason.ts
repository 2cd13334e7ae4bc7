/** Why an admitted request ended, and what that means for its row, its attempt's record and its caller. */
import { apiError, type ApiError } from '../errors.ts'
import type { RequestOutcome } from '../ledger/request-row.ts'
import type { UpstreamError } from './routing/upstream-error.ts'
import type { UsageMeter } from './streaming/usage-meter.ts'

export type EndReason =
  | { readonly kind: 'complete' }
  | { readonly kind: 'upstream-error'; readonly error: UpstreamError }
  | { readonly kind: 'disconnected' }
  /** The upstream ignores the maximum of output tokens, and the relay has cut it. */
  | { readonly kind: 'cut' }
  /** The account cannot pay for more output. */
  | { readonly kind: 'out-of-credit' }
  /** The store does not accept commits. */
  | { readonly kind: 'store-unavailable' }
  /** The relay shuts down and its grace period is over. */
  | { readonly kind: 'shutdown' }

/** The part of a request's outcome that depends on how it ended. */
export type RequestResult = Pick<
  RequestOutcome,
  'httpStatus' | 'outcome' | 'finish' | 'errorCode' | 'fault' | 'faultUpstream' | 'firstTokenMs'
>

/**
 * Has the upstream completed its response, with a finish reason that it does not document? Nobody failed, so the row has no
 * error.
 */
export function hasUnknownFinish({
  outcome,
  errorCode,
}: Pick<RequestResult, 'outcome' | 'errorCode'>): boolean {
  return outcome === 'truncated' && errorCode === null
}

/** The outcome of the attempt that got the response. */
export function attemptOutcome(result: RequestResult): 'ok' | 'failed' | 'aborted' {
  const { outcome } = result
  if (outcome === 'ok' || hasUnknownFinish(result)) return 'ok'
  return outcome === 'aborted' || outcome === 'ended' ? 'aborted' : 'failed'
}

const streamResults = {
  complete: { httpStatus: 200, outcome: 'ok', errorCode: null },
  cut: { httpStatus: 200, outcome: 'ok', errorCode: null },
  'out-of-credit': { httpStatus: 200, outcome: 'ended', errorCode: 'insufficient_quota' },
  shutdown: { httpStatus: 200, outcome: 'ended', errorCode: 'service_unavailable' },
  disconnected: { httpStatus: 200, outcome: 'aborted', errorCode: null },
  'store-unavailable': { httpStatus: 200, outcome: 'failed', errorCode: 'service_unavailable' },
  'upstream-error': { httpStatus: 200, outcome: 'truncated', errorCode: 'upstream_unavailable' },
} as const satisfies Record<EndReason['kind'], Partial<RequestOutcome>>

/** The result of a streaming request. */
export function streamResult(
  { kind }: EndReason,
  wasAborted: boolean,
  { isFinishUnknown }: Pick<UsageMeter, 'isFinishUnknown'>,
): Pick<RequestResult, 'httpStatus' | 'outcome' | 'errorCode'> {
  if (kind !== 'complete' && kind !== 'cut') return streamResults[kind]
  if (wasAborted) return streamResults.disconnected
  return kind === 'complete' && isFinishUnknown
    ? { ...streamResults.complete, outcome: 'truncated' }
    : streamResults[kind]
}

/** What the caller gets instead of a response. One that was cut at the maximum that was paid for lacks only money. */
export function failureOf(
  failure: ApiError,
  { finishReason }: { readonly finishReason: string | null },
  { loweredMaximum }: { readonly loweredMaximum: number | null },
): ApiError {
  return finishReason === 'length' && loweredMaximum !== null ? apiError('insufficient_quota') : failure
}

/** The error that ends an incomplete stream. */
export function apiErrorForEnd(endReason: EndReason): ApiError {
  if (endReason.kind === 'store-unavailable' || endReason.kind === 'shutdown')
    return apiError('service_unavailable')
  return apiError('upstream_unavailable', { message: 'The provider ended its response early.' })
}

/** What the end of a response says about its upstream; `null`: nothing. */
export function upstreamOutcome(
  endReason: EndReason,
  { isFinishUnknown }: Pick<UsageMeter, 'isFinishUnknown'>,
): 'complete' | UpstreamError | null {
  if (endReason.kind === 'cut') return 'complete'
  if (endReason.kind === 'complete') return isFinishUnknown ? null : 'complete'
  return endReason.kind === 'upstream-error' ? endReason.error : null
}
