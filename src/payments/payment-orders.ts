/**
 * Orders of payments. A row is written before the provider is asked, with everything that is compared later, and an order
 * that was paid once stays paid. Statements are for the batches of `engine/payments/`.
 */
import { sql as fragment, type Compilable } from 'kysely'
import { pageOf, requireAtMost, type Db, type Page, type PageOptions, type Query } from '../db/db.ts'
import { columnsOf, fieldsOf, rowOf, type RowFields } from '../db/row-fields.ts'
import { sql, type OrderState, type PaymentOrdersTable } from '../db/schema/schema.ts'
import { newId } from '../lib/ids.ts'
import { isReference, normalizeReference } from './bank-reference.ts'
import type { MethodName, PayInstruction } from './payment-method.ts'

/** An order; amounts are minor units of its currency, or nanos of the platform's. */
export interface Order extends Omit<RowFields<PaymentOrdersTable>, 'pay' | 'savesCard' | 'automatic'> {
  /** null: the provider has not responded yet. */
  readonly pay: PayInstruction | null
  readonly savesCard: boolean
  readonly automatic: boolean
}

/** States in which an order can still be paid as planned. */
export const openStates: readonly OrderState[] = ['created', 'pending']

/** All states but `paid`: a genuine payment settles an order in any of them. */
export const unpaidStates: readonly OrderState[] = [...openStates, 'expired', 'failed', 'canceled']

/** Valid at every provider: letters and digits, at most 32, the same in upper case. */
export function newOrderId(): string {
  return `S${newId('').slice(1).toUpperCase()}`
}

function orderOf(row: PaymentOrdersTable): Order {
  return {
    ...fieldsOf(row),
    pay: row.pay === null ? null : (JSON.parse(row.pay) as PayInstruction),
    savesCard: row.saves_card === 1,
    automatic: row.automatic === 1,
  }
}

const payText = (pay: PayInstruction | null): string | null => (pay === null ? null : JSON.stringify(pay))

export function insertOrder(order: Order): Compilable {
  const row = rowOf<PaymentOrdersTable>({
    ...order,
    pay: payText(order.pay),
    savesCard: order.savesCard ? 1 : 0,
    automatic: order.automatic ? 1 : 0,
  })
  return sql.insertInto('payment_orders').values(row)
}

type Patch = Partial<
  Pick<
    Order,
    | 'state'
    | 'reference'
    | 'pay'
    | 'problem'
    | 'nextCheckAt'
    | 'checks'
    | 'paidAt'
    | 'creditNanos'
    | 'bonusNanos'
    | 'promotionId'
    | 'confirmation'
    | 'feeMinor'
  >
>

/** Changes an order that is in one of these states; the caller expects one row, or accepts none. */
export function updateOrder(id: string, states: readonly OrderState[], patch: Patch, at: number): Compilable {
  const { pay, ...rest } = patch
  const set = { ...columnsOf<PaymentOrdersTable>(rest), updated_at: at }
  return sql
    .updateTable('payment_orders')
    .set(pay === undefined ? set : { ...set, pay: payText(pay) })
    .where('id', '=', id)
    .where('state', 'in', [...states])
}

const orders = () => sql.selectFrom('payment_orders').selectAll()

export async function orderById(db: Db, id: string): Promise<Order | undefined> {
  const row = await db.first(orders().where('id', '=', id))
  return row && orderOf(row)
}

export async function orderByClientKey(db: Db, account: string, key: string): Promise<Order | undefined> {
  const row = await db.first(orders().where('account_id', '=', account).where('client_key', '=', key))
  return row && orderOf(row)
}

/** Orders whose provider is to be asked, those that wait longest first. */
export async function dueOrders(db: Db, method: MethodName, now: number, limit: number): Promise<Order[]> {
  const query = orders()
    .where('next_check_at', '<=', now)
    .where('method', '=', method)
    .orderBy('next_check_at')
    .limit(limit)
  return (await db.all(query)).map(orderOf)
}

/** The provider is asked about the open orders of a method at this time at the latest. */
export function checkOpenOrdersAt(method: MethodName, at: number): Compilable {
  return sql
    .updateTable('payment_orders')
    .set({ next_check_at: at })
    .where('method', '=', method)
    .where('state', 'in', [...openStates])
    .where('next_check_at', '>', at)
}

interface Ordered {
  readonly account: string
  readonly method: MethodName
  /** Created at or after. */
  readonly since: number
  /** Only charges of a saved card. */
  readonly automaticOnly?: boolean
}

/** What an account has ordered with a method since a time and may still pay or has paid, in minor units. */
export async function orderedSince(db: Db, ordered: Ordered): Promise<bigint> {
  return (await db.first(totalOrdered(ordered)))?.total_minor ?? 0n
}

const totalOrdered = ({ account, method, since, automaticOnly = false }: Ordered) =>
  sql
    .selectFrom('payment_orders')
    .select((build) => build.fn.sum<bigint | null>('amount_minor').as('total_minor'))
    .where('account_id', '=', account)
    .where('method', '=', method)
    .where('created_at', '>=', since)
    .where('automatic', '>=', automaticOnly ? 1 : 0)
    .where('state', 'in', ['created', 'pending', 'paid'])

/** Rolls back the batch that inserts this order if, with it, its account has ordered more than this since then. */
export function requireOrderedAtMost(
  maxMinor: bigint,
  { accountId: account, method }: Pick<Order, 'accountId' | 'method'>,
  since: number,
): Query {
  return requireAtMost(totalOrdered({ account, method, since }), maxMinor)
}

/** See `actorOf` in users/users.ts. */
const customerActors = 'customer:%'

/** What a customer's session may order: unpaid orders at a time, and orders of a method since a time, ended ones included. */
export interface OrderBounds {
  readonly maxOpen: number
  readonly maxSince: number
  readonly since: number
}

type OrderOwner = Pick<Order, 'accountId' | 'method'>

/** Those that customers have ordered; neither an administrator's nor automatic recharges. */
const orderedByCustomers = ({ accountId }: OrderOwner) =>
  sql
    .selectFrom('payment_orders')
    .where('account_id', '=', accountId)
    .where('ordered_by', 'like', customerActors)

const openOrdersBy = (owner: OrderOwner) =>
  orderedByCustomers(owner)
    .where('state', 'in', [...openStates])
    .select((build) => build.fn.countAll<number>().as('count'))

const ordersSinceBy = (owner: OrderOwner, since: number) =>
  orderedByCustomers(owner)
    .where('method', '=', owner.method)
    .where('created_at', '>=', since)
    .select((build) => build.fn.countAll<number>().as('count'))

/** Rolls back the batch that inserts an order beyond the bounds. */
export function requireOrderBounds(order: OrderOwner, { maxOpen, maxSince, since }: OrderBounds): Query[] {
  return [requireAtMost(openOrdersBy(order), maxOpen), requireAtMost(ordersSinceBy(order, since), maxSince)]
}

/** Which bound another order would exceed; null: none. */
export async function exceededOrderBound(
  db: Db,
  owner: OrderOwner,
  { maxOpen, maxSince, since }: OrderBounds,
): Promise<'open' | 'since' | null> {
  if (((await db.first(openOrdersBy(owner)))?.count ?? 0) >= maxOpen) return 'open'
  return ((await db.first(ordersSinceBy(owner, since)))?.count ?? 0) >= maxSince ? 'since' : null
}

export interface OrderFilter {
  /** An id, the reference of a bank transfer, or the provider's number of a payment. */
  readonly search?: string | undefined
  readonly account?: string | undefined
  readonly state?: OrderState | undefined
  readonly method?: MethodName | undefined
  /** Created at or after, in milliseconds. */
  readonly from?: number | undefined
  /** Created before. */
  readonly to?: number | undefined
}

/** Newest first. */
export async function listOrders(db: Db, filter: OrderFilter, page: PageOptions): Promise<Page<Order>> {
  const { account: accountId, search, state, method, from = 0, to = Number.MAX_SAFE_INTEGER } = filter
  let query = orders()
    .where((build) => build.and(columnsOf<PaymentOrdersTable>({ accountId, state, method })))
    .where('created_at', '>=', from)
    .where('created_at', '<', to)
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
  if (page.cursor !== undefined) query = query.where('id', '<', page.cursor)
  // A search reads all orders in the worst case: like a report, it must not delay other queries.
  const rows = search ? await db.report(query.where(searchCondition(search))) : await db.all(query)
  return pageOf(rows, page.limit, orderOf)
}

/** The reference of a bank transfer consists of the end of the order's id and a check character. */
function searchCondition(text: string) {
  const endOfId = isReference(text) ? `%${normalizeReference(text).slice(0, -1)}` : ''
  return fragment<boolean>`(id = ${text.toUpperCase()} or (method = 'bank' and id like ${endOfId})
    or id in (select order_id from payments where transaction_id = ${text}))`
}

/** Unpaid orders are deleted after 90 days; paid ones, and those that anything refers to, never. */
export function deleteUnpaidOrders(before: number): Compilable {
  return sql
    .deleteFrom('payment_orders')
    .where('state', 'in', ['expired', 'failed', 'canceled'])
    .where('created_at', '<', before)
    .where('next_check_at', 'is', null)
}

/** Whether an order of this method was made before this time. */
export async function hasOrderBefore(db: Db, method: MethodName, at: number): Promise<boolean> {
  const query = sql.selectFrom('payment_orders').select('id').where('method', '=', method)
  return (await db.first(query.where('created_at', '<', at).limit(1))) !== undefined
}
