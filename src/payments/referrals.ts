/**
 * Referrals: which account invited which, and what both get for the first payment of the invited one. An account has one
 * row, ever. Statements are for the batches that the payment, its refund or its dispute is written in.
 */
import type { Compilable } from 'kysely'
import type { Config } from '../config.ts'
import { auditStatement } from '../db/audit.ts'
import { compileQuery, pageOf, writeIfFound, type Db, type Page, type PageOptions } from '../db/db.ts'
import { columnsOf, fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type ReferralsTable, type ReferralState } from '../db/schema/schema.ts'
import type { Statement } from '../db/statement.ts'
import { apiError, notFound } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { Payment } from './payments.ts'
import { bonusOf } from './recharge-promotions.ts'

export const referralStates = [
  'waiting',
  'pending',
  'rewarded',
  'refused',
  'taken_back',
] as const satisfies readonly ReferralState[]

export type Referral = RowFields<ReferralsTable>

/** What fixes the rewards of a payment. */
export type ReferralConfig = Pick<
  Config,
  'referralRewardReferrer' | 'referralRewardInvited' | 'referralMinPayment' | 'referralClearAfterMs'
>

export type ReferralSide = 'referrer' | 'invited'

/** The id of a reward in the ledger, and of what takes it back. */
export const referralCreditId = (orderId: string, side: ReferralSide): string => `referral:${orderId}:${side}`

/** For the batch that creates the invited account. */
export function insertReferral(
  { referrer, invited }: Readonly<Record<ReferralSide, string>>,
  at: number,
): Compilable {
  const row = rowOf<ReferralsTable>({
    id: newId('ref'),
    referrerId: referrer,
    invitedId: invited,
    state: 'waiting',
    orderId: null,
    referrerNanos: 0n,
    invitedNanos: 0n,
    referrerTakenNanos: 0n,
    invitedTakenNanos: 0n,
    reason: null,
    decidedBy: null,
    nextCheckAt: null,
    rewardedAt: null,
    createdAt: at,
    updatedAt: at,
  })
  return sql.insertInto('referrals').values(row)
}

type ReferralPatch = Partial<
  Pick<
    Referral,
    | 'state'
    | 'referrerTakenNanos'
    | 'invitedTakenNanos'
    | 'reason'
    | 'decidedBy'
    | 'nextCheckAt'
    | 'rewardedAt'
  >
>

/** Changes a referral that is in one of these states; the caller expects one row, or accepts none. */
export function updateReferral(
  id: string,
  states: readonly ReferralState[],
  patch: ReferralPatch,
  at: number,
) {
  return sql
    .updateTable('referrals')
    .set({ ...columnsOf<ReferralsTable>(patch), updated_at: at })
    .where('id', '=', id)
    .where('state', 'in', [...states])
}

/** The first payment of an invited account that is large enough fixes the rewards and when they are decided. */
export function recordReferralPayment(config: ReferralConfig, payment: Payment): Statement[] {
  const { referralRewardReferrer, referralRewardInvited, referralMinPayment: min } = config
  const { orderId, accountId, creditNanos, settledAt: at } = payment
  const [referrerNanos, invitedNanos] = [referralRewardReferrer, referralRewardInvited].map((reward) =>
    reward === null ? 0n : bonusOf([{ ...reward, min }], creditNanos),
  ) as [bigint, bigint]
  if (referrerNanos === 0n && invitedNanos === 0n) return []
  const nextCheckAt = at + config.referralClearAfterMs
  const fixed = { state: 'pending', orderId, referrerNanos, invitedNanos, nextCheckAt } as const
  return [
    compileQuery(
      sql
        .updateTable('referrals')
        .set({ ...columnsOf<ReferralsTable>(fixed), updated_at: at })
        .where('invited_id', '=', accountId)
        .where('state', '=', 'waiting'),
    ),
  ]
}

/** The payment of an order is going back, or disputed: a reward for it is looked at again. */
export function recheckReward(orderId: string, at: number): Statement {
  return compileQuery(
    sql
      .updateTable('referrals')
      .set({ next_check_at: at })
      .where('order_id', '=', orderId)
      .where('state', '=', 'rewarded'),
  )
}

/**
 * What marks a referral as rewarded, unless the referrer would earn more than the maximum since `since`. Batches run one
 * after the other, also in a cluster, so the sum is current.
 */
export function rewardWithinMax(
  { id, referrerId, referrerNanos }: Referral,
  { since, maxNanos }: { readonly since: number; readonly maxNanos: bigint },
  at: number,
) {
  const earned = sql
    .selectFrom('referrals as others')
    .select((build) =>
      build.fn.coalesce(build.fn.sum<bigint>('others.referrer_nanos'), build.val(0n)).as('sum'),
    )
    .where('others.referrer_id', '=', referrerId)
    .where('others.rewarded_at', '>=', since)
  return updateReferral(id, ['pending'], { state: 'rewarded', rewardedAt: at, nextCheckAt: at }, at).where(
    (build) => build(earned, '<=', maxNanos - referrerNanos),
  )
}

const referrals = () => sql.selectFrom('referrals').selectAll()

export async function referralById(db: Db, id: string): Promise<Referral | undefined> {
  const row = await db.first(referrals().where('id', '=', id))
  return row && fieldsOf(row)
}

/** Referrals to be decided or looked at, those that wait longest first. */
export async function dueReferrals(db: Db, now: number, limit: number): Promise<Referral[]> {
  const query = referrals().where('next_check_at', '<=', now).orderBy('next_check_at').limit(limit)
  return (await db.all(query)).map(fieldsOf)
}

/**
 * Whether the same payer has paid for the referrer, too, or earlier for another invited account. Of several accounts that
 * one payer pays for, only the first is rewarded.
 */
export async function isPayerKnown(db: Db, { referrerId, invitedId }: Referral): Promise<boolean> {
  const query = sql
    .selectFrom('payments as own')
    .innerJoin('payments as others', 'others.payer', 'own.payer')
    .leftJoin('referrals', 'referrals.invited_id', 'others.account_id')
    .select('others.order_id')
    .where('own.account_id', '=', invitedId)
    .where('others.account_id', '!=', invitedId)
    .where((build) =>
      build.or([
        build('others.account_id', '=', referrerId),
        build.and([
          build('referrals.id', 'is not', null),
          build.or([
            build('others.settled_at', '<', build.ref('own.settled_at')),
            build.and([
              build('others.settled_at', '=', build.ref('own.settled_at')),
              build('others.order_id', '<', build.ref('own.order_id')),
            ]),
          ]),
        ]),
      ]),
    )
    .limit(1)
  return (await db.first(query)) !== undefined
}

export interface ReferralFilter {
  readonly referrer?: string | undefined
  readonly invited?: string | undefined
  readonly state?: ReferralState | undefined
}

/** Newest first. */
export async function listReferrals(
  db: Db,
  filter: ReferralFilter,
  page: PageOptions,
): Promise<Page<Referral>> {
  const { referrer: referrerId, invited: invitedId, state } = filter
  let query = referrals()
    .where((build) => build.and(columnsOf<ReferralsTable>({ referrerId, invitedId, state })))
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  return pageOf(await db.all(query), page.limit, fieldsOf<ReferralsTable>)
}

/** What an account has earned by inviting, net of what was taken back, and what is not decided yet, in nanos. */
export async function referralSums(
  db: Db,
  account: string,
): Promise<{ readonly invited: number; readonly earnedNanos: bigint; readonly pendingNanos: bigint }> {
  const rows = await db.all(
    sql
      .selectFrom('referrals')
      .select((build) => [
        'state',
        build.fn.countAll<number>().as('accounts'),
        build.fn.sum<bigint>('referrer_nanos').as('reward_nanos'),
        build.fn.sum<bigint>('referrer_taken_nanos').as('taken_nanos'),
      ])
      .where('referrer_id', '=', account)
      .groupBy('state'),
  )
  const sumOf = (...states: readonly ReferralState[]): bigint =>
    rows
      .filter(({ state }) => states.includes(state))
      .reduce((sum, row) => sum + row.reward_nanos - row.taken_nanos, 0n)
  return {
    invited: rows.reduce((sum, row) => sum + row.accounts, 0),
    earnedNanos: sumOf('rewarded', 'taken_back'),
    pendingNanos: sumOf('pending'),
  }
}

/** The ids of an account's rewards that were taken back. */
export async function rewardsTakenBack(db: Db, account: string): Promise<string[]> {
  const query = referrals()
    .where('state', '=', 'taken_back')
    .where((build) => build.or([build('referrer_id', '=', account), build('invited_id', '=', account)]))
  return (await db.all(query)).map(({ order_id: order, referrer_id: referrer }) =>
    referralCreditId(order ?? '', referrer === account ? 'referrer' : 'invited'),
  )
}

interface RefusalDecision {
  readonly reason: string
  readonly by: string
  readonly at: number
}

/** Throws 404, 409 if it was decided before. */
export async function refuseReferral(db: Db, id: string, decision: RefusalDecision): Promise<Referral> {
  const { reason, by, at } = decision
  const patch = { state: 'refused', reason, decidedBy: by, nextCheckAt: null } as const
  const update = updateReferral(id, ['waiting', 'pending'], patch, at)
  const isRefused = await writeIfFound(db, update, auditStatement(by, 'referral.refuse', id, { reason }))
  const referral = await referralById(db, id)
  if (referral === undefined) throw notFound('Referral')
  if (!isRefused) throw apiError('conflict', { message: `This referral is ${referral.state}.` })
  return referral
}
