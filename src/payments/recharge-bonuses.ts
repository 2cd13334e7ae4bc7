/**
 * Bonuses of orders. An open order reserves its part of the budget, a paid one keeps it, and one that ends unpaid releases
 * it. Statements are for the batches that change the order.
 */
import type { Compilable } from 'kysely'
import { compileQuery, expectChanges, type Db } from '../db/db.ts'
import { sql, type RechargeBonusesTable } from '../db/schema/schema.ts'
import type { Statement } from '../db/statement.ts'
import type { Order } from './payment-orders.ts'

/** A bonus that is granted in the batch of the payment; `statements` fail their expectations if it no longer applies. */
export interface SettledBonus {
  readonly nanos: bigint
  readonly statements: readonly Statement[]
}

type Used = Pick<RechargeBonusesTable, 'promotion_id' | 'amount_nanos'>

/** Takes a bonus from the budget of its promotion. It locks the promotion, so sums read after it are current. */
const takeFromBudget = ({ promotion_id, amount_nanos }: Used) =>
  sql
    .updateTable('recharge_promotions')
    .set((build) => ({ used_nanos: build('used_nanos', '+', amount_nanos) }))
    .where('id', '=', promotion_id)
    .where((build) =>
      build.or([
        build('budget_nanos', 'is', null),
        build('budget_nanos', '>=', build('used_nanos', '+', amount_nanos)),
      ]),
    )

/** Takes the bonus of a new order from the budget of its promotion, which must run. */
export function useBudget(bonus: Used, at: number): Statement {
  const running = takeFromBudget(bonus)
    .where('status', '=', 'active')
    .where((build) => build.or([build('ends_at', 'is', null), build('ends_at', '>', at)]))
  return expectChanges(running, 1)
}

/** Follows `useBudget` in one batch. `perAccount`: what an account can get from the promotion, in nanos. */
export function insertBonus(bonus: RechargeBonusesTable, perAccount: bigint | null): Statement {
  const insert = expectChanges(sql.insertInto('recharge_bonuses').values(bonus), 1)
  if (perAccount === null) return insert
  const { sql: text, parameters } = compileQuery(insert)
  const room = `(select coalesce(sum(amount_nanos), 0) from recharge_bonuses where promotion_id = ? and account_id = ? and state <> 'released') <= ?`
  return {
    sql: text.replace(/ values \((.*)\)$/, ` select $1 where ${room}`),
    parameters: [...parameters, bonus.promotion_id, bonus.account_id, perAccount - bonus.amount_nanos],
    expectChanges: 1,
  }
}

const moveBonus = (order: string, from: RechargeBonusesTable['state'], to: RechargeBonusesTable['state']) =>
  sql
    .updateTable('recharge_bonuses')
    .set({ state: to })
    .where('order_id', '=', order)
    .where('state', '=', from)

/** Gives the budget of an order that ends unpaid back, if it still reserves any. */
export function releaseBonus({ id, promotionId }: Pick<Order, 'id' | 'promotionId'>): Compilable[] {
  if (promotionId === null) return []
  const reserved = sql
    .selectFrom('recharge_bonuses')
    .select('amount_nanos')
    .where('order_id', '=', id)
    .where('state', '=', 'reserved')
  const giveBack = sql
    .updateTable('recharge_promotions')
    .set((build) => ({ used_nanos: build('used_nanos', '-', build.fn.coalesce(reserved, build.val(0n))) }))
    .where('id', '=', promotionId)
  return [giveBack, moveBonus(id, 'reserved', 'released')]
}

/**
 * The bonus that an order gets now that it is paid: that of its row, even if the promotion is over by then. None if another amount came, if an earlier order of the account was
 * paid and the bonus is for the first, or if a late payment finds its budget used.
 */
export async function bonusAtSettlement(db: Db, order: Order, isAsOrdered: boolean): Promise<SettledBonus> {
  const query = sql.selectFrom('recharge_bonuses').selectAll().where('order_id', '=', order.id)
  const bonus = await db.first(query)
  if (bonus === undefined) return { nanos: 0n, statements: [] }
  const applies = isAsOrdered && (bonus.first_only === 0 || !(await hasPaid(db, order.accountId)))
  const isReserved = bonus.state === 'reserved'
  if (!applies || (!isReserved && !(await hasRoom(db, bonus))))
    return { nanos: 0n, statements: releaseBonus(order).map(compileQuery) }
  const grant = expectChanges(moveBonus(order.id, bonus.state, 'granted'), 1)
  const reserveAgain = isReserved ? [] : [expectChanges(takeFromBudget(bonus), 1)]
  return { nanos: bonus.amount_nanos, statements: [...reserveAgain, grant] }
}

/** Whether a payment of the account was settled before. */
export async function hasPaid(db: Db, account: string): Promise<boolean> {
  const query = sql.selectFrom('payments').select('order_id').where('account_id', '=', account).limit(1)
  return (await db.first(query)) !== undefined
}

/** What an account has been promised and granted by a promotion, in nanos. */
export async function bonusesOf(db: Db, promotion: string, account: string): Promise<bigint> {
  const query = sql
    .selectFrom('recharge_bonuses')
    .select('amount_nanos')
    .where('promotion_id', '=', promotion)
    .where('account_id', '=', account)
    .where('state', '!=', 'released')
  return (await db.all(query)).reduce((sum, row) => sum + row.amount_nanos, 0n)
}

/** The conditions of `takeFromBudget`: a batch that fails it finds here why. */
async function hasRoom(db: Db, bonus: RechargeBonusesTable): Promise<boolean> {
  const query = sql.selectFrom('recharge_promotions').selectAll().where('id', '=', bonus.promotion_id)
  const row = await db.first(query)
  if (row === undefined) return false
  if (row.budget_nanos !== null && row.used_nanos + bonus.amount_nanos > row.budget_nanos) return false
  if (row.per_account_nanos === null) return true
  const used = await bonusesOf(db, row.id, bonus.account_id)
  return used + bonus.amount_nanos <= row.per_account_nanos
}
