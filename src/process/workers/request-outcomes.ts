/** The log lines of requests. */
import { formatAmount } from '../../lib/money.ts'
import type { RequestLogLine } from '../../relay/request-context.ts'

/**
 * One log line per request: caller, model, outcome and cost; no prompt, no response text, no secret. With all attempts,
 * as in the admin API, if one of them failed.
 */
export function requestLogFields(line: RequestLogLine): Record<string, unknown> {
  const { outcome, usage, attempts, mismatch } = line
  return {
    request: line.id,
    account: line.account,
    key: line.key,
    model: outcome.model,
    upstream: outcome.upstream,
    model_served: mismatch?.served,
    provider_response_id: outcome.providerResponseId ?? undefined,
    status: outcome.httpStatus,
    outcome: outcome.outcome,
    stream: outcome.stream,
    finish: outcome.finish,
    code: outcome.errorCode,
    fault: line.fault,
    input: usage?.input,
    output: usage?.output,
    clamped: outcome.isClamped || undefined,
    cost: line.cost === null ? undefined : formatAmount(line.cost),
    settled: line.cost === null ? false : undefined,
    first_token_ms: outcome.firstTokenMs,
    duration_ms: outcome.durationMs,
    attempts: attempts.some((attempt) => attempt.outcome === 'failed') ? attempts : undefined,
  }
}
