/** The limits' and the ledger's no, in words for the caller. */
import type { RefusalCode, RefusalDetail } from '../../errors.ts'
import type { CapName, Denial } from '../../ledger/caps.ts'
import type { RateDenial } from '../../limits/rate-limiter.ts'

const capNames: Record<CapName, string> = {
  accountDay: 'daily spend cap of this account',
  accountMonth: 'monthly spend cap of this account',
  keyDay: 'daily spend cap of this key',
  keyMonth: 'monthly spend cap of this key',
  keyTotal: 'total spend cap of this key',
}

/** Whose limit it is, by the beginning of the subject. */
const ownerNames: Readonly<Record<string, string>> = { key: 'this key', model: 'this model' }

export interface Denied {
  readonly code: RefusalCode
  readonly detail: RefusalDetail
}

export function deniedByRate(denial: RateDenial): Denied {
  const { rate, limit, retryAfterMs } = denial
  const owner = ownerNames[denial.subject.slice(0, denial.subject.indexOf(':'))] ?? 'this account'
  if (retryAfterMs === null) {
    const message = `The request is larger than the limit of ${owner}: ${limit} ${rate}.`
    return { code: 'rate_limit_exceeded', detail: { message, final: true } }
  }
  const message = `The limit of ${owner} is reached: ${limit} ${rate}.`
  return { code: 'rate_limit_exceeded', detail: { message, retryAfterMs } }
}

export function deniedByLedger(denial: Denial, now: number): Denied {
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
      const message = `The requests per day of this ${denial.of} are used up.`
      return { code: 'rate_limit_exceeded', detail: { message, retryAfterMs: denial.resumesAt - now } }
    }
    case 'known':
      return { code: 'server_error', detail: {} }
  }
}
