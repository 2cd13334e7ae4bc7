/** Refunds that a notice names or that are due: ours are followed, others are listed for an operator. */
import { ApiError } from '../../errors.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { insertDifference } from '../../payments/differences.ts'
import type { MethodName } from '../../payments/payment-method.ts'
import { dueRefunds, refundById, updateRefund, type Refund } from '../../payments/payment-refunds.ts'
import { paymentByTransaction } from '../../payments/payments.ts'
import { requireMethod, type PaymentDeps } from './payment-deps.ts'
import { takeBalance } from './refund-order.ts'
import { followRefund, giveBack } from './send-refund.ts'

const refundsPerRound = 50

interface NamedRefund {
  readonly refund: string | null
  readonly reference: string
  readonly transaction: string
}

/** Reads what became of our refund; one that was made in the provider's own pages waits for an operator. */
export async function receiveRefund(deps: PaymentDeps, name: MethodName, named: NamedRefund): Promise<void> {
  const { db } = deps
  const own = named.refund === null ? undefined : await refundById(db, named.refund)
  if (own !== undefined) return followRefund(deps, own)
  const { merchant, currency } = requireMethod(deps, name)
  const payment = await paymentByTransaction(db, { method: name, merchant, transactionId: named.transaction })
  const at = deps.now()
  const difference = {
    kind: 'refund_there_only',
    method: name,
    merchant,
    reference: named.reference,
    orderId: payment?.orderId ?? null,
    accountId: payment?.accountId ?? null,
    currency: payment?.currency ?? currency,
    amountMinor: null,
    expectedMinor: null,
    detail: named.transaction,
    at,
  } as const
  await db.write(insertDifference(difference, 'open', at))
}

/** Goes on with refunds that a crash, or a provider without an answer, has left. */
export async function checkDueRefunds(deps: PaymentDeps): Promise<void> {
  for (const refund of await dueRefunds(deps.db, deps.now(), refundsPerRound)) {
    await goOn(deps, refund).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'conflict') return
      deps.log.warn({ refund: refund.id, problem: errorMessage(error) }, 'refund could not be checked')
    })
  }
}

async function goOn(deps: PaymentDeps, refund: Refund): Promise<void> {
  if (refund.state === 'requested') return takeBalance(deps, refund)
  if (refund.state !== 'refused') return followRefund(deps, refund)
  await giveBack(deps, refund)
  await deps.db.write(updateRefund(refund.id, ['refused'], { nextCheckAt: null }, deps.now()))
}
