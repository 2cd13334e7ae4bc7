/** An arbitrary request outcome. */
import type { RequestOutcome } from '../ledger/request-row.ts'

export const outcome: RequestOutcome = {
  httpStatus: 200,
  outcome: 'ok',
  upstream: null,
  finish: 'stop',
  errorCode: null,
  firstTokenMs: null,
  durationMs: 1,
  attempts: '[]',
  upstreamCost: null,
  isClamped: false,
  stream: false,
  model: 'm',
}
