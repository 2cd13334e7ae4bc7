/** Denials of the rate limiter and of the ledger, as API errors. */
import type { ApiErrorCode, ApiErrorDetail } from '../errors.ts'
import type { CapName, Denial } from '../ledger/caps.ts'
import type { ClaimConflict } from '../ledger/transaction.ts'
import type { IdempotencyClaim } from '../ledger/events.ts'
import type { Hold } from '../ledger/state.ts'
import type { RateDenial, RateStatus } from '../limits/rate-limiter.ts'
import type { HoldRejected } from '../relay/ledger-client.ts'

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
  readonly retryAfterCommit?: number
}

export const unavailable: DenialError = { code: 'service_unavailable', detail: { retryAfterMs: 1000 } }

/** `rates`: `null` if the limits of the caller do not matter. */
export function rejected(error: DenialError, rates: RateStatus | null): HoldRejected {
  return { granted: false, ...error, rates }
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

function runningError({ id, claim }: Hold, requested: IdempotencyClaim | undefined): DenialError {
  if (claim?.body !== requested?.body) {
    const message = `This Idempotency-Key was used by request ${id}, which has a different body.`
    return { code: 'idempotency_key_reused', detail: { message } }
  }
  const message = `Request ${id} with this Idempotency-Key is still in progress.`
  return { code: 'idempotency_conflict', detail: { message, retryAfterMs: 1000 } }
}

/** `claim`: the `Idempotency-Key` that the request wants to use. */
export function ledgerDenialError(
  denial: Denial | ClaimConflict,
  claim: IdempotencyClaim | undefined,
  now: number,
): DenialError {
  switch (denial.kind) {
    case 'running':
      return runningError(denial.by, claim)
    case 'stored':
      return { code: 'idempotency_conflict', detail: {}, retryAfterCommit: denial.commit }
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
    case 'one-at-a-time': {
      const message =
        'The balance does not cover several requests for this model at once: try again when the other one has ended.'
      return { code: 'rate_limit_exceeded', detail: { message, retryAfterMs: 1000 } }
    }
    case 'known':
      return { code: 'server_error', detail: {} }
  }
}
