/** Claims of subjects that no other test has. */
import type { Claim, RateLimits } from './rate-limiter.ts'

export const none: RateLimits = { rpm: null, tpm: null, concurrency: null }
let named = 0

export function claimant(account: Partial<RateLimits>, key: Partial<RateLimits> = {}): Claim[] {
  named += 1
  return [
    { subject: `account:${named}`, limits: { ...none, ...account } },
    { subject: `key:${named}`, limits: { ...none, ...key } },
  ]
}
