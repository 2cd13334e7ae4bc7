/**
 * The guard of the doors where one signs in: how often something was tried, and passwords, which cost memory and time.
 * There is one per process, on the main thread; workers ask it by message.
 */
import type { Attempts, AttemptRule } from '../limits/attempts.ts'
import { hashOfPassword, isPassword } from '../users/password.ts'

export interface Guard {
  /** Counts one try. Throws 429 when there were too many. */
  count(rule: AttemptRule, subject: string): Promise<void>
  /** What was tried was no guess. */
  forgive(rule: AttemptRule, subject: string): Promise<void>
  hashOfPassword(password: string): Promise<string>
  isPassword(password: string, kept: string | null): Promise<boolean>
}

/** A question to the guard as it travels between threads. */
export type GuardAsk =
  | { readonly what: 'count' | 'forgive'; readonly rule: AttemptRule; readonly subject: string }
  | { readonly what: 'hash'; readonly password: string }
  | { readonly what: 'check'; readonly password: string; readonly kept: string | null }

export function openGuard(attempts: Attempts): Guard {
  return {
    count: (rule, subject) => attempts.count(rule, subject),
    forgive: (rule, subject) => attempts.forgive(rule, subject),
    hashOfPassword,
    isPassword,
  }
}

export function answerGuard(guard: Guard, ask: GuardAsk): Promise<unknown> {
  switch (ask.what) {
    case 'count':
      return guard.count(ask.rule, ask.subject)
    case 'forgive':
      return guard.forgive(ask.rule, ask.subject)
    case 'hash':
      return guard.hashOfPassword(ask.password)
    case 'check':
      return guard.isPassword(ask.password, ask.kept)
  }
}

/** The guard of another thread. */
export function guardBy(send: (ask: GuardAsk) => Promise<unknown>): Guard {
  return {
    count: async (rule, subject) => void (await send({ what: 'count', rule, subject })),
    forgive: async (rule, subject) => void (await send({ what: 'forgive', rule, subject })),
    hashOfPassword: async (password) => (await send({ what: 'hash', password })) as string,
    isPassword: async (password, kept) => (await send({ what: 'check', password, kept })) as boolean,
  }
}
