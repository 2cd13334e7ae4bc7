/**
 * Rewards for inviting: decided once the first payment of the invited account has cleared, and taken back if that payment
 * is refunded or disputed later. Whatever stops in between goes on from there; no account is rewarded for twice.
 */
import { accountById, type Account } from '../../accounts/accounts.ts'
import { mailboxOf } from '../../accounts/fields.ts'
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, writeIfFound, type Db } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { notFound } from '../../errors.ts'
import { insertCreditOrder } from '../../ledger/credits/credit-orders.ts'
import { monthStartOf } from '../../ledger/periods.ts'
import { formatAmount, parseAmount } from '../../lib/money.ts'
import { insertNotification } from '../../notifications/notifications.ts'
import { disputesOfOrder, refundsOfOrder } from '../../payments/payment-refunds.ts'
import {
  dueReferrals,
  isPayerKnown,
  referralById,
  referralCreditId,
  rewardWithinMax,
  updateReferral,
  type Referral,
  type ReferralSide,
} from '../../payments/referrals.ts'
import { usersOfAccount } from '../../users/users.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { unspentOfCredit } from './refundable-order.ts'

export type ReferralDeps = Pick<
  PaymentDeps,
  'config' | 'db' | 'now' | 'log' | 'platformCurrency' | 'credits' | 'applyCreditOrder' | 'wallet'
>

/** A referral whose payment is known. */
type PaidReferral = Referral & { readonly orderId: string }

const referralsPerRound = 50
/** While a refund is under way, and after an error. */
const checkAgainMs = 10_000
/** The actor of what is decided by rule. */
const byRule = 'referrals'

/** One round: decides every referral that is due. */
export async function checkDueReferrals(deps: ReferralDeps, isStopped: () => boolean): Promise<void> {
  const { db, now, log } = deps
  for (const referral of await dueReferrals(db, now(), referralsPerRound)) {
    if (isStopped()) return
    const { id, state, orderId } = referral
    try {
      if (orderId !== null) await check(deps, { ...referral, orderId })
    } catch (error) {
      log.warn({ err: error, referral: id }, 'referral could not be checked')
      await db.write(updateReferral(id, [state], { nextCheckAt: now() + checkAgainMs }, now()))
    }
  }
}

async function check(deps: ReferralDeps, referral: PaidReferral): Promise<void> {
  if (referral.state === 'taken_back') return takeRewards(deps, referral)
  const payment = await stateOfPayment(deps.db, referral.orderId)
  if (payment === 'unclear') return checkAt(deps, referral, deps.now() + checkAgainMs)
  if (referral.state === 'pending') return decide(deps, referral, payment)
  return payment === 'kept' ? checkAt(deps, referral, null) : takeBack(deps, referral, payment)
}

/** `unclear`: a refund was requested, and nobody knows yet whether it will be made. */
type PaymentState = 'kept' | 'unclear' | 'refunded' | 'disputed'

async function stateOfPayment(db: Db, orderId: string): Promise<PaymentState> {
  const [refunds, disputes] = await Promise.all([refundsOfOrder(db, orderId), disputesOfOrder(db, orderId)])
  if (disputes.some(({ state }) => state !== 'won')) return 'disputed'
  if (refunds.some(({ state }) => state === 'sent' || state === 'done')) return 'refunded'
  return refunds.some(({ state }) => ['requested', 'debited', 'unknown'].includes(state)) ? 'unclear' : 'kept'
}

/** Unless something has made the referral due again since it was read. */
async function checkAt({ db, now }: ReferralDeps, referral: Referral, at: number | null): Promise<void> {
  const { id, state, nextCheckAt } = referral
  const update = updateReferral(id, [state], { nextCheckAt: at }, now())
  await db.write(update.where('next_check_at', '=', nextCheckAt))
}

async function decide(
  deps: ReferralDeps,
  referral: PaidReferral,
  payment: Exclude<PaymentState, 'unclear'>,
): Promise<void> {
  const { db } = deps
  const [referrer, invited] = await Promise.all([
    accountById(db, referral.referrerId),
    accountById(db, referral.invitedId),
  ])
  if (referrer === undefined || invited === undefined) throw notFound('Account')
  const reason = payment === 'kept' ? await reasonToRefuse(db, referral, { referrer, invited }) : payment
  if (reason !== null)
    return end(deps, referral, { from: 'pending', to: 'refused', reason, nextCheckAt: null })
  await reward(deps, referral, referrer)
}

type Sides = Readonly<Record<ReferralSide, Account>>

async function reasonToRefuse(
  db: Db,
  referral: Referral,
  { referrer, invited }: Sides,
): Promise<string | null> {
  if (referrer.status === 'suspended' || invited.status === 'suspended') return 'suspended'
  const [own, others] = await Promise.all([mailboxesOf(db, referrer), mailboxesOf(db, invited)])
  if (others.some((mailbox) => own.includes(mailbox))) return 'same_person'
  return (await isPayerKnown(db, referral)) ? 'same_payer' : null
}

/** Those of the account and of its users. */
async function mailboxesOf(db: Db, { id, email }: Account): Promise<string[]> {
  const users = await usersOfAccount(db, id)
  return [email, ...users.map((user) => user.email)].map(mailboxOf)
}

async function reward(deps: ReferralDeps, referral: PaidReferral, referrer: Account): Promise<void> {
  const { db, config, now } = deps
  const at = now()
  const bounds = {
    since: monthStartOf(referrer.timezone, at),
    maxNanos: parseAmount(config.referralMaxMonth),
  }
  try {
    await db.write(
      expectChanges(rewardWithinMax(referral, bounds, at), 1),
      ...partsOf(referral).flatMap((part) => rewardRecords(deps, referral, part)),
      auditStatement(byRule, 'referral.reward', referral.id, {
        referrer: referral.referrerId,
        invited: referral.invitedId,
        order: referral.orderId,
        referrer_reward: formatAmount(referral.referrerNanos),
        invited_reward: formatAmount(referral.invitedNanos),
      }),
    )
  } catch (error) {
    if (!isExpectationFailure(error)) throw error
    // Another node was faster, an operator has refused it, or the maximum is reached.
    const reason = 'monthly_maximum'
    return end(deps, referral, { from: 'pending', to: 'refused', reason, nextCheckAt: null })
  }
  await enterRewards(deps, referral)
}

interface RewardPart {
  readonly side: ReferralSide
  readonly account: string
  readonly nanos: bigint
  readonly creditId: string
}

/** What is given, or was. A side without a reward is none. */
function partsOf({
  orderId,
  referrerId,
  invitedId,
  referrerNanos,
  invitedNanos,
}: PaidReferral): RewardPart[] {
  const sides = [
    { side: 'referrer', account: referrerId, nanos: referrerNanos },
    { side: 'invited', account: invitedId, nanos: invitedNanos },
  ] as const
  return sides
    .filter(({ nanos }) => nanos > 0n)
    .map((part) => ({ ...part, creditId: referralCreditId(orderId, part.side) }))
}

function rewardRecords(
  { now, platformCurrency }: ReferralDeps,
  { id }: Referral,
  { account, nanos, creditId }: RewardPart,
): Statement[] {
  const credit = { id: creditId, account, amountNanos: nanos, source: 'bonus', reason: 'Referral' } as const
  return [
    insertCreditOrder(credit, now()),
    insertNotification({
      audience: account,
      kind: 'payment',
      severity: 'info',
      subject: `referral:${id}`,
      period: 'rewarded',
      code: 'referral_rewarded',
      params: { amount: formatAmount(nanos), currency: platformCurrency },
    }),
  ]
}

/** Once under their ids; a crash leaves their orders to the reconciliation of credits. */
async function enterRewards({ applyCreditOrder }: ReferralDeps, referral: PaidReferral): Promise<void> {
  for (const { creditId } of partsOf(referral)) await applyCreditOrder(creditId)
}

/** The state first: a crash in between leaves it due. */
async function takeBack(
  deps: ReferralDeps,
  referral: PaidReferral,
  reason: 'refunded' | 'disputed',
): Promise<void> {
  const nextCheckAt = deps.now() + checkAgainMs
  await end(deps, referral, { from: 'rewarded', to: 'taken_back', reason, nextCheckAt })
  const current = await referralById(deps.db, referral.id)
  if (current?.state === 'taken_back') await takeRewards(deps, referral)
}

/** Takes what is unspent of the rewards, once under their ids: later money of either side is not theirs to lose. */
async function takeRewards(deps: ReferralDeps, referral: PaidReferral): Promise<void> {
  await enterRewards(deps, referral)
  const taken = { referrer: 0n, invited: 0n }
  for (const { side, account, nanos, creditId: id } of partsOf(referral)) {
    const unspent = await unspentOfCredit(deps, { account, creditId: id, bonusId: null })
    const parts = [{ kind: 'bonus', amount: unspent < nanos ? unspent : nanos }] as const
    const reason = 'Referral: the payment went back'
    const result = await deps.credits.takeBack({ id, account, parts, mode: 'available', reason })
    if (result.kind === 'taken') taken[side] = result.bonus
  }
  const patch = {
    referrerTakenNanos: taken.referrer,
    invitedTakenNanos: taken.invited,
    nextCheckAt: null,
  }
  await deps.db.write(updateReferral(referral.id, ['taken_back'], patch, deps.now()))
}

interface Decision {
  readonly from: 'pending' | 'rewarded'
  readonly to: 'refused' | 'taken_back'
  readonly reason: string
  readonly nextCheckAt: number | null
}

/** Changes nothing if another call has decided. */
async function end({ db, now }: ReferralDeps, { id }: Referral, decision: Decision): Promise<void> {
  const { from, to: state, reason, nextCheckAt } = decision
  const action = state === 'refused' ? 'referral.refuse' : 'referral.take_back'
  await writeIfFound(
    db,
    updateReferral(id, [from], { state, reason, decidedBy: byRule, nextCheckAt }, now()),
    auditStatement(byRule, action, id, { reason }),
  )
}
