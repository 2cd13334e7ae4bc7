/**
 * Classifies upstream errors: which circuit breaker an error counts against. Errors that a caller can cause (an invalid
 * request, a model's name, a text) count against none, whatever the upstream says about them.
 */
import type { FailureScope } from '../../health/call-reports.ts'
import { errorSummary, type UpstreamError } from './upstream-error.ts'

export interface FailureClass {
  /** `null`: counts against no circuit. */
  readonly scope: FailureScope | null
  readonly retryAfterMs: number | null
  readonly why: string
}

/** Codes under 429 for which waiting does not help: the credential is out of credit. */
const outOfCreditCodes = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'insufficient_balance'])

/** Of the statuses without a more specific class, those that are the upstream's failure. */
function isUpstreamStatus(status: number | null): boolean {
  return status === null || status < 400 || status >= 500 || status === 408
}

function scopeOf({ kind, status, code }: UpstreamError): FailureScope | null {
  switch (kind) {
    case 'request':
    case 'missing':
    case 'unsupported':
    case 'forbidden':
      return null
    case 'rate':
      return outOfCreditCodes.has(code ?? '') ? 'credential' : 'credentialForModel'
    case 'credential':
      // Many providers respond with 403 if a credential may use some of their models but not this one.
      return status === 403 ? 'credentialForModel' : 'credential'
    case 'unavailable':
      return isUpstreamStatus(status) ? 'route' : null
    case 'timeout':
    case 'connection':
    case 'garbage':
      return 'route'
  }
}

function explainFailure(error: UpstreamError): string {
  if (error.kind === 'rate')
    return outOfCreditCodes.has(error.code ?? '') ? 'Out of credit.' : 'Rate limited.'
  if (error.kind !== 'credential')
    return error.status === null ? error.message : `Error: ${errorSummary(error)}.`
  if (error.status === 402) return 'Out of credit.'
  return error.status === 403
    ? 'The upstream does not allow this model for the credential (403).'
    : 'The upstream rejects the credential.'
}

export function classifyFailure(error: UpstreamError): FailureClass {
  return { scope: scopeOf(error), retryAfterMs: error.retryAfterMs, why: explainFailure(error) }
}
