/** What limits a caller, as the ledger (caps) and the rates (claims) want to be told it. */
import type { Caller, Directory } from '../../accounts/directory.ts'
import type { PricedModel } from '../../catalog/catalog.ts'
import { availableOf, type Caps } from '../../ledger/caps.ts'
import type { Wallet } from '../../http/house.ts'
import type { Hold, Owner } from '../../ledger/state.ts'
import { accountSubject, keySubject, modelSubject, type Claim } from '../../limits/rate-limiter.ts'

export const noCaps: Caps = {
  accountDay: null,
  accountMonth: null,
  keyDay: null,
  keyMonth: null,
  keyTotal: null,
  accountRequestsPerDay: null,
  keyRequestsPerDay: null,
}

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

/** With the requests per day of the model, where it has a limit of them. */
export function capsFor(caller: Caller, { limits }: PricedModel): Caps {
  const caps = capsOf(caller)
  return limits === null ? caps : { ...caps, modelRequestsPerDay: limits.rpd }
}

/** The caps of a running request. Where its key is gone, nothing may be added to what it holds. */
export function capsOfHold(directory: Directory, held: Hold | undefined): Caps {
  const caller = held && directory.keyById(held.key)
  return caller ? capsOf(caller) : { ...noCaps, keyTotal: 0n }
}

/** What an account, and within it a key, has now. `owners`: what the ledger says of both at this moment. */
export function walletOf(
  directory: Directory,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string | null },
  owners: { readonly account: Owner; readonly key: Owner },
): Wallet {
  const { account, key } = owners
  const caller = keyId === null ? undefined : directory.keyById(keyId)
  const { dailyNanos, monthlyNanos } = directory.account(accountId)?.caps ?? {}
  const caps: Caps = caller
    ? capsOf(caller)
    : { ...noCaps, accountDay: dailyNanos ?? null, accountMonth: monthlyNanos ?? null }
  return {
    balance: account.balance,
    held: account.held,
    available: availableOf(account, key, caps),
    spentToday: account.daySpent,
    spentMonth: account.monthSpent,
  }
}

export function claimsOf(caller: Caller, model: PricedModel | null): Claim[] {
  const claims: Claim[] = [
    { subject: accountSubject(caller.accountId), limits: caller.accountLimits },
    { subject: keySubject(caller.keyId), limits: caller.keyLimits },
  ]
  const limits = model?.limits ?? null
  if (model && limits) claims.push({ subject: modelSubject(caller.accountId, model.id), limits })
  return claims
}
