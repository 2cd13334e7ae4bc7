/** Denials of the rate limiter and of the ledger, as API errors. */
import type { ApiErrorCode, ApiErrorDetail } from '../../errors.ts'
import type { CapName, Denial } from '../../ledger/caps.ts'
import type { RateDenial } from '../../limits/rate-limiter.ts'

const capNames: Record<CapName, string> = {
  accountDay: 'daily spend cap of this account',
  accountMonth: 'monthly spend cap of this account',
  keyDay: 'daily spend cap of this key',
  keyMonth: 'monthly spend cap of this key',
  keyTotal: 'total spend cap of this key',
}

/** The owner of a limit, by the prefix of its subject. */
const ownerNames: Readonly<Record<string, string>> = {
  key: 'this key',
  model: 'this model',
  replay: 'this key',
  'count-key': 'this key',
}
/** What is counted, where it is no request. */
const rateNames: Readonly<Record<string, string>> = {
  replay: 'replays by Idempotency-Key per minute',
  'count-key': 'token counts per minute',
  'count-account': 'token counts per minute',
}

export interface DenialError {
  readonly code: ApiErrorCode
  readonly detail: ApiErrorDetail
}

export function rateDenialError(denial: RateDenial): DenialError {
  const { limit, retryAfterMs } = denial
  const kind = denial.subject.slice(0, denial.subject.indexOf(':'))
  const owner = ownerNames[kind] ?? 'this account'
  const rate = rateNames[kind] ?? denial.rate
  if (retryAfterMs === null) {
    const message = `The request is too large for the limit of ${owner}: ${limit} ${rate}.`
    return { code: 'rate_limit_exceeded', detail: { message, final: true } }
  }
  const message = `Rate limit exceeded for ${owner}: ${limit} ${rate}.`
  return { code: 'rate_limit_exceeded', detail: { message, retryAfterMs } }
}

export function ledgerDenialError(denial: Denial, now: number): DenialError {
  switch (denial.kind) {
    case 'balance':
      return { code: 'insufficient_quota', detail: {} }
    case 'cap': {
      const until =
        denial.resumesAt === null ? '' : ` Service resumes at ${new Date(denial.resumesAt).toISOString()}.`
      return {
        code: 'spend_cap_exceeded',
        detail: { message: `The ${capNames[denial.cap]} is reached.${until}` },
      }
    }
    case 'requests-per-day': {
      const message = `Daily request limit reached for this ${denial.of}.`
      // A node's clock may be ahead of the database's, by which the day ends.
      const retryAfterMs = Math.max(1000, denial.resumesAt - now)
      return { code: 'rate_limit_exceeded', detail: { message, retryAfterMs } }
    }
    case 'known':
      return { code: 'server_error', detail: {} }
  }
}
