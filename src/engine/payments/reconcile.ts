/**
 * Compares a provider's own list with what is here. A payment that the provider confirms with all facts equal is settled at
 * once and listed as repaired; every other difference waits for an operator. A span counts as compared only when its list
 * is complete.
 */
import { auditStatement } from '../../db/audit.ts'
import { expectChanges } from '../../db/db.ts'
import { invalidField } from '../../errors.ts'
import { dateOf, dayEndOf, dayStartOf } from '../../ledger/periods.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { newId } from '../../lib/ids.ts'
import type { DifferenceKind } from '../../db/schema/schema.ts'
import { insertDifference, listedDifference } from '../../payments/differences.ts'
import { orderById } from '../../payments/payment-orders.ts'
import {
  BillNotReadyError,
  ProviderError,
  type BillLine,
  type Bills,
  type PaymentMethod,
} from '../../payments/payment-method.ts'
import { refundById, refundsDoneBetween } from '../../payments/payment-refunds.ts'
import { insertRun, type PaymentRun } from '../../payments/payment-runs.ts'
import { paymentByTransaction, paymentsBetween } from '../../payments/payments.ts'
import { checkOrder } from './check-order.ts'
import { methodForOrder, type PaymentDeps } from './payment-deps.ts'
import { isReturned } from './receive-refund.ts'
import { receiveDispute } from './receive-dispute.ts'
import { followRefund } from './send-refund.ts'

export interface ReconcileInput {
  readonly method: string
  /** Days of the provider's time zone, both included. */
  readonly from: string
  readonly to: string
  readonly by: string
}

const maxDays = 31
const dayMs = 86_400_000
/** Times at the provider and here differ a little: what is this close to an end of the span may be in its neighbour. */
const edgeMs = 300_000

interface Found {
  payments: number
  paymentsMinor: bigint
  refunds: number
  refundsMinor: bigint
  feesMinor: bigint
  repaired: number
  differences: number
  /** A dispute that could not be entered. */
  problem: string | null
}

/** Throws 400 naming the field. A list that cannot be read is a run that failed. */
export async function reconcile(deps: PaymentDeps, input: ReconcileInput): Promise<PaymentRun> {
  const method = methodForOrder(deps, input.method)
  const { bills } = method
  if (bills === null) throw invalidField('method', 'has no list of payments to compare')
  requireSpan(deps, bills, input)
  const startedAt = deps.now()
  const found: Found = {
    payments: 0,
    paymentsMinor: 0n,
    refunds: 0,
    refundsMinor: 0n,
    feesMinor: 0n,
    repaired: 0,
    differences: 0,
    problem: null,
  }
  const problem = await compare(deps, method, { bills, input, found }).catch((error: unknown) => {
    if (error instanceof ProviderError || error instanceof BillNotReadyError) return errorMessage(error)
    throw error
  })
  const run: PaymentRun = {
    id: newId('run'),
    method: method.name,
    fromDay: input.from,
    toDay: input.to,
    state: problem === null ? 'done' : 'failed',
    ...found,
    problem,
    startedAt,
    endedAt: deps.now(),
    startedBy: input.by,
  }
  const { method: name, from, to, by } = input
  await deps.db.write(
    expectChanges(insertRun(run), 1),
    auditStatement(by, 'payment.reconcile', run.id, { method: name, from, to, problem }),
  )
  return run
}

function requireSpan({ now }: PaymentDeps, bills: Bills, { from, to }: ReconcileInput): void {
  const today = dateOf(bills.timezone, now())
  if (to < from) throw invalidField('to', 'must not be before from')
  if (to > today || (to === today && !bills.includesToday))
    throw invalidField('to', 'must be at most yesterday')
  if (Date.parse(to) - Date.parse(from) >= maxDays * dayMs)
    throw invalidField('to', `must be within ${maxDays} days`)
}

interface Comparison {
  readonly bills: Bills
  readonly input: ReconcileInput
  readonly found: Found
}

async function compare(deps: PaymentDeps, method: PaymentMethod, { bills, input, found }: Comparison) {
  const lines: BillLine[] = []
  for await (const line of bills.list(input.from, input.to)) lines.push(line)
  const seen = new Set<string>()
  for (const line of lines) {
    seen.add(line.kind === 'refund' ? (line.refund ?? line.reference) : line.transaction)
    await compareLine(deps, method, line, found)
  }
  await findMissing(deps, method, { bills, input, found }, seen)
  return found.problem
}

function compareLine(deps: PaymentDeps, method: PaymentMethod, line: BillLine, found: Found): Promise<void> {
  switch (line.kind) {
    case 'payment':
      return comparePayment(deps, method, line, found)
    case 'refund':
      return compareRefund(deps, method, line, found)
    case 'dispute':
      return compareDispute(deps, method, line, found)
  }
}

type PaymentLine = BillLine & { kind: 'payment' }
type RefundLine = BillLine & { kind: 'refund' }
type DisputeLine = BillLine & { kind: 'dispute' }

/** One that cannot be entered is listed, so that the other lines are compared; the run has failed. */
async function compareDispute(
  deps: PaymentDeps,
  method: PaymentMethod,
  line: DisputeLine,
  found: Found,
): Promise<void> {
  try {
    await receiveDispute(deps, method.name, line.reference)
  } catch (error) {
    // The provider did not say what it is about: the whole list is read again later.
    if (error instanceof ProviderError) throw error
    deps.log.warn({ err: error, dispute: line.reference }, 'dispute could not be entered')
    found.problem ??= `Dispute ${line.reference}: ${errorMessage(error)}`
    const unknown = { orderId: null, accountId: null, expectedMinor: null }
    await list(deps, method, found, { ...unknown, kind: 'dispute', line })
  }
}

async function comparePayment(
  deps: PaymentDeps,
  method: PaymentMethod,
  line: PaymentLine,
  found: Found,
): Promise<void> {
  const { name, merchant } = method
  const { db } = deps
  found.payments += 1
  // A sum has one currency, that of the method.
  if (line.currency === method.currency) {
    found.paymentsMinor += line.amountMinor
    found.feesMinor += line.feeMinor ?? 0n
  }
  const transaction = { method: name, merchant, transactionId: line.transaction }
  const known = await paymentByTransaction(db, transaction)
  if (known !== undefined) {
    if (known.amountMinor === line.amountMinor && known.currency === line.currency) return
    const own = { orderId: known.orderId, accountId: known.accountId, expectedMinor: known.amountMinor }
    return list(deps, method, found, { ...own, kind: 'amount', line })
  }
  const order = line.order === null ? undefined : await orderById(db, line.order)
  if (order?.method !== name) {
    const own = { orderId: line.order, accountId: null, expectedMinor: null }
    return list(deps, method, found, { ...own, kind: 'unknown_order', line })
  }
  const outcome = await checkOrder(deps, order, 'reconciliation')
  const own = { orderId: order.id, accountId: order.accountId, expectedMinor: order.amountMinor }
  const difference = { ...own, kind: 'paid_there_only', line } as const
  const isRepaired = (await paymentByTransaction(db, transaction)) !== undefined
  if (isRepaired) {
    found.repaired += 1
    return list(deps, method, found, { ...difference, isRepaired })
  }
  // What differs, or was paid twice, is listed by the settlement.
  if (outcome === 'mismatch' || outcome === 'surplus') {
    const kind = outcome === 'mismatch' ? 'amount' : outcome
    const listed = { kind, method: name, merchant, reference: line.transaction } as const
    if ((await listedDifference(db, listed))?.state === 'open') found.differences += 1
  } else await list(deps, method, found, difference)
}

async function compareRefund(
  deps: PaymentDeps,
  method: PaymentMethod,
  line: RefundLine,
  found: Found,
): Promise<void> {
  const { db } = deps
  found.refunds += 1
  if (line.currency === method.currency) found.refundsMinor += line.amountMinor
  const own = line.refund === null ? undefined : await refundById(db, line.refund)
  if (own !== undefined) {
    await followRefund(deps, own)
    const current = (await refundById(db, own.id)) ?? own
    if (own.amountMinor === line.amountMinor && !isReturned(current)) return
    const about = { orderId: own.orderId, accountId: own.accountId, expectedMinor: own.amountMinor }
    const kind = isReturned(current) ? 'refund_there_only' : 'amount'
    return list(deps, method, found, { ...about, kind, line })
  }
  const { name, merchant } = method
  const payment = await paymentByTransaction(db, { method: name, merchant, transactionId: line.transaction })
  const about = {
    orderId: payment?.orderId ?? null,
    accountId: payment?.accountId ?? null,
    expectedMinor: null,
  }
  await list(deps, method, found, { ...about, kind: 'refund_there_only', line })
}

/** What is here, in the span, and not in the provider's list. */
async function findMissing(
  deps: PaymentDeps,
  method: PaymentMethod,
  { bills, input, found }: Comparison,
  seen: ReadonlySet<string>,
): Promise<void> {
  const [from, to] = boundsOf(bills.timezone, input)
  for (const payment of await paymentsBetween(deps.db, method.name, from, to)) {
    if (payment.merchant !== method.merchant || seen.has(payment.transactionId)) continue
    const { orderId, accountId, amountMinor: expectedMinor, currency, transactionId, paidAt: at } = payment
    const line = { transaction: transactionId, currency, amountMinor: null, at }
    await list(deps, method, found, { kind: 'paid_here_only', orderId, accountId, expectedMinor, line })
  }
  if (!bills.listsRefunds) return
  for (const refund of await refundsDoneBetween(deps.db, method.name, from, to)) {
    if (seen.has(refund.id) || (refund.reference !== null && seen.has(refund.reference))) continue
    const { id, orderId, accountId, amountMinor: expectedMinor, updatedAt: at } = refund
    const line = { transaction: id, currency: method.currency, amountMinor: null, at }
    await list(deps, method, found, { kind: 'refund_here_only', orderId, accountId, expectedMinor, line })
  }
}

/** The span in milliseconds, without its edges. */
function boundsOf(timezone: string, { from, to }: ReconcileInput): readonly [number, number] {
  const noon = (day: string): number => Date.parse(`${day}T12:00:00Z`)
  return [dayStartOf(timezone, noon(from)) + edgeMs, dayEndOf(timezone, noon(to)) - edgeMs]
}

interface Listed {
  readonly kind: DifferenceKind
  readonly orderId: string | null
  readonly accountId: string | null
  readonly expectedMinor: bigint | null
  readonly line: {
    readonly transaction: string
    readonly reference?: string
    readonly currency: string
    readonly amountMinor: bigint | null
    readonly at: number
  }
  readonly isRepaired?: boolean
}

async function list(deps: PaymentDeps, method: PaymentMethod, found: Found, listed: Listed): Promise<void> {
  const { kind, orderId, accountId, expectedMinor, line, isRepaired = false } = listed
  const { transaction, currency, amountMinor, at } = line
  const difference = {
    kind,
    method: method.name,
    merchant: method.merchant,
    reference: line.reference ?? transaction,
    orderId,
    accountId,
    currency,
    amountMinor,
    expectedMinor,
    detail: transaction,
    at,
  }
  const state = isRepaired ? 'repaired' : 'open'
  await deps.db.write(insertDifference(difference, state, deps.now()))
  // One that was listed before may have been decided since.
  if ((await listedDifference(deps.db, difference))?.state === 'open') found.differences += 1
}
