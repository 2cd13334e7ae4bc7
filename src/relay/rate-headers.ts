/** The caller's rate limits as `x-ratelimit-*` headers, which OpenAI's clients know. */
import type { RateStatus } from '../limits/rate-limiter.ts'

/** `12ms`, `2s`, `6m0s`: durations as OpenAI's clients parse them. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`
}

/** A flat list of header names and values. */
export function rateLimitHeaders(rates: RateStatus): string[] {
  const headers: string[] = []
  if (rates.limitRequests !== null) {
    headers.push('x-ratelimit-limit-requests', String(rates.limitRequests))
    headers.push('x-ratelimit-remaining-requests', String(rates.remainingRequests))
    headers.push('x-ratelimit-reset-requests', formatDuration(rates.resetRequestsMs))
  }
  if (rates.limitTokens !== null) {
    headers.push('x-ratelimit-limit-tokens', String(rates.limitTokens))
    headers.push('x-ratelimit-remaining-tokens', String(rates.remainingTokens))
    headers.push('x-ratelimit-reset-tokens', formatDuration(rates.resetTokensMs))
  }
  return headers
}
