/**
 * Throttles sign-in attempts and hashes passwords, which takes memory and time. There is one per process, on the main
 * thread; workers call it by message.
 */
import type { LoginThrottle, ThrottleRule, ThrottleSubject } from '../limits/login-throttle.ts'
import { hashPassword, verifyPassword } from '../users/password.ts'

export interface AuthThrottle {
  /** Counts one attempt. Throws 429 if there were too many. */
  count(rule: ThrottleRule, subject: ThrottleSubject): Promise<void>
  /** After a successful attempt. */
  reset(rule: ThrottleRule, subject: ThrottleSubject): Promise<void>
  hashOfPassword(password: string): Promise<string>
  verifyPassword(password: string, passwordHash: string | null): Promise<boolean>
}

export function createAuthThrottle(loginThrottle: LoginThrottle): AuthThrottle {
  return {
    count: (rule, subject) => loginThrottle.count(rule, subject),
    reset: (rule, subject) => loginThrottle.reset(rule, subject),
    hashOfPassword: hashPassword,
    verifyPassword,
  }
}
