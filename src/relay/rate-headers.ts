/** What is left of the caller's rates, as headers that clients of the format know. */
import type { RateStatus } from '../limits/rate-limiter.ts'

/** `12ms`, `1.5s`, `6m0s`: durations as clients of the format parse them. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`
}

/** Flat list of header names and values. */
export function rateHeaders(rates: RateStatus): string[] {
  const headers: string[] = []
  if (rates.limitRequests !== null) {
    headers.push('x-ratelimit-limit-requests', String(rates.limitRequests))
    headers.push('x-ratelimit-remaining-requests', String(rates.remainingRequests))
    headers.push('x-ratelimit-reset-requests', durationText(rates.resetRequestsMs))
  }
  if (rates.limitTokens !== null) {
    headers.push('x-ratelimit-limit-tokens', String(rates.limitTokens))
    headers.push('x-ratelimit-remaining-tokens', String(rates.remainingTokens))
    headers.push('x-ratelimit-reset-tokens', durationText(rates.resetTokensMs))
  }
  return headers
}
