/**
 * Grants trial credit: the credit of a running promotion, once per mailbox. The grant and the order of its credit are
 * written together; a crash leaves both or neither.
 */
import type { Db } from '../../db/db.ts'
import { isUniqueViolation, StoreError } from '../../db/store-error.ts'
import { ApiError } from '../../errors.ts'
import { runningPromotion, type Promotion } from './promotions.ts'
import { hasHadTrial, trialCreditId, trialExpiryOf, type Grantee } from './trial-grants.ts'

/** The trial credit that was granted, or why none was. */
export type TrialCreditResult =
  | {
      readonly granted: true
      readonly promotion: Promotion
      readonly amountNanos: bigint
      readonly expiresAt: number | null
    }
  | { readonly granted: false; readonly reason: 'no_promotion' | 'granted_before' }

/** What was written together with the grant, and what was granted. */
export interface GrantResult<Written> {
  readonly written: Written
  readonly result: TrialCreditResult
}

export interface TrialCreditDeps {
  readonly db: Db
  readonly now: () => number
  /** Enters the credit of an order; resolves when durable. */
  readonly applyCreditOrder: (creditId: string) => Promise<unknown>
}

/**
 * Looks up what can be granted and writes it with `write`, which gets null if there is nothing to grant. If another
 * request was faster, it looks again.
 */
export async function writeTrialGrant<Written>(
  { db, now }: Pick<TrialCreditDeps, 'db' | 'now'>,
  request: Grantee & { readonly code: string | null },
  write: (promotion: Promotion | null, at: number) => Promise<Written>,
): Promise<GrantResult<Written>> {
  for (;;) {
    const at = now()
    const hadOne = await hasHadTrial(db, request)
    const promotion = hadOne ? undefined : await runningPromotion(db, request.code, at)
    if (promotion === undefined) {
      const reason = hadOne ? 'granted_before' : 'no_promotion'
      return { written: await write(null, at), result: { granted: false, reason } }
    }
    try {
      const written = await write(promotion, at)
      const { amountNanos } = promotion
      return {
        written,
        result: { granted: true, promotion, amountNanos, expiresAt: trialExpiryOf(promotion, at) },
      }
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** The promotion has ended or is used up by now, or the mailbox got its credit through another account. */
function isConflict(error: unknown): boolean {
  if (
    isUniqueViolation(error, 'trial_grants.mailbox_hash') ||
    isUniqueViolation(error, 'trial_grants.account_id')
  )
    return true
  return error instanceof StoreError && error.class === 'conflict' && error.constraint === undefined
}

/** Enters a granted credit. If the store is unavailable, the credit is entered as soon as it is back. */
export async function applyTrialCredit(
  { applyCreditOrder }: Pick<TrialCreditDeps, 'applyCreditOrder'>,
  account: string,
): Promise<void> {
  try {
    await applyCreditOrder(trialCreditId(account))
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error
  }
}
