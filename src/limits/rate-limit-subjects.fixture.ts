/** Subjects that no other test uses. */
import type { RateLimitSubject, RateLimits } from './rate-limiter.ts'

export const none: RateLimits = { rpm: null, tpm: null, concurrency: null }
let subjectCount = 0

export function newSubjects(account: Partial<RateLimits>, key: Partial<RateLimits> = {}): RateLimitSubject[] {
  subjectCount += 1
  return [
    { subject: `account:${subjectCount}`, limits: { ...none, ...account } },
    { subject: `key:${subjectCount}`, limits: { ...none, ...key } },
  ]
}
