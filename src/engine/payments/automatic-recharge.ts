/**
 * Charges the saved card of an account whose balance has fallen below its threshold. The order is written first, in the
 * batch that takes the account for it, and is charged under its own number, however often a response is lost. Each attempt
 * after a decline is a new order.
 */
import { accountById, type Account } from '../../accounts/accounts.ts'
import type { Query } from '../../db/db.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { ApiError } from '../../errors.ts'
import { monthEndOf, monthStartOf } from '../../ledger/periods.ts'
import { formatMinor } from '../../lib/currency.ts'
import {
  beginAttempt,
  cardOf,
  endAttempt,
  patchIfOn,
  type AutomaticRecharge,
} from '../../payments/automatic-recharges.ts'
import {
  openStates,
  orderById,
  orderedSince,
  updateOrder,
  type Order,
} from '../../payments/payment-orders.ts'
import {
  NoResponseError,
  ProviderError,
  type SavedCard,
  type SavedCards,
} from '../../payments/payment-method.ts'
import { hasDispute } from '../../payments/payment-refunds.ts'
import { checkOrder } from './check-order.ts'
import { nextCheckOf } from './check-schedule.ts'
import { prepareOrder, writeOrder } from './create-order.ts'
import { providerOrderOf, requireMethod, type PaymentDeps } from './payment-deps.ts'
import { rechargeActor } from './recharge-consent.ts'
import { recordDecline } from './recharge-decline.ts'
import { rechargeNotification } from './recharge-notifications.ts'
import { settleOrder } from './settle-order.ts'

const minute = 60_000
/** Before the first read of an order, its charge had time to be repeated. */
const firstCheckAfterMs = 2 * minute
/** In its last minutes an order is only read, so that no charge arrives after its end. */
const onlyReadBeforeEndMs = 10 * minute
/** An order that the relay itself rejects, such as one above the day's maximum, is tried again so much later. */
const retryRejectedMs = 60 * minute

/**
 * Recharges if the balance is below the threshold and nothing is against it. `recharge` is due. Throws a NoResponseError if
 * the provider does not respond.
 */
export async function rechargeIfLow(deps: PaymentDeps, recharge: AutomaticRecharge): Promise<void> {
  const { accountId, thresholdNanos, amountMinor, currency } = recharge
  const method = deps.methods.get(recharge.method)
  if (thresholdNanos === null || amountMinor === null || method === undefined) return
  const { balance, held } = await deps.wallet(accountId)
  if (balance - held >= thresholdNanos) return
  const account = await accountToCharge(deps, accountId)
  if (account === undefined) return
  if (method.merchant !== recharge.merchant || method.currency !== currency)
    return pauseForSettings(deps, recharge)
  if (await waitsForMonth(deps, recharge, account.timezone)) return
  const begun = await beginOrder(deps, recharge, formatMinor(amountMinor, currency))
  if (begun !== undefined) await chargeOrder(deps, { ...recharge, orderId: begun.id }, begun)
}

/** undefined: suspended, or a payment of it is disputed. */
async function accountToCharge({ db }: PaymentDeps, id: string): Promise<Account | undefined> {
  const account = await accountById(db, id)
  return account?.status !== 'active' || (await hasDispute(db, id)) ? undefined : account
}

/** The card is saved at another merchant, or its amounts are in another currency. */
async function pauseForSettings(deps: PaymentDeps, recharge: AutomaticRecharge): Promise<void> {
  const { accountId, updatedAt } = recharge
  await deps.db.write(
    patchIfOn(accountId, { state: 'paused', problem: 'settings_changed' }, deps.now()),
    rechargeNotification(deps, recharge, { code: 'recharge_paused', period: String(updatedAt) }),
  )
}

/** Whether this month has no room for another recharge: then the next one is made in the next month of the account. */
async function waitsForMonth(
  deps: PaymentDeps,
  recharge: AutomaticRecharge,
  timezone: string,
): Promise<boolean> {
  const { accountId: account, method, amountMinor, monthlyLimitMinor } = recharge
  const now = deps.now()
  const since = monthStartOf(timezone, now)
  const used = await orderedSince(deps.db, { account, method, since, automaticOnly: true })
  if (used + (amountMinor ?? 0n) <= (monthlyLimitMinor ?? 0n)) return false
  const nextAttemptAt = monthEndOf(timezone, now)
  const problem = { code: 'recharge_limit_reached', period: String(since), nextAttemptAt, timezone } as const
  await deps.db.write(
    patchIfOn(account, { problem: 'monthly_limit', nextAttemptAt }, now),
    rechargeNotification(deps, recharge, problem),
  )
  return true
}

/** Writes the order and takes the account for it; undefined: another call was faster, or the relay rejects the order. */
async function beginOrder(
  deps: PaymentDeps,
  recharge: AutomaticRecharge,
  amount: string,
): Promise<Order | undefined> {
  const { accountId: account, method } = recharge
  const now = deps.now()
  try {
    const input = {
      account,
      method,
      product: null,
      amount,
      clientKey: null,
      automatic: true,
      by: rechargeActor,
    }
    const { order, bonus } = await prepareOrder(deps, input)
    const checked = { ...order, nextCheckAt: now + firstCheckAfterMs }
    return await writeOrder(deps, checked, bonus, [beginAttempt(recharge, order.id, now)])
  } catch (error) {
    if (isExpectationFailure(error)) return undefined
    if (!(error instanceof ApiError) || error.status !== 400) throw error
    deps.log.warn({ account, problem: error.message }, 'automatic recharge rejected')
    const outcome = { problem: 'order_rejected', nextAttemptAt: now + retryRejectedMs }
    await deps.db.write(patchIfOn(account, outcome, now))
    return undefined
  }
}

/** What became of an order in flight. `recharge` has one. Throws a NoResponseError if the provider does not respond. */
export async function followOrder(deps: PaymentDeps, recharge: AutomaticRecharge): Promise<void> {
  const { accountId, orderId } = recharge
  const order = orderId === null ? undefined : await orderById(deps.db, orderId)
  if (order === undefined) return
  if (order.state === 'paid') return endPaid(deps, accountId, order.id)
  if (!openStates.includes(order.state))
    return recordDecline(deps, recharge, { order, code: 'not_completed', needsPayer: false })
  const canCharge = recharge.state === 'on' && deps.now() < order.expiresAt - onlyReadBeforeEndMs
  // It is not known whether the charge arrived: the same one again, under the same number. Without consent it is only read.
  if (order.state === 'created' && canCharge && (await accountToCharge(deps, accountId)) !== undefined)
    await chargeOrder(deps, recharge, order)
}

async function chargeOrder(deps: PaymentDeps, recharge: AutomaticRecharge, order: Order): Promise<void> {
  const { savedCards } = requireMethod(deps, order.method)
  const card = cardOf(recharge)
  if (savedCards === undefined || card === null) return
  const result = await chargeTwice(deps, savedCards, { order, card })
  if (result instanceof ProviderError) {
    await checkOrder(deps, order, rechargeActor)
    if (result instanceof NoResponseError) throw result
    return
  }
  switch (result.state) {
    case 'paid': {
      const settlement = { method: order.method, facts: result.payment, by: rechargeActor }
      const outcome = await settleOrder(deps, settlement)
      if (outcome === 'settled' || outcome === 'known') await endPaid(deps, recharge.accountId, order.id)
      return
    }
    case 'processing': {
      const now = deps.now()
      const patch = {
        state: 'pending',
        reference: result.reference,
        nextCheckAt: nextCheckOf(order, now),
      } as const
      await deps.db.write(updateOrder(order.id, ['created'], patch, now))
      return
    }
    case 'declined':
      await recordDecline(deps, recharge, { order, code: result.code, needsPayer: result.needsPayer })
  }
}

/** A lost response is asked for once more, under the same number. An error: it was lost again. */
async function chargeTwice(
  deps: PaymentDeps,
  savedCards: SavedCards,
  { order, card }: { readonly order: Order; readonly card: SavedCard },
) {
  const charge = (): ReturnType<SavedCards['charge']> => savedCards.charge(providerOrderOf(deps, order), card)
  const orProblem = (error: unknown): ProviderError => {
    if (!(error instanceof ProviderError)) throw error
    deps.log.warn({ order: order.id, problem: error.message }, 'saved card could not be charged')
    return error
  }
  const first = await charge().catch(orProblem)
  return first instanceof ProviderError ? charge().catch(orProblem) : first
}

async function endPaid({ db, now }: PaymentDeps, account: string, orderId: string): Promise<void> {
  const outcome = { problem: null, failures: 0, nextAttemptAt: null }
  const batch: Query[] = [endAttempt(account, orderId, now()), patchIfOn(account, outcome, now())]
  try {
    await db.write(...batch)
  } catch (error) {
    // Another call was faster.
    if (!isExpectationFailure(error)) throw error
  }
}
