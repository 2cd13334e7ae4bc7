/** Reads the usage of a subject's windows in Redis as a status. */
import type { WindowLimits, WindowUsage } from '../shared/redis-sliding-windows.ts'
import type { RateLimitSubject, RateStatus } from './rate-limiter.ts'

export function windowLimitsOf({ subject, limits }: RateLimitSubject): WindowLimits {
  return { subject, requests: limits.rpm, tokens: limits.tpm, slots: limits.concurrency }
}

/** The status of the subject with the least remaining. */
export function statusFrom(
  subjects: readonly RateLimitSubject[],
  usages: readonly WindowUsage[],
): RateStatus {
  const status = {
    limitRequests: null as number | null,
    remainingRequests: 0,
    resetRequestsMs: 0,
    limitTokens: null as number | null,
    remainingTokens: 0,
    resetTokensMs: 0,
  }
  for (const [index, { limits }] of subjects.entries()) {
    const usage = usages[index]
    if (!usage) continue
    const requests = Math.max(0, (limits.rpm ?? 0) - usage.requests)
    if (limits.rpm !== null && (status.limitRequests === null || requests < status.remainingRequests)) {
      status.limitRequests = limits.rpm
      status.remainingRequests = requests
      status.resetRequestsMs = usage.requestsFree * 1000
    }
    const tokens = Math.max(0, (limits.tpm ?? 0) - usage.tokens)
    if (limits.tpm !== null && (status.limitTokens === null || tokens < status.remainingTokens)) {
      status.limitTokens = limits.tpm
      status.remainingTokens = tokens
      status.resetTokensMs = usage.tokensFree * 1000
    }
  }
  return status
}
