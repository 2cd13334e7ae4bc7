/** Sends approved refunds to their providers, and follows them until they are done or refused. */
import type { RefundState } from '../../db/schema/schema.ts'
import { expectChanges, writeIfFound } from '../../db/db.ts'
import type { Statement } from '../../db/statement.ts'
import { isExpectationFailure } from '../../db/store-error.ts'
import { paybackUndoneIds } from '../../ledger/payback-ids.ts'
import type { Order } from '../../payments/payment-orders.ts'
import { paymentOfOrder } from '../../payments/payments.ts'
import {
  ProviderError,
  type PaymentMethod,
  type ProviderRefund,
  type RefundReading,
} from '../../payments/payment-method.ts'
import { updateRefund, type Refund, type RefundPatch } from '../../payments/payment-refunds.ts'
import { requireOrder } from './check-order.ts'
import { retryCheckAt } from './check-schedule.ts'
import { refundNotification } from './refund-notifications.ts'
import { methodOf, providerOrderOf, type PaymentDeps } from './payment-deps.ts'

const underWay = ['debited', 'sent', 'unknown'] as const
/** Longer than any call of a provider takes. */
export const claimMs = 180_000

/** Asks the provider for the first time, or again under the same number. Resolves with whether it gave a response. */
export function sendRefund(deps: PaymentDeps, refund: Refund): Promise<boolean> {
  return ask(deps, refund, (method, asked) => method.refund(asked))
}

/**
 * Asks what became of a refund. One that the provider does not know is sent again, once it is marked as sent: from then on
 * nobody refuses it, and gives its balance back, while it is on its way. Resolves with whether the provider gave a response,
 * if it was asked.
 */
export async function followRefund(deps: PaymentDeps, refund: Refund): Promise<boolean> {
  const isUnderWay = underWay.some((state) => state === refund.state)
  if (!isUnderWay && refund.state !== 'done') return true
  try {
    return await ask(deps, refund, async (method, asked) => {
      const reading = await method.readRefund(asked)
      if (reading.state !== 'absent' || !isUnderWay) return reading
      const at = deps.now()
      const claim = { state: 'sent', nextCheckAt: at + claimMs } as const
      await deps.db.write(expectChanges(updateRefund(refund.id, underWay, claim, at), 1))
      return method.refund(asked)
    })
  } catch (error) {
    // Another call has decided or finished it.
    if (!isExpectationFailure(error)) throw error
    return true
  }
}

type ProviderCall = (method: PaymentMethod, refund: ProviderRefund) => Promise<RefundReading>

async function ask(deps: PaymentDeps, refund: Refund, question: ProviderCall): Promise<boolean> {
  const order = await requireOrder(deps, refund.orderId)
  const payment = await paymentOfOrder(deps.db, order.id)
  const asked: ProviderRefund = {
    id: refund.id,
    order: providerOrderOf(deps, order, payment?.transactionId ?? null),
    amountMinor: refund.amountMinor,
    description: 'Refund',
  }
  try {
    await record(deps, { refund, order }, await question(methodOf(deps, order), asked))
    return true
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const at = deps.now()
    const nextCheckAt = retryCheckAt(refund.checks, at)
    const patch = {
      state: 'unknown',
      problem: error.message,
      nextCheckAt,
      checks: refund.checks + 1,
    } as const
    await deps.db.write(updateRefund(refund.id, underWay, patch, at))
    return false
  }
}

interface AskedRefund {
  readonly refund: Refund
  readonly order: Order
}

async function record(
  deps: PaymentDeps,
  { refund, order: { currency } }: AskedRefund,
  reading: RefundReading,
): Promise<void> {
  const { db } = deps
  const at = deps.now()
  const checks = refund.checks + 1
  /** Whether it was in one of the states. */
  const update = (
    patch: RefundPatch,
    from: readonly RefundState[] = underWay,
    ...extra: readonly Statement[]
  ): Promise<boolean> => {
    const whole = { checks, problem: null, nextCheckAt: null, ...patch }
    return writeIfFound(db, updateRefund(refund.id, from, whole, at), ...extra)
  }
  switch (reading.state) {
    case 'done':
      await update(
        { state: 'done', reference: reading.reference },
        underWay,
        refundNotification(refund, currency, 'done'),
      )
      return
    case 'manual':
      await update({ state: 'sent' })
      return
    case 'sent':
    case 'absent': {
      const reference = reading.state === 'sent' ? reading.reference : null
      await update({ state: 'sent', reference, nextCheckAt: retryCheckAt(refund.checks, at) })
      return
    }
    case 'refused': {
      // A refund that was done can fail later, at the payer's bank.
      const from = refund.state === 'done' ? (['done'] as const) : underWay
      const failed = { state: 'failed', problem: reading.reason, nextCheckAt: at + 30_000 } as const
      const hasFailed = await update(failed, from, refundNotification(refund, currency, 'failed'))
      if (hasFailed) await returnBalance(deps, { ...refund, state: 'failed' })
      return
    }
    case 'unclear':
      await update({ state: 'unknown', problem: reading.reason })
  }
}

/** Gives back what a refund that was refused or failed had taken; until then it stays due. */
export async function returnBalance(deps: PaymentDeps, refund: Refund): Promise<void> {
  await giveBack(deps, refund)
  await deps.db.write(updateRefund(refund.id, [refund.state], { nextCheckAt: null }, deps.now()))
}

/** Enters what a refund or a dispute had taken again, once. */
export async function giveBack(
  { credits }: Pick<PaymentDeps, 'credits'>,
  taken: Pick<Refund, 'id' | 'accountId' | 'paymentNanos' | 'bonusNanos'>,
): Promise<void> {
  const { id, accountId: account, paymentNanos, bonusNanos } = taken
  const ids = paybackUndoneIds(id)
  const reason = `Refund ${id} was not made`
  if (paymentNanos > 0n)
    await credits.enterWithId(ids.payment, { account, amount: paymentNanos, source: 'payment', reason })
  if (bonusNanos > 0n)
    await credits.enterWithId(ids.bonus, { account, amount: bonusNanos, source: 'bonus', reason })
}
