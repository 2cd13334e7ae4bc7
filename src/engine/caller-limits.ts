/** The limits of a caller: caps for the ledger, subjects for the rate limiter. */
import type { Caller, Directory } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import { availableNanos, type Caps } from '../ledger/caps.ts'
import type { Hold, Owner } from '../ledger/state.ts'
import {
  accountSubject,
  keySubject,
  modelSubject,
  replaySubject,
  tokenCountSubject,
  type RateLimitSubject,
  type RateLimits,
} from '../limits/rate-limiter.ts'

/** What an account has, in nanos, in the open periods of its time zone. */
export interface Wallet {
  readonly balance: bigint
  readonly held: bigint
  /** How much can still be held: the minimum over the balance and the caps, less what is held. */
  readonly available: bigint
  readonly spentToday: bigint
  readonly spentMonth: bigint
}

export const noCaps: Caps = {
  accountDay: null,
  accountMonth: null,
  keyDay: null,
  keyMonth: null,
  keyTotal: null,
  accountRequestsPerDay: null,
  keyRequestsPerDay: null,
}

const replayLimits: RateLimits = { rpm: 60, tpm: null, concurrency: null }

export function capsOf(caller: Caller): Caps {
  return {
    accountDay: caller.accountCaps.dailyNanos,
    accountMonth: caller.accountCaps.monthlyNanos,
    keyDay: caller.keyCaps.dailyNanos,
    keyMonth: caller.keyCaps.monthlyNanos,
    keyTotal: caller.keyCaps.totalNanos,
    accountRequestsPerDay: caller.accountLimits.rpd,
    keyRequestsPerDay: caller.keyLimits.rpd,
  }
}

/** Includes the model's requests per day, if they are limited. */
export function capsForModel(caller: Caller, { limits }: PricedModel): Caps {
  const caps = capsOf(caller)
  return limits === null ? caps : { ...caps, modelRequestsPerDay: limits.rpd }
}

/** The caps of a running request. If its key was deleted or is not loaded yet, its hold may not grow. */
export function capsOfHold(directory: Directory | undefined, held: Hold | undefined): Caps {
  const caller = held && directory?.callerByKeyId(held.key)
  return caller ? capsOf(caller) : { ...noCaps, keyTotal: 0n }
}

/** The wallet of an account, or of a key within it. `owners`: the current state of both in the ledger. */
export function walletOf(
  directory: Directory,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string | null },
  owners: { readonly account: Owner; readonly key: Owner },
): Wallet {
  const { account, key } = owners
  const caller = keyId === null ? undefined : directory.callerByKeyId(keyId)
  const { dailyNanos, monthlyNanos } = directory.account(accountId)?.caps ?? {}
  const caps: Caps = caller
    ? capsOf(caller)
    : { ...noCaps, accountDay: dailyNanos ?? null, accountMonth: monthlyNanos ?? null }
  return {
    balance: account.balance,
    held: account.held,
    available: availableNanos(account, key, caps),
    spentToday: account.daySpent,
    spentMonth: account.monthSpent,
  }
}

export function rateLimitSubjectsOf(caller: Caller, model: PricedModel | null): RateLimitSubject[] {
  const subjects: RateLimitSubject[] = [
    { subject: accountSubject(caller.accountId), limits: caller.accountLimits },
    { subject: keySubject(caller.keyId), limits: caller.keyLimits },
  ]
  const limits = model?.limits ?? null
  if (model && limits) subjects.push({ subject: modelSubject(caller.accountId, model.id), limits })
  return subjects
}

/** The windows of token counts, as long as those of requests: a client counts before each of them, and more often. */
export function tokenCountSubjectsOf(caller: Caller): RateLimitSubject[] {
  return rateLimitSubjectsOf(caller, null).map(({ subject, limits }) => ({
    subject: tokenCountSubject(subject),
    limits: { ...limits, tpm: null, concurrency: null },
  }))
}

/** The window of replays, which is that of an API key. */
export function replaySubjectsOf(keyId: string): RateLimitSubject[] {
  return [{ subject: replaySubject(keyId), limits: replayLimits }]
}
