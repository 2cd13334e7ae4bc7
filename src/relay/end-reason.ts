/** How a request that was admitted ended: for its row, for its attempt's record, for its caller. */
import { refuse, type Refusal } from '../errors.ts'
import type { RequestOutcome } from './ledger-client.ts'
import type { Fault } from './routing/upstream-error.ts'

export type Ending =
  | { readonly kind: 'complete' }
  | { readonly kind: 'broken'; readonly fault: Fault }
  | { readonly kind: 'gone' }
  /** Nothing more can be paid. */
  | { readonly kind: 'money' }
  /** The store does not take commits. */
  | { readonly kind: 'store' }
  /** The relay is shut down and its grace is over. */
  | { readonly kind: 'shutdown' }

export interface Result {
  readonly httpStatus: number
  readonly outcome: RequestOutcome['outcome']
  readonly finish: string | null
  readonly errorCode: string | null
  readonly fault?: string | undefined
  readonly faultUpstream?: string | undefined
  readonly firstTokenMs: number | null
}

/** What an attempt is told as, when its request did not end well. */
export function attemptOutcome(result: Result): 'failed' | 'aborted' {
  return result.outcome === 'aborted' || result.outcome === 'ended' ? 'aborted' : 'failed'
}

/** How a streamed request is told to have ended. */
export function resultOf(
  ending: Ending,
  wasLeft: boolean,
): Pick<Result, 'httpStatus' | 'outcome' | 'errorCode'> {
  switch (ending.kind) {
    case 'complete':
      return { httpStatus: 200, outcome: wasLeft ? 'aborted' : 'ok', errorCode: null }
    case 'money':
      return { httpStatus: 200, outcome: 'ended', errorCode: 'insufficient_quota' }
    case 'shutdown':
      return { httpStatus: 200, outcome: 'ended', errorCode: 'service_unavailable' }
    case 'gone':
      return { httpStatus: 200, outcome: 'aborted', errorCode: null }
    case 'store':
      return { httpStatus: 200, outcome: 'failed', errorCode: 'service_unavailable' }
    case 'broken':
      return { httpStatus: 200, outcome: 'truncated', errorCode: 'upstream_unavailable' }
  }
}

/** What the caller of a broken stream is told. */
export function refusalOfEnding(ending: Ending): Refusal {
  if (ending.kind === 'store' || ending.kind === 'shutdown') return refuse('service_unavailable')
  return refuse('upstream_unavailable', { message: 'The provider broke off its answer.' })
}

/** What the end of a stream says about its upstream; `null`: nothing. */
export function seenOfUpstream(ending: Ending): 'complete' | Fault | null {
  if (ending.kind === 'complete') return 'complete'
  return ending.kind === 'broken' ? ending.fault : null
}
