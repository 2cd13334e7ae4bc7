/**
 * Trial credit for a new account or a verified address: the grant (ledger/credits/grant-trial-credit.ts) together with
 * the account, then its credit, then the notification to the operators if that used up the promotion.
 */
import { createAccount, type Account, type AccountInput } from '../../accounts/accounts.ts'
import { mailboxOf } from '../../accounts/fields.ts'
import type { Changed } from '../../db/change.ts'
import {
  applyTrialCredit,
  writeTrialGrant,
  type TrialCreditResult,
} from '../../ledger/credits/grant-trial-credit.ts'
import { promotionById } from '../../ledger/credits/promotions.ts'
import { grantStatements } from '../../ledger/credits/trial-grants.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification } from '../../notifications/notifications.ts'
import type { AppContext } from '../app-context.ts'

export interface CreatedAccount {
  readonly account: Changed<Account>
  /** null: not requested. */
  readonly trial: TrialCreditResult | null
}

/** Creates an account for a verified address, with trial credit if the input asks for it. */
export async function createAccountWithTrial(
  ctx: Pick<AppContext, 'db' | 'applyCreditOrder'>,
  { promotion: code, ...input }: AccountInput & { readonly promotion?: string },
  by: string,
): Promise<CreatedAccount> {
  const { db } = ctx
  if (input.trial !== true) return { account: await createAccount(db, input, by), trial: null }
  const mailbox = mailboxOf(input.email)
  const request = { mailbox, account: '', code: code ?? null }
  const { written, result } = await writeTrialGrant({ db, now: Date.now }, request, (promotion, at) =>
    createAccount(db, input, by, (account) =>
      promotion === null ? [] : grantStatements(promotion, { account, mailbox }, at),
    ),
  )
  await applyCredit(ctx, written.value.id, result)
  return { account: written, trial: result }
}

/** Grants trial credit to an account whose address has been verified, or whose user was invited. */
export async function grantTrialCredit(
  ctx: Pick<AppContext, 'db' | 'applyCreditOrder'>,
  input: { readonly account: string; readonly email: string; readonly promotion?: string },
): Promise<TrialCreditResult> {
  const { db } = ctx
  const grantee = { account: input.account, mailbox: mailboxOf(input.email) }
  const { result } = await writeTrialGrant(
    { db, now: Date.now },
    { ...grantee, code: input.promotion ?? null },
    (promotion, at) =>
      promotion === null ? Promise.resolve([]) : db.write(...grantStatements(promotion, grantee, at)),
  )
  await applyCredit(ctx, input.account, result)
  return result
}

async function applyCredit(
  ctx: Pick<AppContext, 'db' | 'applyCreditOrder'>,
  account: string,
  result: TrialCreditResult,
): Promise<void> {
  if (!result.granted) return
  await applyTrialCredit({ applyCreditOrder: (id) => ctx.applyCreditOrder(id) }, account)
  const promotion = await promotionById(ctx.db, result.promotion.id, Date.now())
  if (promotion?.state !== 'used up') return
  const { id, name, granted, grantsMax } = promotion
  await raiseNotification(ctx.db, {
    audience: operatorAudience,
    kind: 'promotion',
    severity: 'warning',
    subject: `promotion:${id}`,
    // Once for each maximum: a promotion whose maximum was raised can be used up again.
    period: `used up:${grantsMax}`,
    code: 'promotion_used_up',
    params: { promotion: name, grants: String(granted) },
  })
}
