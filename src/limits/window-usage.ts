/** Reads the usage of a subject's windows in Redis as a denial or a status. */
import type { WindowLimits, WindowUsage } from '../shared/redis-sliding-windows.ts'
import {
  longerWait,
  slotRetryMs,
  type RateDenial,
  type RateLimitSubject,
  type RateStatus,
} from './rate-limiter.ts'

export function windowLimitsOf({ subject, limits }: RateLimitSubject): WindowLimits {
  return { subject, requests: limits.rpm, tokens: limits.tpm, slots: limits.concurrency }
}

export function denialFrom(
  { subject, limits }: RateLimitSubject,
  usage: WindowUsage,
  now: number,
): RateDenial | null {
  const inMs = (seconds: number): number | null =>
    seconds < 0 ? null : (Math.floor(now / 1000) + seconds) * 1000 - now
  const { rpm, tpm, concurrency } = limits
  let denial: RateDenial | null = null
  if (concurrency !== null && usage.running >= concurrency) {
    const retryAfterMs = concurrency === 0 ? null : slotRetryMs
    denial = { subject, rate: 'concurrent requests', limit: concurrency, retryAfterMs }
  }
  if (rpm !== null && usage.requestsWait !== 0) {
    const retryAfterMs = inMs(usage.requestsWait)
    denial = longerWait(denial, { subject, rate: 'requests per minute', limit: rpm, retryAfterMs })
  }
  if (tpm !== null && usage.tokensWait !== 0) {
    const retryAfterMs = inMs(usage.tokensWait)
    denial = longerWait(denial, { subject, rate: 'tokens per minute', limit: tpm, retryAfterMs })
  }
  return denial
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
