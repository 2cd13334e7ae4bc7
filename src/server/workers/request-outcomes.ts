/** The log lines of requests, and the rows of rejected ones. */
import type { ApiError } from '../../errors.ts'
import type { RejectedRequest } from '../../http/router.ts'
import { formatAmount } from '../../lib/money.ts'
import type { RequestOutcome } from '../../relay/ledger-client.ts'
import type { RequestLogLine } from '../../relay/relay-request.ts'

/** One log line per request: caller, model, outcome and cost; no prompt, no response text, no secret. */
export function requestLogFields(line: RequestLogLine): Record<string, unknown> {
  const { outcome, usage } = line
  return {
    request: line.id,
    account: line.account,
    key: line.key,
    model: outcome.model,
    upstream: outcome.upstream,
    status: outcome.httpStatus,
    outcome: outcome.outcome,
    stream: outcome.stream,
    finish: outcome.finish,
    code: outcome.errorCode,
    fault: line.fault,
    input: usage?.input,
    output: usage?.output,
    clamped: outcome.isClamped || undefined,
    cost: formatAmount(line.cost),
    first_token_ms: outcome.firstTokenMs,
    duration_ms: outcome.durationMs,
  }
}

export function rejectedLogFields(
  { code, status }: ApiError,
  { id, caller, progress }: RejectedRequest,
): Record<string, unknown> {
  return { request: id, account: caller.accountId, key: caller.keyId, model: progress.model, status, code }
}

/** The row of a request that was rejected before it had a hold. */
export function rejectedOutcome({ code, status }: ApiError, { progress }: RejectedRequest): RequestOutcome {
  return {
    httpStatus: status,
    outcome: 'refused',
    upstream: null,
    finish: null,
    errorCode: code,
    firstTokenMs: null,
    durationMs: 0,
    attempts: '[]',
    upstreamCost: null,
    isClamped: false,
    stream: progress.stream,
    model: progress.model.slice(0, 256),
  }
}
