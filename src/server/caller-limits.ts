/** What limits a caller, as the ledger (caps) and the rates (claims) want to be told it. */
import type { Caller } from '../accounts/directory.ts'
import type { PricedModel } from '../catalog/catalog.ts'
import type { Caps } from '../ledger/caps.ts'
import { modelSubject, type Claim } from '../limits/rates.ts'

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

export function claimsOf(caller: Caller, model: PricedModel | null): Claim[] {
  const claims: Claim[] = [
    { subject: `account:${caller.accountId}`, limits: caller.accountLimits },
    { subject: `key:${caller.keyId}`, limits: caller.keyLimits },
  ]
  const limits = model?.limits ?? null
  if (model && limits) claims.push({ subject: modelSubject(caller.accountId, model.id), limits })
  return claims
}
