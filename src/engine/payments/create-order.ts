/** Makes orders: the row first, then the provider. Repeating a call with its `client_key` never makes a second order. */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges, writeIfFound, type Query } from '../../db/db.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { apiError, invalidField, type ApiError } from '../../errors.ts'
import { formatMinor, parseMinor } from '../../lib/currency.ts'
import { creditOf, feeOf, requireMultiple } from '../../payments/amounts.ts'
import {
  insertOrder,
  newOrderId,
  orderByClientKey,
  orderedSince,
  exceededOrderBound,
  requireOrderBounds,
  requireOrderedAtMost,
  updateOrder,
  type Order,
  type OrderBounds,
} from '../../payments/payment-orders.ts'
import { releaseBonus } from '../../payments/recharge-bonuses.ts'
import { ProviderError, type MethodName, type PaymentMethod } from '../../payments/payment-method.ts'
import { rateAt } from '../../payments/rates.ts'
import { balanceFull } from '../credits.ts'
import { hasRoom } from './balance-room.ts'
import { nextCheckOf } from './check-schedule.ts'
import { requireOrder, unavailable } from './check-order.ts'
import { methodForOrder, providerOrderOf, type PaymentDeps } from './payment-deps.ts'
import type { OrderBonus } from './order-bonus.ts'

export interface OrderInput {
  readonly account: string
  readonly method: string
  readonly product: string | null
  /** What the payer pays, in the method's currency. */
  readonly amount: string
  readonly clientKey: string | null
  /** The payer agrees to save the card for automatic recharges. */
  readonly savesCard?: boolean
  /** A saved card is charged; nobody begins the order. */
  readonly automatic?: boolean
  /** A customer's session makes it, so OPEN_ORDERS and ORDERS_PER_HOUR apply. */
  readonly bySession?: boolean
  /** The actor in the audit log. */
  readonly by: string
}

/** An order that is too many can be made when another one has ended. */
const retryOrderMs = 60_000
const hour = 3_600_000
const day = 24 * hour

/** What an order would be: shown before it is made. */
export interface OrderQuote {
  readonly method: MethodName
  readonly currency: string
  readonly amountMinor: bigint
  readonly feeMinor: bigint
  readonly ratePpm: number
  readonly creditNanos: bigint
  readonly bonus: OrderBonus
}

/** Throws 400 naming the field. */
export async function quoteOrder(
  deps: PaymentDeps,
  input: Pick<OrderInput, 'account' | 'method' | 'amount'>,
): Promise<OrderQuote> {
  const { config, db, platformCurrency } = deps
  const method = methodForOrder(deps, input.method)
  const { name, currency } = method
  const amountMinor = parseMinor(input.amount, currency, 'amount')
  const step = method.amountStep?.(currency) ?? 1n
  requireMultiple(amountMinor, step, currency)
  requireWithin(deps, amountMinor, currency)
  const feeMinor = feeOf(amountMinor, config.paymentFees.get(name), currency, step)
  if (feeMinor >= amountMinor)
    throw invalidField(
      'amount',
      `must be more than the fee of ${formatMinor(feeMinor, currency)} ${currency}`,
    )
  const now = deps.now()
  const ratePpm = await rateAt(db, currency, platformCurrency, now)
  if (ratePpm === undefined)
    throw invalidField(
      'method',
      `needs a rate from ${currency} to ${platformCurrency}, which an operator sets`,
    )
  const creditNanos = creditOf(amountMinor - feeMinor, ratePpm, currency)
  const bonus = await deps.bonusFor(input.account, creditNanos, now)
  if (!(await hasRoom(deps, input.account, creditNanos + bonus.nanos))) throw balanceFull('amount')
  return { method: name, currency, amountMinor, feeMinor, ratePpm, creditNanos, bonus }
}

function requireWithin({ config }: PaymentDeps, amountMinor: bigint, currency: string): void {
  const min = parseMinor(config.paymentMin, currency)
  const max = parseMinor(config.paymentMax, currency)
  if (amountMinor < min || amountMinor > max)
    throw invalidField('amount', `must be from ${config.paymentMin} to ${config.paymentMax} ${currency}`)
}

/** Throws 400 naming the field, 409 for a `client_key` of another order, 503 if the provider cannot be reached. */
export async function createOrder(
  deps: PaymentDeps,
  input: OrderInput,
): Promise<{ readonly order: Order; readonly isNew: boolean }> {
  const repeated = await repeatedOrder(deps, input)
  if (repeated !== undefined) return { order: await beginOnce(deps, repeated), isNew: false }
  let written: Order
  try {
    const { order, bonus } = await prepareOrder(deps, input)
    const isBounded = input.bySession === true
    if (isBounded) await rejectIfTooMany(deps, order)
    written = await writeOrder(deps, order, bonus, isBounded ? requireOrderBounds(order, boundsOf(deps)) : [])
  } catch (error) {
    // Another call with this key was faster: it has the number, and may have used the maximum of the day.
    const first = await repeatedOrder(deps, input)
    if (first !== undefined) return { order: await beginOnce(deps, first), isNew: false }
    if (!isExpectationFailure(error)) throw error
    const method = methodForOrder(deps, input.method)
    if (input.bySession === true)
      await rejectIfTooMany(deps, { accountId: input.account, method: method.name })
    throw overDayMaximum(deps, method.currency)
  }
  return { order: await beginOnce(deps, written), isNew: true }
}

function boundsOf({ config, now }: PaymentDeps): OrderBounds {
  return { maxOpen: config.openOrders, maxSince: config.ordersPerHour, since: now() - hour }
}

/** Throws 429 if the account has too many unpaid orders, or has made too many. */
async function rejectIfTooMany(deps: PaymentDeps, owner: Pick<Order, 'accountId' | 'method'>): Promise<void> {
  const bounds = boundsOf(deps)
  const exceeded = await exceededOrderBound(deps.db, owner, bounds)
  if (exceeded === null) return
  const message =
    exceeded === 'open'
      ? `Too many unpaid orders: at most ${bounds.maxOpen} may be open. Pay or cancel one of them first.`
      : `Too many orders: at most ${bounds.maxSince} an hour with this payment method. Try again later.`
  throw apiError('rate_limit_exceeded', { message, retryAfterMs: retryOrderMs })
}

/** The order, not yet written, and its bonus. Throws 400 naming the field. */
export async function prepareOrder(
  deps: PaymentDeps,
  input: OrderInput,
): Promise<{ readonly order: Order; readonly bonus: OrderBonus }> {
  const { db, config } = deps
  const quote = await quoteOrder(deps, input)
  const method = methodForOrder(deps, input.method)
  if (input.savesCard === true && method.savedCards === undefined)
    throw invalidField('saves_card', 'is not possible with this method')
  const now = deps.now()
  const since = now - day
  const ordered = await orderedSince(db, { account: input.account, method: method.name, since })
  if (ordered + quote.amountMinor > parseMinor(config.paymentMaxDay, method.currency))
    throw overDayMaximum(deps, method.currency)
  return { order: orderOf(deps, method, { input, quote, now }), bonus: quote.bonus }
}

function overDayMaximum({ config }: PaymentDeps, currency: string): ApiError {
  return invalidField('amount', `exceeds the maximum of ${config.paymentMaxDay} ${currency} in 24 hours`)
}

/**
 * Writes the order with its bonus, or without one if another order has taken what was left of the budget. `extra` follows
 * the order in its batch. An expectation that fails: also the maximum of the day, used up by an order at the same time.
 */
export async function writeOrder(
  { db, config, now }: PaymentDeps,
  order: Order,
  bonus: OrderBonus,
  extra: readonly Query[] = [],
): Promise<Order> {
  const { id, accountId: account, method, currency, orderedBy } = order
  const amount = formatMinor(order.amountMinor, currency)
  const maxMinor = parseMinor(config.paymentMaxDay, currency)
  const rest = [requireOrderedAtMost(maxMinor, order, now() - day), ...extra]
  const audit = auditStatement(orderedBy, 'payment-order.create', id, { account, method, amount, currency })
  try {
    await db.write(expectChanges(insertOrder(order), 1), ...rest, ...bonus.reserve(order), audit)
    return order
  } catch (error) {
    if (!isExpectationFailure(error)) throw error
    const withoutBonus = { ...order, bonusNanos: 0n, promotionId: null }
    await db.write(expectChanges(insertOrder(withoutBonus), 1), ...rest, audit)
    return withoutBonus
  }
}

interface NewOrder {
  readonly input: OrderInput
  readonly quote: OrderQuote
  readonly now: number
}

function orderOf({ config }: PaymentDeps, method: PaymentMethod, { input, quote, now }: NewOrder): Order {
  const { account, clientKey, savesCard = false, automatic = false, by } = input
  const { bonus, method: name, ...amounts } = quote
  const product = productOf(method, input.product)
  const expiresAt = now + method.lifetimeMs(config.paymentExpiryMs, product)
  return {
    ...amounts,
    id: newOrderId(),
    accountId: account,
    orderedBy: by,
    method: name,
    merchant: method.merchant,
    product,
    bonusNanos: bonus.nanos,
    promotionId: bonus.promotionId,
    state: 'created',
    reference: null,
    pay: null,
    problem: null,
    confirmation: null,
    clientKey,
    savesCard,
    automatic,
    expiresAt,
    nextCheckAt: nextCheckOf({ createdAt: now, expiresAt }, now),
    checks: 0,
    createdAt: now,
    updatedAt: now,
    paidAt: null,
  }
}

function productOf({ products }: PaymentMethod, product: string | null): string | null {
  if (product === null) return products[0] ?? null
  if (products.includes(product)) return product
  throw invalidField(
    'product',
    `is not offered; offered: ${products.length === 0 ? 'none' : products.join(', ')}`,
  )
}

async function repeatedOrder({ db }: PaymentDeps, input: OrderInput): Promise<Order | undefined> {
  const { account, clientKey, method, amount, savesCard = false } = input
  if (clientKey === null) return undefined
  const order = await orderByClientKey(db, account, clientKey)
  if (order === undefined) return undefined
  // The amount of another method may have decimals that the currency of this one does not have.
  const isSame =
    order.method === method &&
    order.amountMinor === parseMinor(amount, order.currency, 'amount') &&
    order.savesCard === savesCard
  if (isSame) return order
  const message = 'This client_key was already used for another order.'
  throw apiError('conflict', { param: 'client_key', message })
}

const begins = new Map<string, Promise<Order>>()

/** Calls for the same order at the same time wait for one call of the provider. */
function beginOnce(deps: PaymentDeps, order: Order): Promise<Order> {
  const running = begins.get(order.id)
  if (running !== undefined) return running
  const begun = beginIfOpen(deps, order).finally(() => begins.delete(order.id))
  begins.set(order.id, begun)
  return begun
}

/** Asks the provider to begin an order that it has not begun, under the same number. Throws 503 if it cannot be reached. */
async function beginIfOpen(deps: PaymentDeps, order: Order): Promise<Order> {
  if (order.state !== 'created' || deps.now() >= order.expiresAt) return order
  const method = methodForOrder(deps, order.method)
  try {
    const begun = await method.begin(providerOrderOf(deps, order))
    const isRefused = begun.kind === 'refused'
    const patch = isRefused
      ? ({ state: 'failed', problem: begun.reason, nextCheckAt: null } as const)
      : ({ state: 'pending', reference: begun.reference, pay: begun.pay } as const)
    // A payment that was faster than this response has settled it: then nothing changes.
    const update = updateOrder(order.id, ['created'], patch, deps.now())
    await writeIfFound(deps.db, update, ...(isRefused ? releaseBonus(order) : []))
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    throw unavailable(order.id, error.message)
  }
  return requireOrder(deps, order.id)
}
