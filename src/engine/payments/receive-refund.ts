/** Refunds that a notice names or that are due: ours are followed, others are listed for an operator. */
import { errorMessage } from '../../lib/error-message.ts'
import { insertDifference } from '../../payments/differences.ts'
import type { MethodName, NamedRefund } from '../../payments/payment-method.ts'
import { dueRefunds, refundById, updateRefund, type Refund } from '../../payments/payment-refunds.ts'
import { paymentByTransaction } from '../../payments/payments.ts'
import { retryCheckAt } from './check-schedule.ts'
import { inTurn } from './in-turn.ts'
import { requireMethod, type PaymentDeps } from './payment-deps.ts'
import { takeBalance } from './refund-order.ts'
import { followRefund, returnBalance } from './send-refund.ts'

const refundsPerRound = 50

/** Reads what became of our refund; one that was made in the provider's own pages waits for an operator. */
export async function receiveRefund(deps: PaymentDeps, name: MethodName, named: NamedRefund): Promise<void> {
  const { db } = deps
  const own = named.refund === null ? undefined : await refundById(db, named.refund)
  if (own !== undefined) await followRefund(deps, own)
  if (own !== undefined && !isReturned(own)) return
  const method = requireMethod(deps, name)
  const facts = await method.readNamedRefund?.(named)
  if (!facts) return
  const { merchant } = method
  const { transaction, currency, amountMinor } = facts
  const payment = await paymentByTransaction(db, { method: name, merchant, transactionId: transaction })
  const at = deps.now()
  const difference = {
    kind: 'refund_there_only',
    method: name,
    merchant,
    reference: named.reference,
    orderId: payment?.orderId ?? null,
    accountId: payment?.accountId ?? null,
    currency,
    amountMinor,
    expectedMinor: null,
    detail: transaction,
    at,
  } as const
  await db.write(insertDifference(difference, 'open', at))
}

/** Its balance is back: if the provider has made it all the same, an operator must know. */
export const isReturned = ({ state }: Refund): boolean => state === 'refused' || state === 'failed'

/** Goes on with refunds that a crash, or a provider without a response, has left. */
export async function checkDueRefunds(deps: PaymentDeps, isStopped: () => boolean): Promise<void> {
  const { db, now, log } = deps
  await inTurn(await dueRefunds(db, now(), refundsPerRound), isStopped, async (refund) => {
    try {
      return await goOn(deps, refund)
    } catch (error) {
      log.warn({ refund: refund.id, problem: errorMessage(error) }, 'refund could not be checked')
      const at = now()
      const later = { nextCheckAt: retryCheckAt(refund.checks, at), checks: refund.checks + 1 }
      await db.write(updateRefund(refund.id, [refund.state], later, at))
      return true
    }
  })
}

async function goOn(deps: PaymentDeps, refund: Refund): Promise<boolean> {
  if (refund.state !== 'requested' && !isReturned(refund)) return followRefund(deps, refund)
  await (refund.state === 'requested' ? takeBalance(deps, refund) : returnBalance(deps, refund))
  return true
}
