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

/** A call of the throttle, as sent between threads. */
export type AuthThrottleRequest =
  | { readonly what: 'count' | 'reset'; readonly rule: ThrottleRule; readonly subject: ThrottleSubject }
  | { readonly what: 'hash'; readonly password: string }
  | { readonly what: 'check'; readonly password: string; readonly passwordHash: string | null }

export function createAuthThrottle(loginThrottle: LoginThrottle): AuthThrottle {
  return {
    count: (rule, subject) => loginThrottle.count(rule, subject),
    reset: (rule, subject) => loginThrottle.reset(rule, subject),
    hashOfPassword: hashPassword,
    verifyPassword,
  }
}

export function handleAuthThrottleRequest(
  throttle: AuthThrottle,
  request: AuthThrottleRequest,
): Promise<unknown> {
  switch (request.what) {
    case 'count':
      return throttle.count(request.rule, request.subject)
    case 'reset':
      return throttle.reset(request.rule, request.subject)
    case 'hash':
      return throttle.hashOfPassword(request.password)
    case 'check':
      return throttle.verifyPassword(request.password, request.passwordHash)
  }
}

/** The throttle of another thread. */
export function remoteAuthThrottle(send: (request: AuthThrottleRequest) => Promise<unknown>): AuthThrottle {
  return {
    count: async (rule, subject) => void (await send({ what: 'count', rule, subject })),
    reset: async (rule, subject) => void (await send({ what: 'reset', rule, subject })),
    hashOfPassword: async (password) => (await send({ what: 'hash', password })) as string,
    verifyPassword: async (password, kept) =>
      (await send({ what: 'check', password, passwordHash: kept })) as boolean,
  }
}
