/**
 * Trial credit: an account that is made, or whose address is verified, gets the credit of a running promotion, once for
 * its mailbox. Grant and credit are written down together; a crash leaves both or neither.
 */
import { createAccount, type Account, type AccountInput } from '../accounts/accounts.ts'
import { mailboxOf } from '../accounts/fields.ts'
import type { Changed } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { isTaken, StoreError } from '../db/store-error.ts'
import { Refusal } from '../errors.ts'
import { promotionById, runningPromotion, type Promotion } from '../ledger/credits/promotions.ts'
import {
  grantRows,
  hasHadTrial,
  trialCreditId,
  trialEndOf,
  type Grantee,
} from '../ledger/credits/trial-grants.ts'
import { operator } from '../notifications/notification-kinds.ts'
import { raiseNotice } from '../notifications/notifications.ts'
import type { House } from './house.ts'

/** What came of the wish for a trial credit, and if nothing, why. */
export type TrialOutcome =
  | {
      readonly granted: true
      readonly promotion: Promotion
      readonly amountNanos: bigint
      readonly expiresAt: number | null
    }
  | { readonly granted: false; readonly reason: 'no_promotion' | 'granted_before' }

/** What the batch made of a grant, and the account, where there is one to be made. */
interface Attempt<Made> {
  readonly made: Made
  readonly outcome: TrialOutcome
}

export interface OpenedAccount {
  readonly account: Changed<Account>
  /** null: not asked for. */
  readonly trial: TrialOutcome | null
}

/** Makes an account for an address that counts as verified, with its trial credit if it asks for one. */
export async function openAccount(
  house: Pick<House, 'db' | 'enterOrder'>,
  { promotion: code, ...input }: AccountInput & { readonly promotion?: string },
  by: string,
): Promise<OpenedAccount> {
  const { db } = house
  if (input.trial !== true) return { account: await createAccount(db, input, by), trial: null }
  const mailbox = mailboxOf(input.email)
  const wish = { mailbox, account: '', code: code ?? null }
  const { made, outcome } = await tryGrant(db, wish, (promotion, at) =>
    createAccount(db, input, by, (account) =>
      promotion === null ? [] : grantRows(promotion, { account, mailbox }, at),
    ),
  )
  await pay(house, made.value.id, outcome)
  return { account: made, trial: outcome }
}

/** Grants an account its trial credit, once its address is verified. */
export async function grantTrial(
  house: Pick<House, 'db' | 'enterOrder'>,
  given: { readonly account: string; readonly email: string; readonly promotion?: string },
): Promise<TrialOutcome> {
  const { db } = house
  const grantee = { account: given.account, mailbox: mailboxOf(given.email) }
  const { outcome } = await tryGrant(db, { ...grantee, code: given.promotion ?? null }, (promotion, at) =>
    promotion === null ? Promise.resolve([]) : db.write(...grantRows(promotion, grantee, at)),
  )
  await pay(house, given.account, outcome)
  return outcome
}

/** Looks what there is to grant and tries it; where somebody else was faster, it looks again. */
async function tryGrant<Made>(
  db: Db,
  wish: Grantee & { readonly code: string | null },
  make: (promotion: Promotion | null, at: number) => Promise<Made>,
): Promise<Attempt<Made>> {
  for (;;) {
    const at = Date.now()
    const hadOne = await hasHadTrial(db, wish)
    const promotion = hadOne ? undefined : await runningPromotion(db, wish.code, at)
    if (promotion === undefined) {
      const reason = hadOne ? 'granted_before' : 'no_promotion'
      return { made: await make(null, at), outcome: { granted: false, reason } }
    }
    try {
      const made = await make(promotion, at)
      const { amountNanos } = promotion
      return {
        made,
        outcome: { granted: true, promotion, amountNanos, expiresAt: trialEndOf(promotion, at) },
      }
    } catch (error) {
      if (!isLost(error)) throw error
    }
  }
}

/** The promotion ended or was used up meanwhile, or the mailbox got its credit by another account. */
function isLost(error: unknown): boolean {
  if (isTaken(error, 'trial_grants.mailbox_hash') || isTaken(error, 'trial_grants.account_id')) return true
  return error instanceof StoreError && error.class === 'conflict' && error.constraint === undefined
}

/** Enters the credit. Where the store takes none at the moment it is owed, and entered as soon as it can be. */
async function pay(
  house: Pick<House, 'db' | 'enterOrder'>,
  account: string,
  outcome: TrialOutcome,
): Promise<void> {
  if (!outcome.granted) return
  try {
    await house.enterOrder(trialCreditId(account))
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'service_unavailable') throw error
  }
  await tellUsedUp(house.db, outcome.promotion.id)
}

/** Tells the operators when that was the last one. */
async function tellUsedUp(db: Db, promotionId: string): Promise<void> {
  const promotion = await promotionById(db, promotionId, Date.now())
  if (promotion?.state !== 'used up') return
  const { name, granted, grantsMax } = promotion
  await raiseNotice(db, {
    audience: operator,
    kind: 'promotion',
    severity: 'warning',
    subject: `promotion:${promotionId}`,
    period: `used up:${grantsMax}`,
    code: 'promotion_used_up',
    params: { promotion: name, grants: String(granted) },
  })
}
