/**
 * Credits that are ordered in one batch with their cause: the redemption of a voucher, the grant of a
 * promotion or the refund of a request. The order is entered into the ledger afterwards, once, under its own
 * id. After a crash in between, the open orders show what is missing.
 */
import { expectChanges, type Db } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import { sql } from '../../db/schema/schema.ts'
import type { CreditOrdersTable } from '../../db/schema/tables/promotions.ts'
import type { CreditKind } from '../events.ts'

export interface OrderedCredit {
  /** The credit's id in the ledger. */
  readonly id: string
  readonly account: string
  readonly amountNanos: bigint
  readonly source: CreditKind
  readonly reason: string
}

/** The order as a statement for the batch that writes its cause. */
export function insertCreditOrder(order: OrderedCredit, at: number): Statement {
  const { account, amountNanos, ...fields } = order
  const row = { account_id: account, amount_nanos: amountNanos, ...fields, created_at: at, entered_at: null }
  return expectChanges(sql.insertInto('credit_orders').values(row), 1)
}

function orderOf({
  account_id: account,
  amount_nanos: amountNanos,
  ...row
}: CreditOrdersTable): OrderedCredit {
  const { id, reason, source } = row
  return { id, account, amountNanos, source: source as CreditKind, reason }
}

function orders() {
  return sql.selectFrom('credit_orders').selectAll()
}

export async function creditOrderById(db: Db, id: string): Promise<OrderedCredit | undefined> {
  const row = await db.first(orders().where('id', '=', id))
  return row === undefined ? undefined : orderOf(row)
}

/** Orders not known to be in the ledger, oldest first. */
export async function openCreditOrders(db: Db, limit: number): Promise<OrderedCredit[]> {
  const query = orders().where('entered_at', 'is', null).orderBy('created_at').limit(limit)
  return (await db.all(query)).map(orderOf)
}

/** Records that an order is in the ledger. */
export async function markCreditOrderEntered(db: Db, id: string, at: number): Promise<void> {
  await db.write(
    sql
      .updateTable('credit_orders')
      .set({ entered_at: at })
      .where('id', '=', id)
      .where('entered_at', 'is', null),
  )
}
